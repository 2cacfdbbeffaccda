#include "cache/cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "cache/internal/testing.h"

namespace homeostat::cache {
namespace {

using internal::Await;
using Texts = std::vector<std::string>;

class CacheTest : public internal::CacheFixture {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(CacheTest, PrefixesMeanWholeFoldersOrOneKey) {
  for (const char* key : {"/registry/pods/a/x", "/registry/pods/a/xy", "/registry/pods/ab/x", "/registry/podsets/a/x",
                          "/registry/pods"}) {
    Commit(key, "v");
  }
  const struct {
    const char* prefix;
    Texts keys;
  } cases[] = {
      {"/registry/pods/", {"/registry/pods/a/x", "/registry/pods/a/xy", "/registry/pods/ab/x"}},
      {"/registry/pods/a/", {"/registry/pods/a/x", "/registry/pods/a/xy"}},
      {"/registry/pods/a/x", {"/registry/pods/a/x"}},
      {"/registry/pods/a", {}},
      {"/registry/none/", {}},
      {"",
       {"/registry/pods", "/registry/pods/a/x", "/registry/pods/a/xy", "/registry/pods/ab/x", "/registry/podsets/a/x"}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.prefix);
    Texts keys;
    const Snapshot snapshot = cache_->List(test.prefix);
    for (const EntryPtr& entry : snapshot.entries) keys.emplace_back(entry->key());
    EXPECT_EQ(keys, test.keys);
    EXPECT_EQ(snapshot.revision, cache_->revision());
    EXPECT_EQ(cache_->Count(test.prefix), test.keys.size());
    // The same goes for watches, of the last five writes and of the next.
    auto watcher = cache_->Watch(test.prefix, cache_->revision() - 5);
    ASSERT_TRUE(watcher);
    EXPECT_EQ(Next(**watcher).size(), test.keys.size());
    auto later = cache_->Watch(test.prefix, cache_->revision());
    for (const char* key : {"/registry/pods/a/x", "/registry/pods/a/xy", "/registry/pods/ab/x", "/registry/podsets/a/x",
                            "/registry/pods"}) {
      Commit(key, "v");
    }
    EXPECT_EQ(Next(**later).size(), test.keys.size());
  }
}

TEST_F(CacheTest, PagesSayHowManyFollow) {
  for (const char* key : {"/registry/p/a", "/registry/p/b", "/registry/p/c", "/registry/p/d", "/registry/q/a"})
    Commit(key, "v");
  const struct {
    Page page;
    const char* expected;
  } cases[] = {
      {{.limit = 2}, "6: /registry/p/a=v@2 /registry/p/b=v@3 +2"},
      {{.start = std::string("/registry/p/b\0", 14), .limit = 2}, "6: /registry/p/c=v@4 /registry/p/d=v@5"},
      {{.start = "/registry/p/b", .limit = 1}, "6: /registry/p/b=v@3 +2"},
      {{.start = "/registry/p/d"}, "6: /registry/p/d=v@5"},
      {{.start = "/registry/p/e"}, "6:"},
      {{.start = "/registry/q/a"}, "6:"},
      {{.start = "/a", .limit = 4}, "6: /registry/p/a=v@2 /registry/p/b=v@3 /registry/p/c=v@4 /registry/p/d=v@5"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(Show(cache_->List("/registry/p/", test.page)), test.expected);
  }
  Commit("/registry/p/b", "w");
  Delete("/registry/p/c");
  for (const auto& test : cases) EXPECT_EQ(ListAt("/registry/p/", 6, test.page), test.expected) << "as it was";
}

TEST_F(CacheTest, CommitGivesTheEntryThatGoesWithIt) {
  const CommitResult created = Commit("/registry/p/a", "1", store::Expectation::Absent());
  EXPECT_TRUE(created.committed);
  EXPECT_EQ(Show(*created.entry), "/registry/p/a=1@2");
  EXPECT_EQ(created.entry, cache_->Get("/registry/p/a"));
  const CommitResult refused = Commit("/registry/p/a", "2", store::Expectation::At(7));
  EXPECT_FALSE(refused.committed);
  EXPECT_EQ(refused.entry, created.entry);
  EXPECT_EQ(refused.current->revision(), 2u);
  EXPECT_EQ(Commit("/registry/p/b", "2", store::Expectation::At(7)).entry, nullptr);
  const CommitResult deleted = Delete("/registry/p/a");
  EXPECT_TRUE(deleted.committed);
  EXPECT_EQ(Show(*deleted.entry), "/registry/p/a=1@3");
  EXPECT_EQ(deleted.entry->create_revision(), 2u);
  EXPECT_EQ(cache_->Get("/registry/p/a"), nullptr);
}

TEST_F(CacheTest, ObserversHearOfTheirPrefixAtOnce) {
  Texts heard;
  cache_->Observe("/registry/p/", [&](const WatchEvent& event) {
    // What is read meanwhile is as new as what is told.
    EXPECT_EQ(cache_->Get(event.key()), event.current);
    heard.push_back((event.current ? "+" : "-") + std::string(event.key()));
  });
  Commit("/registry/p/a", "1");
  Commit("/registry/q/a", "1");
  Delete("/registry/p/a");
  EXPECT_EQ(heard, (Texts{"+/registry/p/a", "-/registry/p/a"}));
}

Task<void> CommitAndShow(Cache* cache, std::string value, Texts* shown) {
  store::Write write{.key = "/registry/p/a"};
  if (!value.empty()) write.value = Bytes(value);
  auto committing = cache->Commit(std::move(write));
  auto result = co_await committing;
  EXPECT_EQ(result->entry->revision(), result->revision);
  shown->push_back(value + "=" + result->entry->stored().str());
}

TEST_F(CacheTest, EntriesOfOneGroupAreToldApart) {
  Commit("/registry/p/a", "0");
  Texts shown;
  TaskGroup group(*runtime_);
  for (int i = 0; i < 20; ++i) group.Spawn(CommitAndShow(cache_.get(), std::to_string(i), &shown));
  ASSERT_TRUE(runtime_->RunUntil([&] { return shown.size() == 20; }, std::chrono::hours(1)));
  for (const std::string& text : shown) {
    const size_t middle = text.find('=');
    EXPECT_EQ(text.substr(0, middle), text.substr(middle + 1));
  }
}

TEST_F(CacheTest, WaitForWaitsForARevision) {
  EXPECT_TRUE(Await(*runtime_, cache_->WaitFor(1, std::chrono::seconds(3))));
  std::optional<Result<void>> waited;
  TaskGroup group(*runtime_);
  group.Spawn(internal::KeepResult(cache_->WaitFor(3, std::chrono::seconds(3)), &waited));
  Commit("/registry/p/a", "1");
  runtime_->RunFor(std::chrono::seconds(1));
  EXPECT_FALSE(waited);
  Commit("/registry/p/a", "2");
  runtime_->RunFor(Duration(1));
  ASSERT_TRUE(waited);
  EXPECT_TRUE(*waited);

  const MonotonicTime before = runtime_->Now();
  auto late = Await(*runtime_, cache_->WaitFor(9, std::chrono::seconds(3)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message(), "Timeout: Too large resource version: 9, current: 3");
  EXPECT_EQ(late.error().details().causes.at(0).reason, "ResourceVersionTooLarge");
  EXPECT_EQ(runtime_->Now() - before, std::chrono::seconds(3));
}

TEST_F(CacheTest, ListAtComesFromTheWindowOrTheEngine) {
  Start({.history_events = 2});
  Commit("/registry/p/a", "1");  // 2
  Commit("/registry/p/b", "1");  // 3
  Delete("/registry/p/a");       // 4
  Commit("/registry/p/c", "1");  // 5
  Commit("/registry/p/a", "2");  // 6
  Commit("/registry/q/a", "1");  // 7
  EXPECT_GT(cache_->oldest_revision(), 3u);
  EXPECT_EQ(ListAt("/registry/p/", 1), "1:");
  EXPECT_EQ(ListAt("/registry/p/", 3), "3: /registry/p/a=1@2 /registry/p/b=1@3");
  EXPECT_EQ(ListAt("/registry/p/", 4), "4: /registry/p/b=1@3");
  EXPECT_EQ(ListAt("/registry/p/", 5), "5: /registry/p/b=1@3 /registry/p/c=1@5");
  EXPECT_EQ(ListAt("/registry/p/", 6), "6: /registry/p/a=2@6 /registry/p/b=1@3 /registry/p/c=1@5");
  EXPECT_EQ(ListAt("/registry/p/", 0), "7: /registry/p/a=2@6 /registry/p/b=1@3 /registry/p/c=1@5");
  EXPECT_EQ(ListAt("/registry/p/", 3, {.limit = 1}), "3: /registry/p/a=1@2 +1");
  EXPECT_EQ(ListAt("/registry/p/a", 3), "3: /registry/p/a=1@2");
  EXPECT_EQ(ListAt("/registry/p/", 8), "Timeout");
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(4)));
  EXPECT_EQ(ListAt("/registry/p/", 3), "Expired");
  EXPECT_EQ(ListAt("/registry/p/", 4), "4: /registry/p/b=1@3");
}

TEST_F(CacheTest, ListAtOfACompactedRevisionIsExpiredThoughTheWindowHasIt) {
  Commit("/registry/p/a", "1");  // 2
  Commit("/registry/p/b", "1");  // 3
  Commit("/registry/q/a", "1");  // 4
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(3)));
  EXPECT_LE(cache_->oldest_revision(), 2u);
  EXPECT_EQ(ListAt("/registry/p/", 2), "Expired");
  EXPECT_EQ(ListAt("/registry/p/", 3), "3: /registry/p/a=1@2 /registry/p/b=1@3");
}

TEST_F(CacheTest, StartLoadsWhatIsStored) {
  std::string folder = (std::filesystem::temp_directory_path() / "cache-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (int run = 0; run < 2; ++run) {
    auto engine = store::MakeRocksDbEngine(*runtime_, {.directory = folder});
    Cache cache(*runtime_, *engine);
    ASSERT_TRUE(Await(*runtime_, cache.Start()));
    if (run == 0) {
      std::vector<Task<Result<CommitResult>>> commits;
      int done = 0;
      TaskGroup group(*runtime_);
      for (int i = 0; i < 25'000; ++i) {
        group.Spawn([](Cache* cache, int number, int* done) -> Task<void> {
          auto committing = cache->Commit({.key = "/registry/p/" + std::to_string(number), .value = Bytes("v")});
          auto committed = co_await committing;
          EXPECT_TRUE(committed);
          ++*done;
        }(&cache, i, &done));
      }
      ASSERT_TRUE(runtime_->RunUntil([&] { return done == 25'000; }, std::chrono::hours(1)));
    } else {
      EXPECT_EQ(cache.Count(""), 25'000u) << "more than one page";
      EXPECT_EQ(cache.revision(), 25'001u);
      EXPECT_EQ(cache.oldest_revision(), 25'001u);
      EXPECT_FALSE(cache.Watch("", 25'000));
      EXPECT_TRUE(cache.Watch("", 25'001));
    }
  }
  std::filesystem::remove_all(folder);
}

// ------------------------------------------------------------------------------------------------ entries

TEST_F(CacheTest, TreesAreDecodedOnceAndShared) {
  const EntryPtr entry = Commit("/registry/p/a", "text").entry;
  EXPECT_EQ(decoded_, 0) << "nothing is decoded before it is asked for";
  auto first = entry->document(), second = cache_->Get("/registry/p/a")->document();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(decoded_, 1);
  EXPECT_EQ((*first)->root().Get("text").AsString(), "text");
  EXPECT_EQ((*first)->root().Get("revision").AsInt(), 2);
}

TEST_F(CacheTest, EncodingsAreMadeOncePerName) {
  const EntryPtr entry = Commit("/registry/p/a", "text").entry;
  int made = 0;
  auto make = [&made](const object::Value& root) -> Result<Bytes> {
    ++made;
    return Bytes("json:" + std::string(root.Get("text").AsString()));
  };
  auto first = entry->Encoding("json", make), second = entry->Encoding("json", make);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->view(), "json:text");
  EXPECT_EQ(first->data(), second->data());
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(entry->Encoding("yaml", make));
  EXPECT_EQ(made, 2);
  EXPECT_EQ(decoded_, 1);
  auto failed = entry->Encoding("bad", [](const object::Value&) -> Result<Bytes> { return Fail(SystemError("no")); });
  EXPECT_EQ(failed.error().message(), "no");
}

TEST_F(CacheTest, RecentTreesAreBounded) {
  Start({.recent_bytes = 50'000});
  for (int i = 0; i < 1000; ++i) Commit("/registry/p/" + std::to_string(i), std::string(100, 'x'));
  const EntryPtr held_entry = cache_->Get("/registry/p/0");
  const object::DocumentPtr held = *held_entry->document();
  std::weak_ptr<const object::Document> dropped = *cache_->Get("/registry/p/1")->document();
  for (const EntryPtr& entry : cache_->List("/registry/p/").entries) ASSERT_TRUE(entry->document());
  EXPECT_TRUE(dropped.expired()) << "what nobody holds goes";
  const int before = decoded_;
  EXPECT_EQ(*held_entry->document(), held) << "what someone holds is shared";
  EXPECT_EQ(*cache_->Get("/registry/p/999")->document(), *cache_->Get("/registry/p/999")->document());
  EXPECT_EQ(decoded_, before);
  EXPECT_TRUE(cache_->Get("/registry/p/1")->document());
  EXPECT_EQ(decoded_, before + 1);
}

TEST_F(CacheTest, ANewDecoderForgetsWhatTheOldOneMade) {
  const EntryPtr entry = Commit("/registry/p/a", "text").entry, other = Commit("/registry/q/a", "text").entry;
  auto make = [](const object::Value& root) -> Result<Bytes> { return Bytes(std::string(root.Get("by").AsString())); };
  EXPECT_EQ(entry->Encoding("by", make)->view(), "first");
  EXPECT_EQ(other->Encoding("by", make)->view(), "first");
  const object::DocumentPtr held = *entry->document();
  cache_->SetDecoder("/registry/p/", MakeDecoder("second"));
  EXPECT_EQ(entry->Encoding("by", make)->view(), "second");
  EXPECT_EQ((*entry->document())->root().Get("by").AsString(), "second");
  EXPECT_EQ(held->root().Get("by").AsString(), "first") << "what was handed out does not change";
  EXPECT_EQ(other->Encoding("by", make)->view(), "first");
}

TEST_F(CacheTest, WhatCannotBeDecodedSaysSo) {
  EXPECT_EQ(Commit("/elsewhere/a", "x").entry->document().error().message(),
            "Internal error occurred: nothing decodes the stored object /elsewhere/a");
  const EntryPtr broken = Commit("/registry/p/a", "broken").entry;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(broken->document().error().message(), "broken bytes");
  auto make = [](const object::Value&) -> Result<Bytes> { return Bytes("x"); };
  EXPECT_EQ(broken->Encoding("json", make).error().message(), "broken bytes");
}

TEST_F(CacheTest, TheWrittenTreeIsNotDecodedAgain) {
  auto watcher = cache_->Watch("/registry/p/", 1);
  uint64_t given = 0;
  const CommitResult result = Commit("/registry/p/a", "text", {}, [&given](uint64_t revision) {
    given = revision;
    return MakeDocument("writer", "text", revision);
  });
  EXPECT_EQ(given, result.revision);
  EXPECT_EQ((*result.entry->document())->root().Get("by").AsString(), "writer");
  EXPECT_EQ(decoded_, 0);
  // A write that is refused needs no tree.
  given = 0;
  Commit("/registry/p/a", "more", store::Expectation::Absent(), [&given](uint64_t revision) {
    given = revision;
    return MakeDocument("writer", "more", revision);
  });
  EXPECT_EQ(given, 0u);
}

// What nobody watches or has read of late does not take the place of what is read.
TEST_F(CacheTest, WrittenTreesAreKeptForThoseWhoAreThere) {
  auto make = [](uint64_t revision) { return MakeDocument("writer", "text", revision); };
  auto maker_of = [&](const EntryPtr& entry) { return std::string((*entry->document())->root().Get("by").AsString()); };
  const EntryPtr unwatched = Commit("/registry/p/a", "text", {}, make).entry;
  EXPECT_EQ(maker_of(unwatched), "first");
  EXPECT_EQ(decoded_, 1);
  // Decoded for this write's sake is not read before; answered with is.
  EXPECT_EQ(maker_of(Commit("/registry/p/a", "more", {}, make).entry), "first");
  const EntryPtr read = cache_->Get("/registry/p/a");
  ASSERT_TRUE(read->Encoding("json", [](const object::Value&) -> Result<Bytes> { return Bytes("x"); }));
  EXPECT_EQ(maker_of(Commit("/registry/p/a", "again", {}, make).entry), "writer");
  auto elsewhere = cache_->Watch("/registry/q/", 1);
  EXPECT_EQ(maker_of(Commit("/registry/p/b", "text", {}, make).entry), "first");
  auto watcher = cache_->Watch("/registry/p/", 1);
  EXPECT_EQ(maker_of(Commit("/registry/p/c", "text", {}, make).entry), "writer");
}

// A writer's tree lies among all that it needed on the way.
TEST_F(CacheTest, WhatIsKeptOfAWrittenTreeIsACopy) {
  auto watcher = cache_->Watch("/registry/p/", 1);
  std::weak_ptr<const object::Document> given;
  const EntryPtr entry = Commit("/registry/p/a", "text", {}, [&given](uint64_t revision) {
                           auto document = MakeDocument("writer", "text", revision);
                           given = document;
                           return document;
                         }).entry;
  EXPECT_TRUE(given.expired());
  EXPECT_EQ((*entry->document())->root().Get("text").AsString(), "text");
  EXPECT_EQ(decoded_, 0);
}

TEST_F(CacheTest, ATreeThatHoldsItsEntryEndsWithTheCache) {
  std::weak_ptr<const Entry> held;
  cache_->SetDecoder("/registry/q/", [&held](const Bytes&, uint64_t revision) -> Result<object::DocumentPtr> {
    auto document = std::make_shared<object::Document>();
    document->arena().Keep(held.lock());
    document->set_root(object::Value::Int(static_cast<int64_t>(revision)));
    return object::DocumentPtr(document);
  });
  held = Commit("/registry/q/a", "text").entry;
  EXPECT_TRUE(held.lock()->document());
  cache_.reset();
  EXPECT_TRUE(held.expired());
}

TEST_F(CacheTest, EntriesOutliveTheCache) {
  const EntryPtr entry = Commit("/registry/p/a", "text").entry;
  auto watcher = cache_->Watch("/registry/p/", 1);
  cache_.reset();
  EXPECT_EQ(entry->stored().view(), "text");
  EXPECT_FALSE(entry->document());
  EXPECT_EQ(Next(**watcher), Texts{"+/registry/p/a=text@2"});
  EXPECT_EQ(Next(**watcher), Texts{});
}

}  // namespace
}  // namespace homeostat::cache
