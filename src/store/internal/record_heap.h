// Memory of records, which live long, apart from everything else: among short-lived blocks of about the same size each would keep
// a page of holes. Sizes are rounded up to 64 bytes, where malloc's would be to a quarter of them.
#pragma once

#include <cstddef>

namespace homeostat::store::internal {

// Aligned to 16 bytes. Throws std::bad_alloc when there is no memory, as operator new. Any thread.
void* AllocateRecord(size_t size);
// `size`: what it was asked for with.
void FreeRecord(void* place, size_t size);

}  // namespace homeostat::store::internal
