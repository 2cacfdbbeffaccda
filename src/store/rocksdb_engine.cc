#include "store/internal/log_engine.h"
#include "store/internal/rocksdb_log.h"

namespace homeostat::store {

std::unique_ptr<Engine> MakeRocksDbEngine(Runtime& runtime, RocksDbOptions options) {
  return internal::MakeLogEngine(runtime, internal::MakeRocksDbLog(std::move(options)));
}

}  // namespace homeostat::store
