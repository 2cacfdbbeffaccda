#include "store/internal/reader.h"

#include <algorithm>

namespace homeostat::store::internal {
namespace {

// What stood at the key at that revision, walking back from its newest write. A state that a compaction has dropped can
// only be a deletion: live ones are kept for as long as they can be asked for.
Result<std::optional<LogRecord>> StateAt(LogView& view, IndexEntry newest, uint64_t revision, uint64_t compacted) {
  if (newest.deleted && newest.revision <= revision) return std::nullopt;
  uint64_t at = newest.revision;
  while (at != 0) {
    TRY_ASSIGN(auto record, view.Load(at, Parts::kState));
    if (!record) {
      if (at > compacted) return Fail(MissingRevisionError(at));
      return std::nullopt;
    }
    if (at <= revision) {
      if (record->deleted) return std::nullopt;
      return record;
    }
    at = record->previous_revision;
  }
  return std::nullopt;
}

// The event of a record; `previous` is the write before it, if that is kept.
Event ToEvent(const LogRecord& record, const std::optional<LogRecord>& previous) {
  Event event{.revision = record.record.revision(), .deleted = record.deleted, .record = record.record, .info = record.info};
  if (previous && !previous->deleted) {
    event.previous = previous->record;
    if (event.deleted) event.record = previous->record.EndedAt(event.revision);
  }
  return event;
}

}  // namespace

Result<RangeResult> ReadRange(LogView& view, std::string_view start, std::string_view end, uint64_t revision,
                              size_t limit) {
  TRY_ASSIGN(const uint64_t compacted, view.CompactedRevision());
  if (revision < compacted) return Fail(ExpiredError("The resourceVersion for the provided list is too old."));
  RangeResult result{.revision = revision};
  TRY(view.ScanIndex(start, end, [&](std::string_view, IndexEntry entry) -> Result<bool> {
    TRY_ASSIGN(auto state, StateAt(view, entry, revision, compacted));
    if (!state) return true;
    if (limit != 0 && result.records.size() == limit) {
      result.more = true;
      return false;
    }
    result.records.push_back(std::move(state->record));
    return true;
  }));
  return result;
}

Result<std::vector<Event>> ReadHistory(LogView& view, std::string_view key, uint64_t published) {
  std::vector<Event> events;
  TRY_ASSIGN(auto entry, view.Find(key));
  if (!entry) return events;
  TRY_ASSIGN(auto record, view.Load(entry->revision, Parts::kAll));
  if (!record) return Fail(MissingRevisionError(entry->revision));
  while (record) {
    std::optional<LogRecord> previous;
    if (record->previous_revision != 0) {
      TRY_ASSIGN(previous, view.Load(record->previous_revision, Parts::kAll));
    }
    if (record->record.revision() <= published) events.push_back(ToEvent(*record, previous));
    record = std::move(previous);
  }
  std::reverse(events.begin(), events.end());
  return events;
}

Result<std::vector<Event>> ReadEvents(LogView& view, std::string_view prefix, uint64_t revision, uint64_t published) {
  TRY_ASSIGN(const uint64_t compacted, view.CompactedRevision());
  if (revision < compacted) return Fail(ExpiredError("The resourceVersion for the provided watch is too old."));
  std::vector<Event> events;
  uint64_t expected = revision;
  TRY(view.ScanLog(revision + 1, published, [&](const LogRecord& record) -> Result<bool> {
    if (record.record.revision() != ++expected) return Fail(MissingRevisionError(expected));
    if (!record.record.key().starts_with(prefix)) return true;
    std::optional<LogRecord> previous;
    if (record.previous_revision != 0) {
      TRY_ASSIGN(previous, view.Load(record.previous_revision, Parts::kState));
    }
    events.push_back(ToEvent(record, previous));
    return true;
  }));
  if (expected < published) return Fail(MissingRevisionError(expected + 1));
  return events;
}

}  // namespace homeostat::store::internal
