#include "homeostat/base/task.h"

#include <gtest/gtest.h>

#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Counts how many of it are alive: what cancellation has to bring to zero.
struct Guard {
  explicit Guard(int& count) : count(&count) { ++count; }
  Guard(const Guard& other) : count(other.count) { ++*count; }
  ~Guard() { --*count; }
  int* count;
};

Task<int> Twice(Runtime& runtime, int value) {
  auto pause = Sleep(runtime, seconds(1));
  co_await pause;
  co_return 2 * value;
}
Task<void> Sum(Runtime& runtime, int& out) {
  for (int i = 1; i <= 3; ++i) {
    auto twice = Twice(runtime, i);
    out += co_await twice;
  }
}
Task<void> SleepFor(Runtime& runtime, [[maybe_unused]] Guard guard, Duration delay, int& finished) {
  auto pause = Sleep(runtime, delay);
  co_await pause;
  ++finished;
}
Task<void> WaitForSignal(Signal& signal, [[maybe_unused]] Guard guard, int& woken) {
  auto wait = signal.Wait();
  co_await wait;
  ++woken;
}

TEST(Task, NothingRunsBeforeItIsAwaited) {
  auto runtime = SimulatedRuntime::Make(1);
  int out = 0;
  { Task<void> dropped = Sum(*runtime, out); }
  runtime->RunFor(hours(1));
  EXPECT_EQ(out, 0);
}

TEST(Task, AwaitsInVirtualTime) {
  auto runtime = SimulatedRuntime::Make(1);
  TaskGroup group(*runtime);
  int out = 0;
  group.Spawn(Sum(*runtime, out));
  EXPECT_EQ(out, 0) << "Spawn starts in a later turn";
  runtime->RunFor(milliseconds(2999));
  EXPECT_EQ(out, 6);
  EXPECT_EQ(group.size(), 1u);
  runtime->RunFor(milliseconds(1));
  EXPECT_EQ(out, 12);
  EXPECT_EQ(group.size(), 0u);
}

Task<void> Throw() {
  throw std::runtime_error("lost");
  co_return;
}
Task<void> Catch(std::string& out) {
  auto inner = Throw();
  try {
    co_await inner;
  } catch (const std::runtime_error& error) {
    out = error.what();
  }
}

TEST(Task, ExceptionsReachTheAwaiter) {
  auto runtime = SimulatedRuntime::Make(1);
  TaskGroup group(*runtime);
  std::string out;
  group.Spawn(Catch(out));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(out, "lost");
}

TEST(TaskDeathTest, AnExceptionThatLeavesASpawnedTaskEndsTheProcess) {
  auto runtime = SimulatedRuntime::Make(1);
  TaskGroup group(*runtime);
  group.Spawn(Throw());
  EXPECT_DEATH(runtime->RunFor(seconds(1)), "an exception left a task: lost");
}

TEST(TaskGroup, DestructionCancelsAtEveryPoint) {
  // A task that has not started, one that sleeps, one that waits, one whose turn is due.
  auto runtime = SimulatedRuntime::Make(1);
  Signal signal(*runtime);
  int alive = 0, finished = 0;
  {
    TaskGroup group(*runtime);
    group.Spawn(SleepFor(*runtime, Guard(alive), seconds(5), finished));
    group.Spawn(WaitForSignal(signal, Guard(alive), finished));
    group.Spawn(WaitForSignal(signal, Guard(alive), finished));
    runtime->RunFor(seconds(1));
    signal.Notify();
    group.Spawn(SleepFor(*runtime, Guard(alive), seconds(5), finished));
    EXPECT_EQ(alive, 4);
  }
  EXPECT_EQ(alive, 0);
  runtime->RunFor(hours(1));
  EXPECT_EQ(finished, 0);
}

Task<void> CancelOwnGroup(Runtime& runtime, TaskGroup& group, int& reached) {
  group.Cancel();
  ++reached;  // what runs goes on to its next await
  auto pause = Sleep(runtime, hours(1));
  co_await pause;
  ++reached;
}

TEST(TaskGroup, CancelFromInsideEndsTheTasksOfThatMoment) {
  auto runtime = SimulatedRuntime::Make(3);
  TaskGroup group(*runtime);
  int alive = 0, finished = 0, reached = 0;
  group.Spawn(SleepFor(*runtime, Guard(alive), seconds(2), finished));
  group.Spawn(CancelOwnGroup(*runtime, group, reached));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(group.size(), 0u);
  EXPECT_EQ(alive, 0);
  group.Spawn(SleepFor(*runtime, Guard(alive), seconds(2), finished));
  runtime->RunFor(hours(2));
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(finished, 1) << "a group can be used after Cancel";
}

Task<void> JoinAndNote(TaskGroup& group, bool& joined) {
  auto join = group.Join();
  co_await join;
  joined = true;
}

TEST(TaskGroup, JoinWaitsForTheLastTask) {
  auto runtime = SimulatedRuntime::Make(1);
  int alive = 0, finished = 0;
  bool joined = false;
  TaskGroup group(*runtime), waiting(*runtime);
  for (int i = 1; i <= 5; ++i) group.Spawn(SleepFor(*runtime, Guard(alive), seconds(i), finished));
  waiting.Spawn(JoinAndNote(group, joined));
  runtime->RunFor(milliseconds(4999));
  EXPECT_FALSE(joined);
  EXPECT_EQ(finished, 4);
  runtime->RunFor(milliseconds(1));
  EXPECT_TRUE(joined);
}

TEST(TaskGroup, JoinCompletesWhenTheGroupIsDestroyed) {
  auto runtime = SimulatedRuntime::Make(1);
  int alive = 0, finished = 0;
  bool joined = false;
  TaskGroup waiting(*runtime);
  auto group = std::make_unique<TaskGroup>(*runtime);
  group->Spawn(SleepFor(*runtime, Guard(alive), hours(1), finished));
  waiting.Spawn(JoinAndNote(*group, joined));
  runtime->RunFor(seconds(1));
  group.reset();
  runtime->RunFor(seconds(1));
  EXPECT_TRUE(joined);
}

Task<void> WaitUpTo(Signal& signal, Duration limit, std::vector<bool>& out) {
  auto wait = signal.WaitFor(limit);
  out.push_back(co_await wait);
}

TEST(Signal, WaitForEndsByNotificationOrTime) {
  auto runtime = SimulatedRuntime::Make(1);
  Signal signal(*runtime);
  TaskGroup group(*runtime);
  std::vector<bool> out;
  group.Spawn(WaitUpTo(signal, seconds(1), out));
  runtime->RunFor(seconds(2));
  EXPECT_EQ(out, std::vector<bool>{false});
  group.Spawn(WaitUpTo(signal, seconds(10), out));
  runtime->RunFor(seconds(2));
  signal.Notify();
  runtime->RunFor(milliseconds(1));
  EXPECT_EQ(out, (std::vector<bool>{false, true}));
}

// A notification and the end of the time at the same moment: woken exactly once, whatever the order of turns.
TEST(Signal, NotificationAtTheLimitWakesOnce) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto runtime = SimulatedRuntime::Make(seed);
    Signal signal(*runtime);
    TaskGroup group(*runtime);
    std::vector<bool> out;
    group.Spawn(WaitUpTo(signal, seconds(1), out));
    runtime->After(seconds(1), [&] { signal.Notify(); });
    runtime->RunFor(seconds(5));
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(group.size(), 0u);
  }
}

TEST(Signal, MayEndBeforeItsWaiters) {
  auto runtime = SimulatedRuntime::Make(1);
  int alive = 0, woken = 0;
  auto signal = std::make_unique<Signal>(*runtime);
  {
    TaskGroup group(*runtime);
    group.Spawn(WaitForSignal(*signal, Guard(alive), woken));
    group.Spawn(WaitForSignal(*signal, Guard(alive), woken));
    runtime->RunFor(seconds(1));
    signal.reset();
    runtime->RunFor(seconds(1));
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(woken, 0);
}

Task<void> TwiceWithin(Runtime& runtime, Duration limit, std::optional<int>& out) {
  auto twice = Within(runtime, limit, Twice(runtime, 21));
  out = co_await twice;
}

TEST(Within, GivesTheValueOrDestroysTheTask) {
  auto runtime = SimulatedRuntime::Make(1);
  TaskGroup group(*runtime);
  std::optional<int> late = 0, in_time;
  group.Spawn(TwiceWithin(*runtime, milliseconds(999), late));
  group.Spawn(TwiceWithin(*runtime, milliseconds(1001), in_time));
  runtime->RunFor(seconds(2));
  EXPECT_EQ(late, std::nullopt);
  EXPECT_EQ(in_time, 42);
}

Task<void> OffLoop(Runtime& runtime, int& out) {
  std::move_only_function<int()> work = [] { return 7; };
  auto call = RunOffLoop<int>(runtime, std::move(work));
  out = co_await call;
}

TEST(RunOffLoop, MayBeAbandoned) {
  auto runtime = SimulatedRuntime::Make(1);
  int out = 0;
  {
    TaskGroup group(*runtime);
    group.Spawn(OffLoop(*runtime, out));
    runtime->Step();  // the task has handed its work over
  }
  runtime->RunFor(seconds(1));
  EXPECT_EQ(out, 0);
  TaskGroup group(*runtime);
  group.Spawn(OffLoop(*runtime, out));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(out, 7);
}

}  // namespace
}  // namespace homeostat
