// The order of writes: expectations are checked and revisions given here, and nowhere else.
#pragma once

#include <span>
#include <vector>

#include "store/internal/log.h"

namespace homeostat::store::internal {

struct OrderedGroup {
  std::vector<Result<CommitOutcome>> outcomes;  // one for each write given, in that order
  std::vector<Event> events;                    // of those that commit, by revision
  LogBatch batch;
  uint64_t revision = 0;  // the store's, once the batch is applied
};

// Orders the writes one after another, each seeing those before it in the group. Pure: reads the view, changes nothing.
// A read that fails fails only the write that needed it. `notes`: whether the batch's records carry notes.
OrderedGroup OrderGroup(LogView& view, uint64_t revision, std::span<Write> writes, bool notes);

// A step of compaction from the revision compacted so far up to another: which records and index entries go. It must be
// applied before any further write is ordered.
Result<LogBatch> PlanCompaction(LogView& view, uint64_t compacted, uint64_t upto);

}  // namespace homeostat::store::internal
