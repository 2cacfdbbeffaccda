// The suite that every engine passes.
#include "store/engine.h"

#include <gtest/gtest.h>

#include "store/internal/testing.h"

namespace homeostat::store {
namespace {

using internal::Await;
using internal::Put;
using internal::Remove;

class EngineTest : public internal::EngineFixture {};

using Texts = std::vector<std::string>;

TEST_P(EngineTest, AnEmptyStoreIsAtRevisionOne) {
  EXPECT_EQ(engine_->revision(), 1u);
  EXPECT_EQ(engine_->compacted_revision(), 1u);
  auto range = Range("", "");
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->records.empty());
  EXPECT_EQ(range->revision, 1u);
}

TEST_P(EngineTest, WritesGetRevisionsAndAreHeard) {
  EXPECT_EQ(Commit(Put("/a", "1")).revision, 2u);
  EXPECT_EQ(Commit(Put("/b", "1")).revision, 3u);
  EXPECT_EQ(Commit(Put("/a", "2")).revision, 4u);
  EXPECT_EQ(Commit(Remove("/a")).revision, 5u);
  EXPECT_EQ(Commit(Put("/a", "3")).revision, 6u);
  EXPECT_EQ(engine_->revision(), 6u);
  EXPECT_EQ(Show(heard_),
            (Texts{"2+/a=1@2/2", "3+/b=1@3/3", "4+/a=2@4/2</a=1@2/2", "5-/a=2@5/2</a=2@4/2", "6+/a=3@6/6"}));
  EXPECT_EQ(Show(Range("", "")), "/a=3@6/6 /b=1@3/3");
}

TEST_P(EngineTest, ExpectationsAreChecked) {
  const uint64_t standing = Commit(Put("/there", "x")).revision;
  const struct {
    Write write;
    bool committed;
    const char* current;
  } cases[] = {
      {Put("/there", "y", Expectation::Absent()), false, "/there=x@2/2"},
      {Put("/there", "y", Expectation::At(standing + 1)), false, "/there=x@2/2"},
      {Put("/there", "y", Expectation::At(1)), false, "/there=x@2/2"},
      {Remove("/there", Expectation::At(standing - 1)), false, "/there=x@2/2"},
      {Remove("/there", Expectation::Absent()), false, "/there=x@2/2"},
      {Put("/new", "y", Expectation::At(standing)), false, ""},
      {Remove("/new"), false, ""},
      {Remove("/new", Expectation::Absent()), false, ""},
      {Put("/new", "y", Expectation::Absent()), true, ""},
      {Put("/there", "y", Expectation::At(standing)), true, ""},
      {Remove("/new", Expectation::At(3)), true, ""},
      {Put("/new", "again", Expectation::Absent()), true, ""},
      {Remove("/new", Expectation::At(3)), false, "/new=again@6/6"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.write.key + " " + std::to_string(static_cast<int>(test.write.expectation.kind)) + " " +
                 std::to_string(test.write.expectation.revision));
    const uint64_t before = engine_->revision();
    const CommitOutcome outcome = Commit(test.write);
    EXPECT_EQ(outcome.committed, test.committed);
    EXPECT_EQ(outcome.revision, before + (test.committed ? 1 : 0));
    EXPECT_EQ(outcome.current ? Show(*outcome.current) : "", test.current);
    EXPECT_EQ(engine_->revision(), outcome.revision);
  }
}

Task<void> CommitAndNote(Engine* engine, Write write, std::vector<CommitOutcome>* outcomes, std::vector<Event>* heard,
                         bool* heard_first) {
  auto committing = engine->Commit(std::move(write));
  auto outcome = co_await committing;
  if (outcome->committed && (heard->empty() || heard->back().revision < outcome->revision)) *heard_first = false;
  outcomes->push_back(*outcome);
}

TEST_P(EngineTest, ManyAtOnceAreOrderedAndHeardBeforeTheyAnswer) {
  std::vector<CommitOutcome> outcomes;
  bool heard_first = true;
  TaskGroup group(*runtime_);
  for (int i = 0; i < 3000; ++i) {
    group.Spawn(CommitAndNote(engine_.get(), Put("/k" + std::to_string(i % 20), std::to_string(i)), &outcomes, &heard_,
                              &heard_first));
  }
  ASSERT_TRUE(runtime_->RunUntil([&] { return outcomes.size() == 3000; }, std::chrono::hours(1)));
  EXPECT_TRUE(heard_first);
  std::set<uint64_t> revisions;
  for (const CommitOutcome& outcome : outcomes) revisions.insert(outcome.revision);
  EXPECT_EQ(revisions.size(), 3000u);
  ASSERT_EQ(heard_.size(), 3000u);
  std::map<std::string, uint64_t> newest;
  for (size_t i = 0; i < heard_.size(); ++i) {
    EXPECT_EQ(heard_[i].revision, i + 2);
    const uint64_t before = std::exchange(newest[std::string(heard_[i].record.key())], heard_[i].revision);
    EXPECT_EQ(heard_[i].previous ? heard_[i].previous->revision() : 0, before);
  }
}

TEST_P(EngineTest, OfManyWithOneExpectationOneWins) {
  const uint64_t base = Commit(Put("/k", "0")).revision;
  std::vector<CommitOutcome> outcomes;
  bool heard_first = true;
  TaskGroup group(*runtime_);
  for (int i = 0; i < 50; ++i) {
    group.Spawn(CommitAndNote(engine_.get(), Put("/k", std::to_string(i), Expectation::At(base)), &outcomes, &heard_,
                              &heard_first));
    group.Spawn(CommitAndNote(engine_.get(), Put("/new", std::to_string(i), Expectation::Absent()), &outcomes, &heard_,
                              &heard_first));
  }
  ASSERT_TRUE(runtime_->RunUntil([&] { return outcomes.size() == 100; }, std::chrono::hours(1)));
  EXPECT_EQ(std::count_if(outcomes.begin(), outcomes.end(), [](const auto& outcome) { return outcome.committed; }), 2);
  EXPECT_EQ(engine_->revision(), base + 2);
  for (const CommitOutcome& outcome : outcomes) {
    EXPECT_NE(outcome.committed, outcome.current.has_value());
  }
}

TEST_P(EngineTest, ACommitWhoseTaskIsDroppedGoesThrough) {
  {
    std::vector<CommitOutcome> outcomes;
    bool heard_first = true;
    TaskGroup group(*runtime_);
    group.Spawn(CommitAndNote(engine_.get(), Put("/k", "dropped"), &outcomes, &heard_, &heard_first));
    runtime_->Step();  // it starts, and waits
  }
  EXPECT_EQ(Commit(Put("/other", "x")).revision, 3u);
  EXPECT_EQ(Show(Range("/k", "/l")), "/k=dropped@2/2");
}

TEST_P(EngineTest, RangeTakesBoundsLimitsAndRevisions) {
  for (const char* key : {"/a/1", "/a/2", "/b/1", "/b/2"}) Commit(Put(key, "v"));  // 2 … 5
  Commit(Put("/a/1", "w"));                                                        // 6
  Commit(Remove("/b/1"));                                                          // 7
  Commit(Put("/a/3", "x"));                                                        // 8
  const struct {
    const char *start, *end;
    uint64_t revision;
    size_t limit;
    const char* expected;
  } cases[] = {
      {"", "", 0, 0, "/a/1=w@6/2 /a/2=v@3/3 /a/3=x@8/8 /b/2=v@5/5"},
      {"/a/", "/a0", 0, 0, "/a/1=w@6/2 /a/2=v@3/3 /a/3=x@8/8"},
      {"/a/", "/a0", 0, 2, "/a/1=w@6/2 /a/2=v@3/3 …"},
      {"/a/", "/a0", 0, 3, "/a/1=w@6/2 /a/2=v@3/3 /a/3=x@8/8"},
      {"/a/2", "/b/2", 0, 0, "/a/2=v@3/3 /a/3=x@8/8"},
      {"/a/2", "", 5, 0, "/a/2=v@3/3 /b/1=v@4/4 /b/2=v@5/5"},
      {"", "", 5, 2, "/a/1=v@2/2 /a/2=v@3/3 …"},
      {"", "", 6, 0, "/a/1=w@6/2 /a/2=v@3/3 /b/1=v@4/4 /b/2=v@5/5"},
      {"", "", 7, 0, "/a/1=w@6/2 /a/2=v@3/3 /b/2=v@5/5"},
      {"", "", 1, 0, ""},
      {"/c", "", 0, 0, ""},
      {"", "", 9, 0, "Timeout"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(std::string(test.start) + " " + test.end + " " + std::to_string(test.revision));
    EXPECT_EQ(Show(Range(test.start, test.end, test.revision, test.limit)), test.expected);
  }
  auto future = Range("", "", 9);
  EXPECT_EQ(future.error().message(), "Timeout: Too large resource version: 9, current: 8");
  ASSERT_EQ(future.error().details().causes.size(), 1u);
  EXPECT_EQ(future.error().details().causes[0].reason, "ResourceVersionTooLarge");
}

TEST_P(EngineTest, HistoryKeepsWhoWroteWhat) {
  Write write = Put("/k", "1");
  write.info = {.user = "anna",
                .field_manager = "kubectl",
                .verb = "create",
                .subresource = "status",
                .audit_id = "7",
                .time = WallTime(std::chrono::seconds(1'700'000'000))};
  Commit(write);
  Commit(Put("/k", "2"));
  Commit(Remove("/k"));
  Commit(Put("/k", std::string("\0\xff", 2)));
  EXPECT_EQ(History("/k"), (Texts{"2+/k=1@2/2", "3+/k=2@3/2</k=1@2/2", "4-/k=2@4/2</k=2@3/2",
                                  "5+/k=" + std::string("\0\xff", 2) + "@5/5"}));
  EXPECT_TRUE(History("/none").empty());
  auto events = Await(*runtime_, engine_->History("/k")).value();
  EXPECT_EQ(events[0].info.user, "anna");
  EXPECT_EQ(events[0].info.field_manager, "kubectl");
  EXPECT_EQ(events[0].info.verb, "create");
  EXPECT_EQ(events[0].info.subresource, "status");
  EXPECT_EQ(events[0].info.audit_id, "7");
  EXPECT_EQ(events[0].info.time, WallTime(std::chrono::seconds(1'700'000'000)));
  EXPECT_EQ(events[1].info.time.time_since_epoch() > Duration::zero(), true) << "a missing time is filled in";
}

TEST_P(EngineTest, EventsSinceAnswersByPrefix) {
  Commit(Put("/a/1", "x"));  // 2
  Commit(Put("/b/1", "x"));  // 3
  Commit(Remove("/a/1"));    // 4
  auto since = [&](std::string prefix, uint64_t revision) {
    auto events = Await(*runtime_, engine_->EventsSince(std::move(prefix), revision));
    return events ? Show(*events) : Texts{events.error().reason()};
  };
  EXPECT_EQ(since("", 1), (Texts{"2+/a/1=x@2/2", "3+/b/1=x@3/3", "4-/a/1=x@4/2</a/1=x@2/2"}));
  EXPECT_EQ(since("/a/", 2), (Texts{"4-/a/1=x@4/2</a/1=x@2/2"}));
  EXPECT_EQ(since("/a/", 4), Texts{});
  EXPECT_EQ(since("/a/", 5), Texts{"Timeout"});
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(3)));
  EXPECT_EQ(since("/a/", 2), Texts{"Expired"});
  EXPECT_EQ(since("/a/", 3), (Texts{"4-/a/1=x@4/2</a/1=x@2/2"})) << "the last state of what was deleted later is kept";
}

TEST_P(EngineTest, CompactionDropsSupersededStatesOnly) {
  Commit(Put("/a", "1"));  // 2
  Commit(Put("/a", "2"));  // 3
  Commit(Put("/b", "1"));  // 4
  Commit(Remove("/b"));    // 5
  Commit(Put("/a", "3"));  // 6
  Commit(Put("/b", "2"));  // 7
  EXPECT_FALSE(Await(*runtime_, engine_->Compact(8)));
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(5)));
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(4))) << "already compacted: nothing to do";
  EXPECT_EQ(engine_->compacted_revision(), 5u);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Show(Range("", "", 4)), "Expired");
    EXPECT_EQ(Show(Range("", "", 5)), "/a=2@3/2");
    EXPECT_EQ(Show(Range("", "", 6)), "/a=3@6/2");
    EXPECT_EQ(Show(Range("", "")), "/a=3@6/2 /b=2@7/7");
    EXPECT_EQ(History("/a"), (Texts{"3+/a=2@3/2", "6+/a=3@6/2</a=2@3/2"}));
    EXPECT_EQ(History("/b"), (Texts{"7+/b=2@7/7"}));
    EXPECT_EQ(engine_->compacted_revision(), 5u);
    if (!durable()) break;
    Restart();
  }
}

TEST_P(EngineTest, RevisionsDoNotFallWhenTheNewestWriteIsACompactedDeletion) {
  Commit(Put("/a", "1"));
  Commit(Remove("/a"));
  ASSERT_TRUE(Await(*runtime_, engine_->Compact(3)));
  if (durable()) Restart();
  EXPECT_EQ(engine_->revision(), 3u);
  EXPECT_EQ(engine_->compacted_revision(), 3u);
  EXPECT_TRUE(History("/a").empty());
  EXPECT_EQ(Commit(Put("/a", "2", Expectation::Absent())).revision, 4u);
  if (durable()) Restart();
  EXPECT_EQ(Show(Range("", "")), "/a=2@4/4");
}

Task<void> CompactAndNote(Engine* engine, uint64_t revision, int* done) {
  auto compacting = engine->Compact(revision);
  auto compacted = co_await compacting;
  EXPECT_TRUE(compacted);
  ++*done;
}

TEST_P(EngineTest, CommitsGoOnDuringACompaction) {
  std::vector<CommitOutcome> outcomes;
  bool heard_first = true;
  int compacted = 0;
  TaskGroup group(*runtime_);
  for (int i = 0; i < 3000; ++i) {
    group.Spawn(CommitAndNote(engine_.get(), Put("/k" + std::to_string(i % 7), std::to_string(i)), &outcomes, &heard_,
                              &heard_first));
  }
  ASSERT_TRUE(runtime_->RunUntil([&] { return outcomes.size() == 3000; }, std::chrono::hours(1)));
  group.Spawn(CompactAndNote(engine_.get(), 1500, &compacted));
  group.Spawn(CompactAndNote(engine_.get(), 3001, &compacted));
  for (int i = 0; i < 100; ++i) {
    group.Spawn(
        CommitAndNote(engine_.get(), i % 2 ? Remove("/k1") : Put("/k1", "new"), &outcomes, &heard_, &heard_first));
  }
  ASSERT_TRUE(runtime_->RunUntil([&] { return outcomes.size() == 3100 && compacted == 2; }, std::chrono::hours(1)));
  EXPECT_EQ(engine_->compacted_revision(), 3001u);
  auto range = Range("", "", 3001);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->records.size(), 7u);
  const uint64_t newest = engine_->revision();
  if (durable()) Restart();
  EXPECT_EQ(engine_->revision(), newest);
  EXPECT_EQ(Range("", "", 3001)->records.size(), 7u);
}

TEST_P(EngineTest, AClosedEngineSaysSo) {
  Commit(Put("/a", "1"));
  Await(*runtime_, engine_->Close());
  EXPECT_EQ(Await(*runtime_, engine_->Commit(Put("/a", "2"))).error().message(), "the store is closed");
  EXPECT_EQ(Range("", "").error().message(), "the store is closed");
  EXPECT_EQ(Await(*runtime_, engine_->Compact(2)).error().message(), "the store is closed");
  EXPECT_EQ(Await(*runtime_, engine_->History("/a")).error().message(), "the store is closed");
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineTest, internal::EveryEngine(), internal::EngineName);

// Real threads under the same engine.
Task<void> WriteInTurn(Engine* engine, int writer, int count, std::vector<uint64_t>* revisions) {
  for (int i = 0; i < count; ++i) {
    auto committing = engine->Commit(Put("/w" + std::to_string(writer), std::to_string(i)));
    auto outcome = co_await committing;
    if (outcome && outcome->committed) revisions->push_back(outcome->revision);
  }
}
Task<void> WriteWithRealThreads(RealRuntime* runtime, Engine* engine, std::vector<uint64_t>* revisions, size_t* kept) {
  auto opening = engine->Open();
  auto opened = co_await opening;
  EXPECT_TRUE(opened);
  TaskGroup writers(*runtime);
  for (int writer = 0; writer < 20; ++writer) writers.Spawn(WriteInTurn(engine, writer, 50, revisions));
  int compacted = 0;
  while (writers.size() > 0) {
    writers.Spawn(CompactAndNote(engine, engine->revision(), &compacted));
    auto pause = Sleep(*runtime, std::chrono::milliseconds(2));
    co_await pause;
    auto reading = engine->Range("", "", 0, 0);
    auto range = co_await reading;
    EXPECT_TRUE(range);
  }
  auto reading = engine->Range("", "", 0, 0);
  auto range = co_await reading;
  *kept = range->records.size();
  auto closing = engine->Close();
  co_await closing;
  runtime->Stop();
}

TEST(EngineThreadsTest, WorksOnRealThreads) {
  internal::TemporaryFolder folder;
  auto runtime = RealRuntime::Make();
  auto engine = MakeRocksDbEngine(*runtime, {.directory = folder.data()});
  std::vector<uint64_t> heard, revisions;
  engine->SetObserver([&](const std::vector<Event>& events) {
    for (const Event& event : events) heard.push_back(event.revision);
  });
  size_t kept = 0;
  {
    TaskGroup group(*runtime);
    group.Spawn(WriteWithRealThreads(runtime.get(), engine.get(), &revisions, &kept));
    runtime->Run();
  }
  EXPECT_EQ(kept, 20u);
  EXPECT_EQ(revisions.size(), 1000u);
  ASSERT_EQ(heard.size(), 1000u);
  for (size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i], i + 2);
}

}  // namespace
}  // namespace homeostat::store
