// For tests: pods from JSON, and what a runtime would have of them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "node/pod_spec.h"
#include "node/runtime_pod.h"

namespace homeostat::node {

// Any built-in type; single quotes stand for double ones. A fault fails the test.
template <class T>
object::DocumentPtr FromJson(std::string json) {
  std::replace(json.begin(), json.end(), '\'', '"');
  auto document = std::make_shared<object::Document>();
  Result<object::Value> value = object::ParseJson(document->arena(), json);
  EXPECT_TRUE(value) << value.error().message() << json;
  if (!value) return document;
  schema::ConformReport report;
  Result<object::Value> conformed = schema::Conform(document->arena(), *value, T::SchemaType(), report);
  EXPECT_TRUE(conformed) << conformed.error().message();
  EXPECT_TRUE(report.problems.empty()) << report.problems[0];
  if (conformed) document->set_root(*conformed);
  return document;
}

// A pod web in default with that spec, and further members of the object (", 'status': …").
inline object::DocumentPtr PodWith(const std::string& spec, const std::string& more = "") {
  return FromJson<core::Pod>("{'metadata': {'name': 'web', 'namespace': 'default', 'uid': 'u1', 'generation': 1}, 'spec': " +
                             spec + more + "}");
}

// A runtime's view built step by step; each container added is newer than those before.
class FakeRuntimePod {
 public:
  explicit FakeRuntimePod(object::DocumentPtr pod) : pod_(std::move(pod)) {}
  RuntimePod pod;

  FakeRuntimePod& Sandbox(bool ready = true) {
    cri::SandboxStatus sandbox;
    sandbox.id = "s" + std::to_string(pod.sandboxes.size());
    sandbox.metadata.attempt = static_cast<uint32_t>(pod.sandboxes.size());
    sandbox.state = ready ? cri::SandboxState::kReady : cri::SandboxState::kNotReady;
    sandbox.ips = {"10.244.0.2"};
    sandbox.created_at = ++time_;
    for (cri::SandboxStatus& older : pod.sandboxes) older.state = cri::SandboxState::kNotReady;
    pod.sandboxes.push_back(sandbox);
    pod.Sort();
    return *this;
  }
  FakeRuntimePod& Running(const std::string& name) { return Add(name, cri::ContainerState::kRunning, 0); }
  FakeRuntimePod& Exited(const std::string& name, int32_t code, int64_t finished_at = 0) {
    return Add(name, cri::ContainerState::kExited, code, finished_at);
  }
  FakeRuntimePod& Add(const std::string& name, cri::ContainerState state, int32_t code, int64_t finished_at = 0) {
    RuntimeContainer container;
    container.name = name;
    if (const RuntimeContainer* before = pod.Latest(name)) container.restart_count = before->restart_count + 1;
    container.hash = ContainerHash(FindContainer(core::Pod(pod_->root()).spec(), name).container);
    container.status.id = name + std::to_string(container.restart_count);
    container.status.sandbox_id = pod.sandboxes.empty() ? "" : pod.sandboxes[0].id;
    container.status.state = state;
    container.status.exit_code = code;
    container.status.reason = state == cri::ContainerState::kExited ? (code == 0 ? "Completed" : "Error") : "";
    container.status.created_at = ++time_;
    container.status.started_at = ++time_;
    container.status.finished_at = finished_at != 0 ? finished_at : ++time_;
    container.status.image = "docker.io/local/" + name + ":1";
    container.status.image_ref = "sha256:1234";
    pod.containers.push_back(container);
    pod.Sort();
    return *this;
  }
  RuntimeContainer& Latest(const std::string& name) { return const_cast<RuntimeContainer&>(*pod.Latest(name)); }

 private:
  object::DocumentPtr pod_;
  int64_t time_ = 1'700'000'000'000'000'000;
};

}  // namespace homeostat::node
