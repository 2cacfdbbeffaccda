// A whole API server on simulated time and in memory, for tests of this folder: requests as any user, answers as trees.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/await_for_tests.h"
#include "homeostat/object/json.h"
#include "server/control_plane.h"

namespace homeostat::server::internal {

struct TestAnswer {
  int code = 0;
  object::DocumentPtr document;
  http::Headers headers;
  std::string text;  // the body
  object::Value Get(std::initializer_list<std::string_view> path) const { return document->root().Path(path); }
  std::string Text(std::initializer_list<std::string_view> path) const { return std::string(Get(path).AsString()); }
  std::string message() const { return Text({"message"}); }
};

class TestServer : public ::testing::Test {
 protected:
  explicit TestServer(ControlPlaneOptions options = {}) : runtime(SimulatedRuntime::Make(1)) {
    options.engine = store::MakeMemoryEngine(*runtime);
    control_plane = std::make_unique<ControlPlane>(*runtime, std::move(options));
    EXPECT_TRUE(Await(control_plane->Start()).has_value());
    Ask("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    // The key for tokens is made off the loop.
    EXPECT_TRUE(runtime->RunUntil([&] { return control_plane->tokens().key() != nullptr; }, std::chrono::minutes(1)));
  }

  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime, std::move(task), std::chrono::minutes(2));
  }

  // What a path answers that is no JSON.
  std::string TextOf(std::string path) {
    http::Request request;
    request.path = std::move(path);
    auto transport = control_plane->TransportFor(user, groups);
    return Await(http::ReadAll(Await(transport->Handle(std::move(request))), 16 << 20)).value().str();
  }

  // As the administrator, unless `as` says who; headers are "Name: value".
  TestAnswer Ask(std::string method, std::string target, std::string body = "", std::vector<std::string> headers = {}) {
    http::Request request;
    request.method = std::move(method);
    size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos) request.query = target.substr(mark + 1);
    request.headers.Set("Content-Type", request.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    for (const std::string& line : headers) {
      size_t colon = line.find(": ");
      std::string name = line.substr(0, colon), value = line.substr(colon + 2);
      if (name == "Content-Type") request.headers.Set(name, value); else request.headers.Add(name, value);
    }
    request.body = Bytes(std::move(body));
    auto transport = control_plane->TransportFor(user, groups);
    http::Response response = Await(transport->Handle(std::move(request)));
    TestAnswer answer;
    answer.code = response.code;
    answer.headers = response.headers;
    answer.text = Await(http::ReadAll(std::move(response), 16 << 20)).value().str();
    auto document = object::ParseJsonDocument(answer.text);
    if (document) answer.document = *document;
    return answer;
  }
  // As that user in those groups, without more.
  TestAnswer AskAs(std::string name, std::vector<std::string> its_groups, std::string method, std::string target, std::string body = "") {
    std::swap(user, name);
    std::swap(groups, its_groups);
    TestAnswer answer = Ask(std::move(method), std::move(target), std::move(body));
    std::swap(user, name);
    std::swap(groups, its_groups);
    return answer;
  }

  std::unique_ptr<SimulatedRuntime> runtime;
  std::unique_ptr<ControlPlane> control_plane;
  std::string user = "admin";
  std::vector<std::string> groups = {"system:masters"};
};

}  // namespace homeostat::server::internal
