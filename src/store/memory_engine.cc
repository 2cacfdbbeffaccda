#include "store/internal/log_engine.h"
#include "store/internal/memory_log.h"

namespace homeostat::store {

std::unique_ptr<Engine> MakeMemoryEngine(Runtime& runtime) {
  return internal::MakeLogEngine(runtime, internal::MakeMemoryLog());
}

}  // namespace homeostat::store
