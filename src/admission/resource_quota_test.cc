#include <algorithm>

#include "admission/fixture_test.h"

namespace homeostat::admission {
namespace {

class ResourceQuotaTest : public PluginTest {
 protected:
  void HaveQuota(std::string_view hard, std::string_view used) {
    Have("{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default, resourceVersion: \"1\"}, spec: {hard: " + std::string(hard) +
         "}, status: {hard: " + std::string(hard) + ", used: " + std::string(used) + "}}");
  }
  std::string Used() { return At(objects_.Get("", "resourcequotas", "default", "q")->root(), "status.used"); }
  // Creations that all begin at once.
  std::vector<std::unique_ptr<Outcome>> RunAll(Plugin& plugin, size_t count, std::string_view object) {
    std::vector<std::unique_ptr<Outcome>> outcomes;
    std::vector<std::unique_ptr<bool>> done;
    TaskGroup group(*runtime_);
    for (size_t i = 0; i < count; ++i) {
      outcomes.push_back(std::make_unique<Outcome>());
      done.push_back(std::make_unique<bool>(false));
      group.Spawn(Pass(plugin, {object}, *outcomes.back(), *done.back()));
    }
    EXPECT_TRUE(runtime_->RunUntil([&] { return std::ranges::all_of(done, [](const auto& one) { return *one; }); }, std::chrono::minutes(1)));
    return outcomes;
  }
};

constexpr std::string_view kSecret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";

TEST_F(ResourceQuotaTest, ChargesWhatIsCreated) {
  auto plugin = MakeResourceQuota(Parts());
  EXPECT_EQ(Run(*plugin, {kSecret}).error, "");
  EXPECT_EQ(quota_writes_, 0);
  HaveQuota("{count/secrets: 1, services: 5}", "{count/secrets: 0, services: 1}");
  EXPECT_EQ(Run(*plugin, {kSecret, "", "", Operation::kCreate, true}).error, "");
  EXPECT_EQ(Used(), R"({"count/secrets":"0","services":"1"})");
  EXPECT_EQ(Run(*plugin, {kSecret}).error, "");
  EXPECT_EQ(Used(), R"({"count/secrets":"1","services":"1"})");
  EXPECT_EQ(Run(*plugin, {kSecret}).error,
            "secrets \"s\" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1");
  EXPECT_EQ(Run(*plugin, {kSecret, kSecret, "", Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*plugin, {"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"}).error, "");
  EXPECT_EQ(quota_writes_, 1);
}

TEST_F(ResourceQuotaTest, ManyAtOnceAreChargedTogether) {
  auto plugin = MakeResourceQuota(Parts());
  HaveQuota("{count/secrets: 20}", "{count/secrets: 0}");
  auto outcomes = RunAll(*plugin, 30, kSecret);
  size_t refused = 0;
  for (const auto& outcome : outcomes) refused += outcome->error.empty() ? 0 : 1;
  EXPECT_EQ(refused, 10u);
  EXPECT_EQ(Used(), R"({"count/secrets":"20"})");
  EXPECT_LE(quota_writes_, 2);
}

TEST_F(ResourceQuotaTest, AConflictIsDecidedAnew) {
  auto plugin = MakeResourceQuota(Parts());
  HaveQuota("{count/secrets: 2}", "{count/secrets: 0}");
  // While the charge is under way somebody else uses up the rest.
  runtime_->After(std::chrono::milliseconds(2), [this] {
    Have("{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default, resourceVersion: \"9\"}, spec: {hard: {count/secrets: 2}}, "
         "status: {hard: {count/secrets: 2}, used: {count/secrets: 2}}}");
  });
  EXPECT_EQ(Run(*plugin, {kSecret}).error,
            "secrets \"s\" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2");
}

TEST_F(ResourceQuotaTest, ARequestThatIsDroppedLeavesTheOthers) {
  auto plugin = MakeResourceQuota(Parts());
  HaveQuota("{count/secrets: 5}", "{count/secrets: 0}");
  Outcome dropped, kept;
  bool dropped_done = false, kept_done = false;
  auto first = std::make_unique<TaskGroup>(*runtime_);
  TaskGroup second(*runtime_);
  first->Spawn(Pass(*plugin, {kSecret}, dropped, dropped_done));
  runtime_->RunFor(std::chrono::milliseconds(2));
  second.Spawn(Pass(*plugin, {kSecret}, kept, kept_done));
  runtime_->RunFor(std::chrono::milliseconds(1));
  first.reset();
  EXPECT_TRUE(runtime_->RunUntil([&] { return kept_done; }, std::chrono::seconds(5)));
  EXPECT_EQ(kept.error, "");
  EXPECT_FALSE(dropped_done);
  EXPECT_EQ(Used(), R"({"count/secrets":"2"})");
}

TEST_F(ResourceQuotaTest, APluginThatEndsDropsItsCharges) {
  HaveQuota("{count/secrets: 5}", "{count/secrets: 0}");
  Outcome outcome;
  bool done = false;
  auto plugin = MakeResourceQuota(Parts());
  auto group = std::make_unique<TaskGroup>(*runtime_);
  group->Spawn(Pass(*plugin, {kSecret}, outcome, done));
  runtime_->RunFor(std::chrono::milliseconds(2));
  group.reset();
  plugin.reset();
  runtime_->RunFor(std::chrono::seconds(1));
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace homeostat::admission
