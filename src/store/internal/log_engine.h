// The engine over a LogStore: gathers writes into groups, publishes them in order, answers.
//
// States: idle → (a write or compaction comes) → busy: one group or one compaction step is being ordered and made
// durable, off the loop if the store blocks, while the next group gathers → published → idle or the next one.
// There is never more than one under way, so ordering always sees everything that was ordered before.
#pragma once

#include <memory>

#include "store/internal/log.h"

namespace homeostat::store::internal {

std::unique_ptr<Engine> MakeLogEngine(Runtime& runtime, std::unique_ptr<LogStore> log);

}  // namespace homeostat::store::internal
