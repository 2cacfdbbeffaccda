#include "scheduler/queue.h"

#include <gtest/gtest.h>

#include "scheduler/internal/objects_for_tests.h"

namespace homeostat::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

MonotonicTime At(Duration since) { return MonotonicTime(since); }

PodInfoPtr Prioritized(std::string_view name, int priority) {
  return MakePod(name, R"("priority":)" + std::to_string(priority) + R"(,"containers":[{"name":"c"}])");
}

TEST(SchedulingQueue, HighestPriorityFirstThenOldest) {
  SchedulingQueue queue;
  queue.Add(Prioritized("a", 0), At(seconds(0)));
  queue.Add(Prioritized("b", 5), At(seconds(1)));
  queue.Add(Prioritized("c", 5), At(seconds(2)));
  queue.Add(Prioritized("d", -1), At(seconds(3)));
  std::string order;
  while (PodInfoPtr pod = queue.Pop(At(seconds(4)))) order += pod->name;
  EXPECT_EQ(order, "bcad");
}

TEST(SchedulingQueue, BackoffDoublesToTenSeconds) {
  SchedulingQueue queue;
  queue.Add(MakePod("a"), At(seconds(0)));
  MonotonicTime now = At(seconds(0));
  for (int64_t wait : {1, 2, 4, 8, 10, 10}) {
    ASSERT_TRUE(queue.Pop(now)) << wait;
    queue.Retry("uid-a", now);
    EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kBackoff);
    EXPECT_EQ(*queue.NextDue(), now + seconds(wait));
    EXPECT_FALSE(queue.Pop(now + seconds(wait) - milliseconds(1)));
    now += seconds(wait);
  }
}

TEST(SchedulingQueue, EventsMoveOnlyWhatTheyHelp) {
  struct Case {
    PluginSet refused;
    ClusterEvent event;
    bool moves;
  };
  for (const Case& c :
       {Case{kNodeResourcesFit, ClusterEvent::kPodRemoved, true},
        Case{kNodeResourcesFit, ClusterEvent::kPodPlaced, false},
        Case{kInterPodAffinity, ClusterEvent::kPodPlaced, true},
        Case{kTaintToleration, ClusterEvent::kPodRemoved, false},
        Case{kTaintToleration, ClusterEvent::kNodeUpdated, true},
        Case{kVolumeBinding, ClusterEvent::kVolumeChanged, true},
        Case{kNodeResourcesFit, ClusterEvent::kVolumeChanged, false}, Case{0, ClusterEvent::kNamespaceChanged, true}}) {
    SchedulingQueue queue;
    queue.Add(MakePod("a"), At(seconds(0)));
    ASSERT_TRUE(queue.Pop(At(seconds(0))));
    queue.Failed("uid-a", c.refused, At(seconds(0)));
    EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kUnschedulable);
    queue.Notify(c.event, At(milliseconds(500)));
    EXPECT_EQ(queue.StateOf("uid-a"), c.moves ? QueueState::kBackoff : QueueState::kUnschedulable) << c.refused;
    EXPECT_EQ(queue.Pop(At(seconds(1))) != nullptr, c.moves);
  }
}

TEST(SchedulingQueue, AVetoHoldsForWhatOneNodeDecides) {
  for (auto [refused, moves] :
       {std::pair<PluginSet, bool>{kNodeResourcesFit, false}, {kNodeResourcesFit | kPodTopologySpread, true}}) {
    SchedulingQueue queue;
    queue.Add(MakePod("a"), At(seconds(0)));
    ASSERT_TRUE(queue.Pop(At(seconds(0))));
    queue.Failed("uid-a", refused, At(seconds(0)));
    queue.Notify(ClusterEvent::kPodRemoved, At(seconds(5)), [](const PodInfo&) { return false; });
    EXPECT_EQ(queue.StateOf("uid-a"), moves ? QueueState::kActive : QueueState::kUnschedulable);
  }
}

TEST(SchedulingQueue, UnschedulablePodsTryAgainAfterFiveMinutes) {
  SchedulingQueue queue;
  queue.Add(MakePod("a"), At(seconds(0)));
  ASSERT_TRUE(queue.Pop(At(seconds(0))));
  queue.Failed("uid-a", kTaintToleration, At(seconds(0)));
  EXPECT_EQ(*queue.NextDue(), At(minutes(5)));
  EXPECT_FALSE(queue.Pop(At(minutes(5) - milliseconds(1))));
  EXPECT_TRUE(queue.Pop(At(minutes(5))));
}

TEST(SchedulingQueue, GatesHoldUntilTheyAreGone) {
  SchedulingQueue queue;
  queue.Add(MakePod("a", R"("schedulingGates":[{"name":"example.com/g"}],"containers":[{"name":"c"}])"),
            At(seconds(0)));
  EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kGated);
  queue.Notify(ClusterEvent::kNodeAdded, At(seconds(1)));
  EXPECT_FALSE(queue.Pop(At(minutes(10))));
  queue.Update(MakePod("a"), At(minutes(10)));
  EXPECT_TRUE(queue.Pop(At(minutes(10))));
}

TEST(SchedulingQueue, ChangesOfThePodItself) {
  SchedulingQueue queue;
  queue.Add(MakePod("a"), At(seconds(0)));
  ASSERT_TRUE(queue.Pop(At(seconds(0))));
  queue.Failed("uid-a", kNodeAffinity, At(seconds(0)));
  // A new status is no reason, other labels are.
  queue.Update(MakePod("a", R"("containers":[{"name":"c"}])", "", R"("phase":"Pending")"), At(seconds(20)));
  EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kUnschedulable);
  queue.Update(MakePod("a", R"("containers":[{"name":"c"}])", R"("labels":{"a":"b"})"), At(seconds(20)));
  EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kActive);
  // The same while it is in flight.
  ASSERT_TRUE(queue.Pop(At(seconds(20))));
  queue.Update(MakePod("a"), At(seconds(20)));
  EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kInFlight);
  queue.Failed("uid-a", kNodeAffinity, At(seconds(20)));
  EXPECT_EQ(queue.StateOf("uid-a"), QueueState::kBackoff);
  queue.Remove("uid-a");
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.Pop(At(minutes(10))));
  EXPECT_FALSE(queue.NextDue());
}

}  // namespace
}  // namespace homeostat::scheduler
