// Watches: exactly once, in order, from the past and the future, too old, too slow; and, with drawn actions, against
// the engine's own account of what happened.
#include <gtest/gtest.h>

#include <random>

#include "cache/internal/testing.h"

namespace homeostat::cache {
namespace {

using internal::Await;
using Texts = std::vector<std::string>;

class WatchTest : public internal::CacheFixture {
 protected:
  void SetUp() override { Start(); }
  std::unique_ptr<Watcher> Watch(std::string prefix, uint64_t after) {
    auto watcher = cache_->Watch(std::move(prefix), after);
    EXPECT_TRUE(watcher) << watcher.error().message();
    return watcher ? std::move(*watcher) : nullptr;
  }
};

TEST_F(WatchTest, HearsEachEventOnce) {
  auto all = Watch("/registry/", 1), pods = Watch("/registry/pods/", 1), space = Watch("/registry/pods/a/", 1);
  Commit("/registry/pods/a/x", "1");  // 2
  Commit("/registry/pods/b/x", "1");  // 3
  Commit("/registry/pods/a/x", "2");  // 4
  Delete("/registry/pods/a/x");       // 5
  Commit("/registry/sets/a/x", "1");  // 6
  EXPECT_EQ(Next(*pods), (Texts{"+/registry/pods/a/x=1@2", "+/registry/pods/b/x=1@3", "~/registry/pods/a/x=2@4<2",
                                "-/registry/pods/a/x=2@5<4"}));
  EXPECT_EQ(Next(*space), (Texts{"+/registry/pods/a/x=1@2", "~/registry/pods/a/x=2@4<2", "-/registry/pods/a/x=2@5<4"}));
  EXPECT_EQ(Next(*all).size(), 5u);
  EXPECT_EQ(Next(*pods), Texts{});
  // One from the past hears the same.
  EXPECT_EQ(Next(*Watch("/registry/pods/a/", 2)), (Texts{"~/registry/pods/a/x=2@4<2", "-/registry/pods/a/x=2@5<4"}));
  EXPECT_EQ(Next(*Watch("/registry/pods/a/", 5)), Texts{});
}

TEST_F(WatchTest, ADeletionCarriesTheLastStateAtItsOwnRevision) {
  Commit("/registry/pods/a/x", "last");
  auto watcher = Watch("/registry/pods/", 2);
  Delete("/registry/pods/a/x");
  auto events = Await(*runtime_, watcher->Next(Duration::zero()));
  ASSERT_TRUE(events && events->size() == 1);
  const WatchEvent& event = *events->front();
  EXPECT_EQ(event.current, nullptr);
  EXPECT_EQ(event.revision, 3u);
  EXPECT_EQ(event.key(), "/registry/pods/a/x");
  EXPECT_EQ((*event.deleted->document())->root().Get("revision").AsInt(), 3);
  EXPECT_EQ((*event.deleted->document())->root().Get("text").AsString(), "last");
  EXPECT_EQ(event.previous->revision(), 2u);
}

TEST_F(WatchTest, NextWaits) {
  auto watcher = Watch("/registry/pods/", 1);
  MonotonicTime before = runtime_->Now();
  EXPECT_EQ(Next(*watcher, std::chrono::seconds(5)), Texts{});
  EXPECT_EQ(runtime_->Now() - before, std::chrono::seconds(5));

  std::optional<Result<std::vector<WatchEventPtr>>> events;
  TaskGroup group(*runtime_);
  group.Spawn(internal::KeepResult(watcher->Next(std::chrono::minutes(1)), &events));
  runtime_->RunFor(std::chrono::seconds(1));
  Commit("/registry/sets/a/x", "1");
  runtime_->RunFor(std::chrono::seconds(1));
  EXPECT_FALSE(events) << "events of others wake nobody";
  Commit("/registry/pods/a/x", "1");
  runtime_->RunFor(Duration(1));
  ASSERT_TRUE(events);
  EXPECT_EQ((**events).size(), 1u);
}

TEST_F(WatchTest, AnotherDecoderWakes) {
  auto pods = Watch("/registry/pods/a/", 1), sets = Watch("/registry/sets/", 1);
  std::optional<Result<std::vector<WatchEventPtr>>> of_pods, of_sets;
  TaskGroup group(*runtime_);
  group.Spawn(internal::KeepResult(pods->Next(std::chrono::minutes(1)), &of_pods));
  group.Spawn(internal::KeepResult(sets->Next(std::chrono::minutes(1)), &of_sets));
  runtime_->RunFor(Duration(1));
  cache_->SetDecoder("/registry/pods/", nullptr);
  runtime_->RunFor(Duration(1));
  ASSERT_TRUE(of_pods && *of_pods);
  EXPECT_TRUE((**of_pods).empty());
  EXPECT_FALSE(of_sets);
}

TEST_F(WatchTest, AWaitingWatcherMayGo) {
  std::optional<Result<std::vector<WatchEventPtr>>> events;
  {
    auto watcher = Watch("/registry/pods/", 1);
    TaskGroup group(*runtime_);
    group.Spawn(internal::KeepResult(watcher->Next(std::chrono::minutes(1)), &events));
    runtime_->RunFor(std::chrono::seconds(1));
    watcher.reset();
    Commit("/registry/pods/a/x", "1");
    runtime_->RunFor(std::chrono::seconds(1));
    EXPECT_FALSE(events);
  }
  Commit("/registry/pods/a/x", "2");
  EXPECT_EQ(Next(*Watch("/registry/pods/", 2)), Texts{"~/registry/pods/a/x=2@3<2"});
}

TEST_F(WatchTest, TooOldIsExpired) {
  Start({.history_events = 3});
  EXPECT_EQ(cache_->Watch("/registry/", 0).error().message(), "too old resource version: 0 (1)");
  for (int i = 0; i < 10; ++i) Commit("/registry/pods/a/x", std::to_string(i));
  const uint64_t oldest = cache_->oldest_revision();
  EXPECT_GE(cache_->revision() - oldest, 3u);
  auto expired = cache_->Watch("/registry/", oldest - 1);
  ASSERT_FALSE(expired);
  EXPECT_TRUE(expired.error().IsExpired());
  EXPECT_EQ(expired.error().message(),
            "too old resource version: " + std::to_string(oldest - 1) + " (" + std::to_string(oldest) + ")");
  for (uint64_t after = oldest; after <= cache_->revision(); ++after) {
    EXPECT_EQ(Next(*Watch("/registry/", after)).size(), cache_->revision() - after) << after;
  }
}

TEST_F(WatchTest, TheWindowEndsByAgeAndSize) {
  Start({.history_age = std::chrono::minutes(5)});
  Commit("/registry/pods/a/x", "1");  // 2
  runtime_->RunFor(std::chrono::minutes(4));
  Commit("/registry/pods/a/x", "2");  // 3
  runtime_->RunFor(std::chrono::minutes(2));
  Commit("/registry/pods/a/x", "3");  // 4
  EXPECT_EQ(cache_->oldest_revision(), 2u);

  Start({.history_bytes = 50'000});
  for (int i = 0; i < 100; ++i) Commit("/registry/pods/a/x", std::string(10'000, 'x'));
  EXPECT_GE(cache_->oldest_revision(), 90u);
  EXPECT_LT(cache_->oldest_revision(), 100u);
}

TEST_F(WatchTest, FromTheFutureNothingComesBeforeIt) {
  auto watcher = Watch("/registry/pods/", 4);
  EXPECT_EQ(watcher->progress(), 4u);
  for (int i = 0; i < 4; ++i) Commit("/registry/pods/a/x", std::to_string(i));  // 2 … 5
  EXPECT_EQ(Next(*watcher), Texts{"~/registry/pods/a/x=3@5<4"});
}

TEST_F(WatchTest, TooSlowIsExpired) {
  Start({.watcher_backlog = 10});
  auto slow = Watch("/registry/pods/", 1), quick = Watch("/registry/pods/", 1), other = Watch("/registry/sets/", 1);
  for (int i = 0; i < 10; ++i) Commit("/registry/pods/a/x", std::to_string(i));
  EXPECT_EQ(Next(*quick).size(), 10u);
  // What it missed before it began is not held against a watcher.
  auto late = Watch("/registry/pods/", 1);
  for (int i = 0; i < 10; ++i) Commit("/registry/pods/a/x", std::to_string(i));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(*slow), Texts{"the watch was too slow and has lost events: list again"});
  EXPECT_EQ(slow->progress(), 1u);
  EXPECT_EQ(Next(*quick).size(), 10u);
  EXPECT_EQ(Next(*late).size(), 20u);
  EXPECT_EQ(Next(*other), Texts{});
}

TEST_F(WatchTest, ProgressIsNeverAheadOfWhatWasHandedOut) {
  auto pods = Watch("/registry/pods/", 1);
  EXPECT_EQ(pods->progress(), 1u);
  Commit("/registry/sets/a/x", "1");  // 2
  EXPECT_EQ(pods->progress(), 2u) << "nothing of the prefix up to here";
  Commit("/registry/pods/a/x", "1");  // 3
  Commit("/registry/sets/a/x", "2");  // 4
  EXPECT_EQ(pods->progress(), 2u) << "3 waits";
  Next(*pods);
  EXPECT_EQ(pods->progress(), 4u);
}

// ------------------------------------------------------------------------------------------------ drawn actions

constexpr const char* kPrefixes[] = {
    "", "/registry/", "/registry/pods/", "/registry/pods/a/", "/registry/pods/b/x", "/registry/sets/"};
std::string DrawKey(std::mt19937_64& random) {
  std::string key = random() % 3 ? "/registry/pods/" : "/registry/sets/";
  key += random() % 2 ? "a/" : "b/";
  return key + std::string(1, static_cast<char>('x' + random() % 3));
}
bool Under(std::string_view key, std::string_view prefix) {
  return prefix.empty() || prefix.ends_with('/') ? key.starts_with(prefix) : key == prefix;
}

struct Heard {
  std::string prefix;
  uint64_t after = 0;
  std::vector<uint64_t> revisions;
  std::vector<std::pair<size_t, uint64_t>> progress;  // after so many events it said so much
};

Task<void> WriteAtRandom(Runtime* runtime, Cache* cache, uint64_t seed, int* left) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    store::Write write{.key = DrawKey(random)};
    if (random() % 4) write.value = Bytes(std::to_string(random()));
    if (const EntryPtr entry = cache->Get(write.key); entry && random() % 2) {
      write.expectation = store::Expectation::At(entry->revision());
    }
    auto committing = cache->Commit(std::move(write));
    auto committed = co_await committing;
    EXPECT_TRUE(committed);
    EXPECT_GE(cache->revision(), committed->revision) << "the cache is never behind an answered commit";
    auto pause = Sleep(*runtime, std::chrono::milliseconds(random() % 3));
    co_await pause;
  }
  --*left;
}

Task<void> WatchAtRandom(Runtime* runtime, Cache* cache, uint64_t seed, const int* left, Heard* heard) {
  std::mt19937_64 random(seed);
  auto pause = Sleep(*runtime, std::chrono::milliseconds(random() % 100));
  co_await pause;
  heard->prefix = kPrefixes[random() % std::size(kPrefixes)];
  heard->after = cache->oldest_revision() + random() % (cache->revision() - cache->oldest_revision() + 5);
  auto watcher = cache->Watch(heard->prefix, heard->after);
  if (!watcher) co_return (void)(ADD_FAILURE() << watcher.error().message());
  while (true) {
    const bool last = *left == 0;
    auto taking = (*watcher)->Next(std::chrono::milliseconds(random() % 10));
    auto events = co_await taking;
    if (!events) co_return (void)(ADD_FAILURE() << events.error().message());
    for (const WatchEventPtr& event : *events) heard->revisions.push_back(event->revision);
    heard->progress.emplace_back(heard->revisions.size(), (*watcher)->progress());
    if (last && events->empty()) co_return;
    auto rest = Sleep(*runtime, std::chrono::milliseconds(random() % 20));
    co_await rest;
  }
}

class DrawnTest : public internal::CacheFixture {
 protected:
  // The revisions that a watcher must have heard, from the engine's own log.
  std::vector<uint64_t> Expected(const Heard& heard) {
    std::vector<uint64_t> revisions;
    const auto events = Await(*runtime_, engine_->EventsSince("", 1)).value();
    for (const store::Event& event : events) {
      if (event.revision > heard.after && Under(event.record.key(), heard.prefix)) revisions.push_back(event.revision);
    }
    return revisions;
  }
  // Nothing that came later may be at or below what was said to be complete.
  void CheckProgress(const Heard& heard) {
    uint64_t before = 0;
    for (const auto& [count, progress] : heard.progress) {
      EXPECT_GE(progress, before) << "progress went back";
      before = progress;
      const uint64_t last = count > 0 ? heard.revisions[count - 1] : 0;
      const uint64_t next = count < heard.revisions.size() ? heard.revisions[count] : UINT64_MAX;
      EXPECT_GE(progress, last) << "progress behind an event";
      EXPECT_LT(progress, next) << "progress ahead of an event";
    }
  }
};

TEST_F(DrawnTest, WatchersHearExactlyWhatHappened) {
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Start({}, seed);
    constexpr int kWriters = 6, kWatchers = 30;
    int left = kWriters;
    std::vector<Heard> heard(kWatchers);
    {
      TaskGroup group(*runtime_);
      for (int i = 0; i < kWriters; ++i)
        group.Spawn(WriteAtRandom(runtime_.get(), cache_.get(), seed * 100 + i, &left));
      for (int i = 0; i < kWatchers; ++i) {
        group.Spawn(WatchAtRandom(runtime_.get(), cache_.get(), seed * 1000 + i, &left, &heard[i]));
      }
      ASSERT_TRUE(runtime_->RunUntil([&] { return group.size() == 0; }, std::chrono::hours(1)));
    }
    for (const Heard& one : heard) {
      SCOPED_TRACE("watch of '" + one.prefix + "' after " + std::to_string(one.after));
      EXPECT_EQ(one.revisions, Expected(one));
      CheckProgress(one);
    }
  }
}

TEST_F(DrawnTest, ListsOfThePastAgreeWithTheEngine) {
  for (uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Start({.history_events = 100}, seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 300; ++i) {
      Commit(DrawKey(random), random() % 4 ? std::optional(std::to_string(i)) : std::nullopt);
      const std::string prefix = kPrefixes[random() % std::size(kPrefixes)];
      const uint64_t at = 1 + random() % cache_->revision();
      std::string expected = std::to_string(at) + ":";
      const auto range = Await(*runtime_, engine_->Range("", "", at, 0)).value();
      for (const store::Record& record : range.records) {
        if (!Under(record.key(), prefix)) continue;
        expected += " " + std::string(record.key()) + "=" + std::string(record.text()) + "@" + std::to_string(record.revision());
      }
      ASSERT_EQ(ListAt(prefix, at), expected)
          << "'" << prefix << "' at " << at << ", window from " << cache_->oldest_revision();
      // All pages together are the list.
      std::string paged = std::to_string(at) + ":";
      Page page{.limit = 2};
      for (bool more = true; more;) {
        const Snapshot part = Await(*runtime_, cache_->ListAt(prefix, at, page)).value();
        for (const EntryPtr& entry : part.entries) paged += " " + Show(*entry);
        more = part.remaining > 0;
        if (more) page.start = std::string(part.entries.back()->key()) + '\0';
      }
      ASSERT_EQ(paged, expected);
    }
  }
}

}  // namespace
}  // namespace homeostat::cache
