// Reading states and events, now and in the past, from a log view. Pure; `published` is the newest revision that may be
// seen, since a log may already hold more than was published.
#pragma once

#include <string_view>
#include <vector>

#include "store/internal/log.h"

namespace homeostat::store::internal {

// The records of [start, end) at that revision, which is at most the published one.
Result<RangeResult> ReadRange(LogView& view, std::string_view start, std::string_view end, uint64_t revision,
                              size_t limit);

// Every kept write of the key up to `published`, oldest first.
Result<std::vector<Event>> ReadHistory(LogView& view, std::string_view key, uint64_t published);

// Every write above `revision`, up to `published`, of the keys with that prefix.
Result<std::vector<Event>> ReadEvents(LogView& view, std::string_view prefix, uint64_t revision, uint64_t published);

}  // namespace homeostat::store::internal
