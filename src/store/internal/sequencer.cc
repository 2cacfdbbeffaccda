#include "store/internal/sequencer.h"

#include <unordered_map>

namespace homeostat::store::internal {
namespace {

// The state of a key, or of none.
using Standing = std::optional<LogRecord>;

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
  Ordering(LogView& view, uint64_t revision) : view_(view) { group_.revision = revision; }

  Result<CommitOutcome> Add(const Write& write) {
    TRY_ASSIGN(Standing standing, StandingOf(write.key));
    const bool nothing_to_delete = !write.value && !Live(standing);
    if (!Holds(write.expectation, standing) || nothing_to_delete) {
      CommitOutcome refused{.revision = group_.revision};
      if (Live(standing)) refused.current = standing->ToRecord();
      return refused;
    }
    LogRecord record;
    record.revision = ++group_.revision;
    record.create_revision = Live(standing) ? standing->create_revision : record.revision;
    record.previous_revision = standing ? standing->revision : 0;
    record.deleted = !write.value;
    record.key = write.key;
    if (write.value) record.value = *write.value;
    record.info = write.info;

    group_.events.push_back(MakeEvent(record, standing));
    pending_[record.key] = group_.batch.records.size();
    group_.batch.records.push_back(std::move(record));
    return CommitOutcome{.committed = true, .revision = group_.revision};
  }

  OrderedGroup Take() { return std::move(group_); }

 private:
  Result<Standing> StandingOf(const std::string& key) {
    if (auto found = pending_.find(key); found != pending_.end()) return group_.batch.records[found->second];
    TRY_ASSIGN(auto entry, view_.Find(key));
    if (!entry) return Standing();
    if (entry->deleted) return LogRecord{.revision = entry->revision, .deleted = true, .key = key};
    TRY_ASSIGN(auto record, view_.Load(entry->revision));
    if (!record) return Fail(MissingRevisionError(entry->revision));
    return record;
  }

  static Event MakeEvent(const LogRecord& record, const Standing& standing) {
    Event event{
        .revision = record.revision, .deleted = record.deleted, .record = record.ToRecord(), .info = record.info};
    if (Live(standing)) event.previous = standing->ToRecord();
    if (event.deleted) event.record.value = standing->value;
    return event;
  }

  LogView& view_;
  OrderedGroup group_;
  std::unordered_map<std::string, size_t> pending_;  // key → its newest record in the batch
};

}  // namespace

Status MissingRevisionError(uint64_t revision) {
  return SystemError("the store is damaged: revision " + std::to_string(revision) + " is missing from the log");
}

OrderedGroup OrderGroup(LogView& view, uint64_t revision, std::span<const Write> writes) {
  Ordering ordering(view, revision);
  std::vector<Result<CommitOutcome>> outcomes;
  outcomes.reserve(writes.size());
  for (const Write& write : writes) outcomes.push_back(ordering.Add(write));
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
    batch.dropped.push_back(record.revision);
    TRY_ASSIGN(auto entry, view.Find(record.key));
    if (entry && entry->revision == record.revision) batch.forgotten.push_back(record.key);
    return true;
  }));
  return batch;
}

}  // namespace homeostat::store::internal
