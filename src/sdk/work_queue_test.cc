#include "homeostat/sdk/work_queue.h"

#include <gtest/gtest.h>

namespace homeostat::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

MonotonicTime At(Duration time) { return MonotonicTime(time); }

TEST(WorkQueueTest, EachKeyOnceInOrder) {
  WorkQueue queue;
  for (const char* key : {"a", "b", "a", "c", "b"}) queue.Add(key);
  EXPECT_EQ(queue.depth(), 3u);
  EXPECT_EQ(queue.Take(At({})), "a");
  EXPECT_EQ(queue.Take(At({})), "b");
  EXPECT_EQ(queue.Take(At({})), "c");
  EXPECT_EQ(queue.Take(At({})), std::nullopt);
}

TEST(WorkQueueTest, AKeyAddedWhileItRunsComesAfterwards) {
  WorkQueue queue;
  queue.Add("a");
  ASSERT_EQ(queue.Take(At({})), "a");
  queue.Add("a");
  queue.Add("a");
  EXPECT_EQ(queue.Take(At({})), std::nullopt) << "it must not run twice at a time";
  queue.Finish("a");
  EXPECT_EQ(queue.Take(At({})), "a");
  queue.Finish("a");
  EXPECT_EQ(queue.Take(At({})), std::nullopt);
}

TEST(WorkQueueTest, TheEarlierDelayWins) {
  WorkQueue queue;
  queue.AddAt("a", At(seconds(5)));
  queue.AddAt("a", At(seconds(2)));
  queue.AddAt("a", At(seconds(9)));
  EXPECT_EQ(queue.NextDue(), At(seconds(2)));
  EXPECT_EQ(queue.Take(At(milliseconds(1999))), std::nullopt);
  EXPECT_EQ(queue.Take(At(seconds(2))), "a");
  EXPECT_EQ(queue.NextDue(), std::nullopt);
}

TEST(WorkQueueTest, ADelayThatEndsWhileTheKeyRunsIsNotLost) {
  WorkQueue queue;
  queue.Add("a");
  ASSERT_EQ(queue.Take(At({})), "a");
  queue.AddAt("a", At(seconds(1)));
  EXPECT_EQ(queue.Take(At(seconds(2))), std::nullopt);
  queue.Finish("a");
  EXPECT_EQ(queue.Take(At(seconds(2))), "a");
}

TEST(WorkQueueTest, BackOffDoublesUpToItsLimit) {
  WorkQueue queue({.base = milliseconds(5), .limit = seconds(1000)});
  Duration expected = milliseconds(5);
  for (int failure = 0; failure < 100; ++failure) {
    queue.AddAfterFailure("a", At({}));
    EXPECT_EQ(queue.NextDue(), At(std::min<Duration>(expected, seconds(1000)))) << failure;
    ASSERT_EQ(queue.Take(At(seconds(1000))), "a");
    queue.Finish("a");
    if (expected < seconds(1000)) expected *= 2;
  }
  EXPECT_EQ(queue.Failures("a"), 100);
  queue.Forget("a");
  EXPECT_EQ(queue.Failures("a"), 0);
  queue.AddAfterFailure("a", At({}));
  EXPECT_EQ(queue.NextDue(), At(milliseconds(5)));
}

}  // namespace
}  // namespace homeostat::sdk
