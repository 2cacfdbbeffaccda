#include "controllers/trigger_times.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"

namespace homeostat::controllers {
namespace {

using api::core::v1::Pod;
using api::core::v1::Service;

object::DocumentPtr ReadyAt(const std::string& name, const std::string& time) {
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"("},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T)" + time + R"(Z"}]}})");
}
std::string At(const std::string& time) { return "2026-01-01T" + time + "Z"; }

TEST(TriggerTimesTest, TellsTheEarliestChangeSinceTheLastLook) {
  auto document = FromJson<Service>(R"({"metadata":{"name":"s","creationTimestamp":"2026-01-01T10:00:00Z"}})");
  Service service(document->root());
  TriggerTimes times;
  auto a = ReadyAt("a", "11:00:00"), b = ReadyAt("b", "11:00:05"), later = ReadyAt("a", "12:00:00");
  EXPECT_EQ(times.Next("n/s", service, {a}), At("10:00:00")) << "a Service that is new";
  EXPECT_EQ(times.Next("n/s", service, {a}), "") << "nothing has changed";
  EXPECT_EQ(times.Next("n/s", service, {later, b}), At("11:00:05"));
  EXPECT_EQ(times.Next("n/s", service, {b}), "") << "that one went leaves no time";
  times.Forget("n/s");
  EXPECT_EQ(times.Next("n/s", service, {b}), At("10:00:00"));
}

}  // namespace
}  // namespace homeostat::controllers
