#include "homeostat/sdk/controller.h"

#include <gtest/gtest.h>

#include <set>

#include "sdk/fake_api_test.h"
#include "sdk/internal/event_correlator.h"
#include "sdk/internal/lease_lock.h"

namespace homeostat::sdk {
namespace {

using api::coordination::v1::Lease;
using api::core::v1::ConfigMap;
using api::core::v1::ConfigMapBuilder;
using api::core::v1::Event;
using std::chrono::seconds;

// A reconciler that takes its time, fails now and then, and sees to it that no key runs twice at once.
struct Work {
  explicit Work(Runtime& loop) : runtime(loop) {}
  Runtime& runtime;
  std::set<std::string> running;
  std::map<std::string, int> done;
  size_t most = 0;

  static Task<Result<ReconcileOutcome>> Reconcile(Work& work, std::string key) {
    EXPECT_TRUE(work.running.insert(key).second) << key << " runs twice";
    work.most = std::max(work.most, work.running.size());
    auto pause = Sleep(work.runtime, std::chrono::milliseconds(work.runtime.Random() % 50));
    co_await pause;
    work.running.erase(key);
    uint64_t draw = work.runtime.Random() % 10;
    if (draw == 0) co_return Fail(InternalError("now and then"));
    if (draw == 1) co_return Fail(ConflictError("", "configmaps", key, "somebody was faster"));
    ++work.done[key];
    co_return ReconcileOutcome();
  }
};

TEST(ControllerTest, EveryKeyIsDoneInTheEndAndNoneTwiceAtOnce) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    auto runtime = SimulatedRuntime::Make(seed);
    Work work(*runtime);
    Controller controller(*runtime, {.name = "test", .workers = 4}, [&](std::string key) { return Work::Reconcile(work, std::move(key)); });
    controller.Start();
    for (int i = 0; i < 200; ++i) {
      controller.Enqueue("k" + std::to_string(runtime->Random() % 20));
      if (i % 10 == 0) runtime->RunFor(std::chrono::milliseconds(runtime->Random() % 40));
    }
    ASSERT_TRUE(runtime->RunUntil([&] { return controller.idle() && work.done.size() == 20; }, seconds(60))) << seed;
    EXPECT_GT(work.most, 1u);
    EXPECT_LE(work.most, 4u);
  }
}

TEST(ControllerTest, WatchedObjectsAndTheirOwnersAreQueued) {
  auto runtime = SimulatedRuntime::Make(5);
  auto api = std::make_shared<FakeApi>(*runtime);
  InformerFactory informers(*runtime, Client(api));
  std::map<std::string, int> seen;
  Controller controller(*runtime, {.name = "test"}, [&](std::string key) {
    ++seen[key];
    return [](int) -> Task<Result<ReconcileOutcome>> { co_return ReconcileOutcome(); }(0);
  });
  controller.WatchOwned(informers.For<Lease>(), ConfigMap::SchemaKind());
  controller.Watch(informers.For<ConfigMap>());
  controller.Start();
  ConfigMapBuilder map;
  map.mutable_metadata().set_namespace("default").set_name("own");
  api->Put(ConfigMap::SchemaKind(), map.Freeze());
  for (auto [version, name] : {std::pair{"v1", "owner"}, std::pair{"apps/v1", "stranger"}}) {
    api::coordination::v1::LeaseBuilder lease;
    lease.mutable_metadata().set_namespace("default").set_name(name);
    lease.mutable_metadata().add_owner_references().set_api_version(version).set_kind("ConfigMap").set_name(name).set_controller(true);
    api->Put(Lease::SchemaKind(), lease.Freeze());
  }
  runtime->RunFor(seconds(1));
  EXPECT_TRUE(seen.empty()) << "nothing is looked at before the first list";
  EXPECT_FALSE(controller.idle());
  informers.Start();
  ASSERT_TRUE(runtime->RunUntil([&] { return controller.idle(); }, seconds(10)));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(seen, (std::map<std::string, int>{{"default/own", 1}, {"default/owner", 1}}));
}

TEST(EventCorrelatorTest, CountsAggregatesAndLimits) {
  EventCorrelator correlator;
  MonotonicTime now;
  EventCorrelator::Input input{"source", "object", "", "Normal", "Created", "a pod"};
  auto first = correlator.Correlate(input, "n1", "t1", now);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->count, 1);
  auto second = correlator.Correlate(input, "n2", "t2", now);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->count, 2);
  EXPECT_EQ(second->name, "n1");
  EXPECT_EQ(second->first_timestamp, "t1");
  // Nine different messages are nine events; from the tenth on they are one.
  for (int i = 2; i <= 14; ++i) {
    input.message = "pod " + std::to_string(i);
    auto output = correlator.Correlate(input, "m" + std::to_string(i), "t", now);
    ASSERT_TRUE(output) << i;
    if (i < 10) {
      EXPECT_EQ(output->count, 1);
      EXPECT_EQ(output->message, input.message);
    } else {
      EXPECT_EQ(output->count, i - 9);
      EXPECT_EQ(output->name, "m10");
      EXPECT_EQ(output->message, "(combined from similar events): " + input.message);
    }
  }
  // Fifteen are said; ten more make the burst, then one in 300 s.
  int said = 0;
  input.reason = "Other";
  for (int i = 0; i < 40; ++i) said += correlator.Correlate(input, "x", "t", now) ? 1 : 0;
  EXPECT_EQ(said, 10);
  EXPECT_FALSE(correlator.Correlate(input, "x", "t", now + seconds(299)));
  EXPECT_TRUE(correlator.Correlate(input, "x", "t", now + seconds(600)));
  input.object = "another";
  EXPECT_TRUE(correlator.Correlate(input, "x", "t", now));
}

TEST(EventRecorderTest, WritesAndCounts) {
  auto runtime = SimulatedRuntime::Make(5);
  auto api = std::make_shared<FakeApi>(*runtime);
  ConfigMapBuilder map;
  map.mutable_metadata().set_namespace("default").set_name("a");
  object::DocumentPtr about = api->Put(ConfigMap::SchemaKind(), map.Freeze());
  EventRecorder recorder(*runtime, Client(api), "test-controller");
  api->faults.refuse = 1000;
  for (int i = 0; i < 3; ++i) recorder.Record(ConfigMap::SchemaKind(), about->root(), "Normal", "Seen", "Saw it");
  recorder.Record(ConfigMap::SchemaKind(), about->root(), "Warning", "Lost", "Lost it");
  runtime->RunFor(seconds(15));
  EXPECT_TRUE(api->Objects(Event::SchemaKind()).empty());
  api->faults.refuse = 0;
  runtime->RunFor(seconds(60));
  auto events = api->Objects(Event::SchemaKind());
  ASSERT_EQ(events.size(), 2u);
  std::map<std::string, int> counts;
  for (const auto& [key, document] : events) {
    Event event(document->root());
    counts[std::string(event.reason())] = event.count();
    EXPECT_TRUE(key.starts_with("default/a."));
    EXPECT_EQ(event.involved_object().uid(), meta::Uid(about->root()));
    EXPECT_EQ(event.involved_object().kind(), "ConfigMap");
    EXPECT_EQ(event.source().component(), "test-controller");
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"Seen", 3}, {"Lost", 1}}));
}

TEST(LeaseLockTest, FollowsItsTable) {
  using Action = LeaseLock::Action;
  MonotonicTime start;
  LeaseRecord theirs{"them", 15, "t0", "t0", 4};
  LeaseLock lock("us", seconds(15));
  EXPECT_EQ(lock.Decide(std::nullopt, start, "t").action, Action::kCreate);
  // Its time begins when we see it, whatever it says.
  EXPECT_EQ(lock.Decide(theirs, start, "t").action, Action::kWait);
  EXPECT_EQ(lock.Decide(theirs, start + seconds(14), "t").action, Action::kWait);
  theirs.renew_time = "t1";
  EXPECT_EQ(lock.Decide(theirs, start + seconds(16), "t").action, Action::kWait);
  auto taken = lock.Decide(theirs, start + seconds(31), "t9");
  EXPECT_EQ(taken.action, Action::kUpdate);
  EXPECT_EQ(taken.next, (LeaseRecord{"us", 15, "t9", "t9", 5}));
  auto renewed = lock.Decide(taken.next, start + seconds(33), "t10");
  EXPECT_EQ(renewed.action, Action::kUpdate);
  EXPECT_EQ(renewed.next, (LeaseRecord{"us", 15, "t9", "t10", 5}));
  theirs.holder.clear();
  EXPECT_EQ(lock.Decide(theirs, start + seconds(34), "t").action, Action::kUpdate) << "given back";
}

// A way to the server that can be closed.
class Gate : public http::Handler {
 public:
  Gate(Runtime& runtime, std::shared_ptr<http::Handler> behind) : runtime_(runtime), behind_(std::move(behind)) {}
  bool open = true;
  Task<http::Response> Handle(http::Request request) override {
    while (!open) {
      auto wait = Sleep(runtime_, seconds(1));
      co_await wait;
    }
    auto call = behind_->Handle(std::move(request));
    http::Response response = co_await call;
    co_return response;
  }

 private:
  Runtime& runtime_;
  std::shared_ptr<http::Handler> behind_;
};

struct Candidate {
  Candidate(Runtime& loop, std::shared_ptr<FakeApi> api, std::string name, std::set<std::string>& leading)
      : runtime(loop), gate(std::make_shared<Gate>(loop, std::move(api))), identity(std::move(name)), leaders(leading) {}

  // Destroyed when leadership is lost, also in the middle.
  struct Leading {
    Leading(std::set<std::string>& all, std::string name) : leaders(all), identity(std::move(name)) {
      leaders.insert(identity);
      EXPECT_EQ(leaders.size(), 1u) << "two lead at once";
    }
    ~Leading() { leaders.erase(identity); }
    std::set<std::string>& leaders;
    std::string identity;
  };
  static Task<void> Lead(Candidate& candidate) {
    Leading leading(candidate.leaders, candidate.identity);
    while (true) {
      auto pause = Sleep(candidate.runtime, seconds(1));
      co_await pause;
    }
  }
  static Task<void> Run(Candidate& candidate) {
    while (true) {
      LeaderElectionOptions options;
      options.ns = "kube-system";
      options.name = "lock";
      options.identity = candidate.identity;
      auto lead = LeadWhileElected(candidate.runtime, Client(candidate.gate), options, [&candidate] { return Lead(candidate); });
      Result<void> lost = co_await lead;
      EXPECT_FALSE(lost);
    }
  }

  Runtime& runtime;
  std::shared_ptr<Gate> gate;
  std::string identity;
  std::set<std::string>& leaders;
};

TEST(LeaderElectionTest, NeverTwoAndAlwaysOneAgain) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto runtime = SimulatedRuntime::Make(seed);
    auto api = std::make_shared<FakeApi>(*runtime);
    api->faults = {.refuse = 30, .lose_answer = 30, .delay = std::chrono::milliseconds(500)};
    std::set<std::string> leaders;
    Candidate a(*runtime, api, "a", leaders), b(*runtime, api, "b", leaders), c(*runtime, api, "c", leaders);
    TaskGroup group(*runtime);
    for (Candidate* candidate : {&a, &b, &c}) group.Spawn(Candidate::Run(*candidate));
    for (int round = 0; round < 20; ++round) {
      // One that leads is cut off, for shorter or longer than the lease lasts.
      ASSERT_TRUE(runtime->RunUntil([&] { return !leaders.empty(); }, seconds(90)));
      Candidate& cut = leaders.contains("a") ? a : leaders.contains("b") ? b : c;
      cut.gate->open = false;
      runtime->RunFor(seconds(runtime->Random() % 40));
      cut.gate->open = true;
      runtime->RunFor(seconds(runtime->Random() % 20));
    }
    if (HasFailure()) return;
  }
}

TEST(LeaderElectionTest, GivesTheLeaseBackWhenItsWorkIsDone) {
  auto runtime = SimulatedRuntime::Make(1);
  auto api = std::make_shared<FakeApi>(*runtime);
  bool ended = false;
  auto run = [](Runtime& loop, std::shared_ptr<FakeApi> server, bool& done) -> Task<void> {
    LeaderElectionOptions options{.ns = "kube-system", .name = "lock", .identity = "a"};
    auto lead = LeadWhileElected(loop, Client(server), options, [&loop] { return Sleep(loop, seconds(3)); });
    Result<void> outcome = co_await lead;
    done = outcome.has_value();
  };
  TaskGroup group(*runtime);
  group.Spawn(run(*runtime, api, ended));
  ASSERT_TRUE(runtime->RunUntil([&] { return ended; }, seconds(10)));
  auto leases = api->Objects(Lease::SchemaKind());
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(Lease(leases.begin()->second->root()).spec().holder_identity(), "");
}

}  // namespace
}  // namespace homeostat::sdk
