// Every engine against the simplest store there is, with actions drawn from a seed.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "store/engine.h"
#include "store/internal/testing.h"

namespace homeostat::store {
namespace {

using internal::Await;

// A store that is nothing but a list of all writes.
class Model {
 public:
  uint64_t revision() const { return events_.empty() ? 1 : events_.back().revision; }
  const Record* At(const std::string& key, uint64_t revision) const {
    const Record* record = nullptr;
    for (const Event& event : events_) {
      if (event.revision > revision) break;
      if (event.record.key() == key) record = event.deleted ? nullptr : &event.record;
    }
    return record;
  }
  bool Commit(const Write& write) {
    const Record* standing = At(write.key, revision());
    const bool holds = write.expectation.kind == Expectation::Kind::kAnything ||
                       (write.expectation.kind == Expectation::Kind::kAbsent && !standing) ||
                       (write.expectation.kind == Expectation::Kind::kRevision && standing &&
                        standing->revision() == write.expectation.revision);
    if (!holds || (!write.value && !standing)) return false;
    Event event{.revision = revision() + 1, .deleted = !write.value};
    if (standing) event.previous = *standing;
    event.record = Record::Make(write.key, write.value ? write.value->view() : standing->text(),
                                standing ? standing->create_revision() : event.revision, event.revision);
    events_.push_back(event);
    return true;
  }
  // What is kept of a key's events, or of all with "".
  std::vector<Event> Kept(const std::string& key, uint64_t compacted) const {
    std::vector<Event> kept;
    for (Event event : events_) {
      if (!key.empty() && event.record.key() != key) continue;
      if (!IsKept(event.revision, std::string(event.record.key()), event.deleted, compacted)) continue;
      if (event.previous && !IsKept(event.previous->revision(), std::string(event.record.key()), false, compacted))
        event.previous.reset();
      kept.push_back(event);
    }
    return kept;
  }

 private:
  bool IsKept(uint64_t revision, const std::string& key, bool deleted, uint64_t compacted) const {
    if (revision > compacted) return true;
    const Record* then = At(key, compacted);
    return !deleted && then && then->revision() == revision;
  }
  std::vector<Event> events_;
};

// Draws what is done to both.
class Player {
 public:
  explicit Player(uint64_t seed) : random_(seed) {}
  uint64_t Draw(uint64_t below) { return random_() % below; }
  uint64_t DrawRevision(uint64_t compacted) { return compacted + Draw(model.revision() - compacted + 1); }
  // All there are, in order.
  static const std::vector<std::string>& Keys() {
    static const std::vector<std::string> keys = [] {
      std::vector<std::string> all;
      for (int i = 0; i < 10; ++i)
        all.push_back("/registry/things/" + std::to_string(i / 5) + "/" + std::to_string(i % 5));
      return all;
    }();
    return keys;
  }
  std::string Key() { return Keys()[Draw(Keys().size())]; }
  Write NextWrite() {
    Write write;
    write.key = Key();
    if (Draw(4) != 0) write.value = Bytes("value " + std::to_string(random_() % 1'000'000));
    const Record* standing = model.At(write.key, model.revision());
    switch (Draw(4)) {
      case 0:
        write.expectation = Expectation::Absent();
        break;
      case 1:
        write.expectation = Expectation::At(standing ? standing->revision() : Draw(10));
        break;
      case 2:
        write.expectation = Expectation::At(Draw(model.revision() + 2));
        break;
      default:
        break;
    }
    return write;
  }
  Model model;

 private:
  std::mt19937_64 random_;
};

class EngineModelTest : public internal::EngineFixture {
 protected:
  void Step(Player& player) {
    const uint64_t action = player.Draw(100);
    if (action < 70) {
      CommitToBoth(player);
    } else if (action < 82) {
      CompareRange(player);
    } else if (action < 91) {
      const std::string key = player.Key();
      ASSERT_EQ(History(key), Show(player.model.Kept(key, engine_->compacted_revision()))) << key;
    } else if (action < 95) {
      CompareEvents(player);
    } else if (action < 98) {
      const uint64_t to = player.DrawRevision(engine_->compacted_revision());
      ASSERT_TRUE(Await(*runtime_, engine_->Compact(to)));
      ASSERT_EQ(engine_->compacted_revision(), to);
    } else if (durable()) {
      const uint64_t compacted = engine_->compacted_revision();
      Restart();
      ASSERT_EQ(engine_->revision(), player.model.revision());
      ASSERT_EQ(engine_->compacted_revision(), compacted);
    }
  }

  void CommitToBoth(Player& player) {
    Write write = player.NextWrite();
    const bool committed = player.model.Commit(write);
    const CommitOutcome outcome = Commit(write);
    ASSERT_EQ(outcome.committed, committed);
    ASSERT_EQ(outcome.revision, player.model.revision());
  }

  void CompareRange(Player& player) {
    const uint64_t compacted = engine_->compacted_revision(), at = player.DrawRevision(compacted);
    std::string expected;
    for (const std::string& key : Player::Keys()) {
      if (const Record* record = player.model.At(key, at)) expected += (expected.empty() ? "" : " ") + Show(*record);
    }
    ASSERT_EQ(Show(Range("/registry/", "/registry0", at)), expected) << "at " << at;
    ASSERT_EQ(Show(Range("", "", compacted - 1)), compacted > 1 ? "Expired" : Show(Range("", ""))) << compacted;
  }

  void CompareEvents(Player& player) {
    const uint64_t compacted = engine_->compacted_revision();
    auto expected = player.model.Kept("", compacted);
    std::erase_if(expected, [&](const Event& event) { return event.revision <= compacted; });
    ASSERT_EQ(Show(Await(*runtime_, engine_->EventsSince("", compacted)).value()), Show(expected));
  }
};

TEST_P(EngineModelTest, AgreesWithANaiveModel) {
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Player player(seed);
    engine_.reset();
    std::filesystem::remove_all(folder_.data());
    Start();
    for (int step = 0; step < 1500 && !HasFailure(); ++step) Step(player);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineModelTest, internal::EveryEngine(), internal::EngineName);

}  // namespace
}  // namespace homeostat::store
