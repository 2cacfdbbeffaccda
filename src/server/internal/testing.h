// A control plane in memory, on simulated time, for tests of what it answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "server/control_plane.h"
#include "store/engine.h"

namespace homeostat::server::testing {

template <class T>
Task<void> Keep(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await std::move(task));
}

class ControlPlaneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(*runtime_);
    control_plane_ = std::make_unique<ControlPlane>(*runtime_, std::move(options));
    ASSERT_TRUE(Await(control_plane_->Start()));
    transport_ = control_plane_->TransportFor("admin", {"system:masters"});
  }

  template <class T>
  T Await(Task<T> task) {
    std::optional<T> result;
    TaskGroup group(*runtime_);
    group.Spawn(Keep(std::move(task), &result));
    EXPECT_TRUE(runtime_->RunUntil([&] { return result.has_value(); }, std::chrono::minutes(2)));
    return *std::move(result);
  }

  // Sent by an administrator.
  http::Response Send(http::Request request) { return Await(transport_->Handle(std::move(request))); }

  static std::string Text(const http::Response& response) {
    std::string text;
    for (const Bytes& part : response.body) text += part.view();
    return text;
  }

  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(1);
  std::unique_ptr<ControlPlane> control_plane_;
  std::shared_ptr<http::Handler> transport_;
};

}  // namespace homeostat::server::testing
