#include "store/internal/sequencer.h"

#include <unordered_map>

#include "store/internal/log_codec.h"

namespace homeostat::store::internal {
namespace {

// The state of a key, or of none.
struct State {
  Record record;
  uint64_t revision = 0;  // of the key's newest write
  bool deleted = false;
};
using Standing = std::optional<State>;

bool Live(const Standing& standing) { return standing && !standing->deleted; }

bool Holds(const Expectation& expectation, const Standing& standing) {
  switch (expectation.kind) {
    case Expectation::Kind::kAnything:
      return true;
    case Expectation::Kind::kAbsent:
      return !Live(standing);
    case Expectation::Kind::kRevision:
      return Live(standing) && standing->revision == expectation.revision;
  }
  return false;
}

// One group being ordered.
class Ordering {
 public:
  Ordering(LogView& view, uint64_t revision, bool notes) : view_(view), notes_(notes) { group_.revision = revision; }

  // Takes the write's info.
  Result<CommitOutcome> Add(Write& write) {
    TRY_ASSIGN(Standing standing, StandingOf(write.key));
    const bool nothing_to_delete = !write.value && !Live(standing);
    if (!Holds(write.expectation, standing) || nothing_to_delete) {
      CommitOutcome refused{.revision = group_.revision};
      if (Live(standing)) refused.current = standing->record;
      return refused;
    }
    const uint64_t revision = ++group_.revision;
    LogRecord record;
    record.previous_revision = standing ? standing->revision : 0;
    record.deleted = !write.value;
    record.info = std::move(write.info);
    record.record = Record::Make(write.key, write.value ? write.value->view() : std::string_view(),
                                 Live(standing) ? standing->record.create_revision() : revision, revision,
                                 notes_ ? EncodeNote(record) : std::string());

    group_.events.push_back(MakeEvent(record, standing, write.ticket));
    pending_[write.key] = group_.batch.records.size();
    group_.batch.records.push_back(std::move(record));
    return CommitOutcome{.committed = true, .revision = group_.revision};
  }

  OrderedGroup Take() { return std::move(group_); }

 private:
  Result<Standing> StandingOf(const std::string& key) {
    if (auto found = pending_.find(key); found != pending_.end()) {
      const LogRecord& newest = group_.batch.records[found->second];
      return State{newest.record, newest.record.revision(), newest.deleted};
    }
    TRY_ASSIGN(auto entry, view_.Find(key));
    if (!entry) return Standing();
    if (entry->deleted) return State{.revision = entry->revision, .deleted = true};
    TRY_ASSIGN(auto record, view_.Load(entry->revision, Parts::kState));
    if (!record) return Fail(MissingRevisionError(entry->revision));
    return State{std::move(record->record), entry->revision, false};
  }

  static Event MakeEvent(const LogRecord& record, const Standing& standing, uint64_t ticket) {
    Event event{.revision = record.record.revision(), .deleted = record.deleted, .info = record.info, .ticket = ticket};
    event.record = record.deleted ? standing->record.EndedAt(event.revision) : record.record;
    if (Live(standing)) event.previous = standing->record;
    return event;
  }

  LogView& view_;
  const bool notes_;
  OrderedGroup group_;
  std::unordered_map<std::string, size_t> pending_;  // key → its newest record in the batch
};

}  // namespace

Status MissingRevisionError(uint64_t revision) {
  return SystemError("the store is damaged: revision " + std::to_string(revision) + " is missing from the log");
}

OrderedGroup OrderGroup(LogView& view, uint64_t revision, std::span<Write> writes, bool notes) {
  Ordering ordering(view, revision, notes);
  std::vector<Result<CommitOutcome>> outcomes;
  outcomes.reserve(writes.size());
  for (Write& write : writes) outcomes.push_back(ordering.Add(write));
  OrderedGroup group = ordering.Take();
  group.outcomes = std::move(outcomes);
  return group;
}

Result<LogBatch> PlanCompaction(LogView& view, uint64_t compacted, uint64_t upto) {
  LogBatch batch;
  batch.compacted_revision = upto;
  TRY(view.ScanLog(compacted + 1, upto, [&](const LogRecord& record) -> Result<bool> {
    if (record.previous_revision != 0) batch.dropped.push_back(record.previous_revision);
    if (!record.deleted) return true;
    const uint64_t revision = record.record.revision();
    batch.dropped.push_back(revision);
    TRY_ASSIGN(auto entry, view.Find(record.record.key()));
    if (entry && entry->revision == revision) batch.forgotten.emplace_back(record.record.key());
    return true;
  }));
  return batch;
}

}  // namespace homeostat::store::internal
