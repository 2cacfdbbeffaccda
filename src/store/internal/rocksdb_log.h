// The durable log: records and index in RocksDB, the mark of acknowledged revisions beside it.
//
// Open walks the part of the log that was not compacted: each revision must be there, its chain must follow from the
// one before, and the log must reach, with the same chain, the revision that the mark says was acknowledged. Below the
// compacted revision the log has holes by design; there RocksDB's own block checksums guard what is read.
#pragma once

#include <memory>

#include "store/internal/log.h"

namespace homeostat::store::internal {

std::unique_ptr<LogStore> MakeRocksDbLog(RocksDbOptions options);

}  // namespace homeostat::store::internal
