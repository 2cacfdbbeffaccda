#include "store/internal/record_heap.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace homeostat::store::internal {
namespace {

constexpr size_t kStep = 64;
constexpr size_t kMost = 8192;          // larger ones come from operator new
constexpr size_t kChunk = 256 << 10;    // of which only what was used so far is resident
constexpr size_t kClasses = kMost / kStep;

// A free place.
struct Hole {
  Hole* next;
};

// Places of one size, behind this head; aligned to its own size, so that a place tells its chunk.
struct alignas(kStep) Chunk {
  Chunk *previous, *next;  // those of the class that have room
  Hole* holes;             // freed places
  uint32_t used;           // places taken
  uint32_t begun;          // places that were ever taken: behind them is untouched memory
};

class Heap {
 public:
  void* Allocate(size_t size_class) {
    std::lock_guard lock(mutex_);
    Chunk*& roomy = roomy_[size_class];
    if (roomy == nullptr) roomy = MakeChunk();
    Chunk& chunk = *roomy;
    void* place = chunk.holes;
    if (place != nullptr) {
      chunk.holes = chunk.holes->next;
    } else {
      place = reinterpret_cast<char*>(&chunk) + sizeof(Chunk) + SizeOf(size_class) * chunk.begun++;
    }
    if (++chunk.used == Places(size_class)) Unlink(chunk, roomy);
    return place;
  }

  void Free(void* place, size_t size_class) {
    std::lock_guard lock(mutex_);
    Chunk*& roomy = roomy_[size_class];
    Chunk& chunk = *reinterpret_cast<Chunk*>(reinterpret_cast<uintptr_t>(place) & ~(kChunk - 1));
    if (chunk.used == Places(size_class)) Link(chunk, roomy);
    chunk.holes = new (place) Hole{chunk.holes};
    if (--chunk.used != 0) return;
    Unlink(chunk, roomy);
    std::free(&chunk);
  }

 private:
  static size_t SizeOf(size_t size_class) { return (size_class + 1) * kStep; }
  static uint32_t Places(size_t size_class) { return static_cast<uint32_t>((kChunk - sizeof(Chunk)) / SizeOf(size_class)); }
  static Chunk* MakeChunk() {
    void* memory = std::aligned_alloc(kChunk, kChunk);
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Chunk{};
  }
  static void Link(Chunk& chunk, Chunk*& first) {
    chunk.previous = nullptr;
    chunk.next = first;
    if (first != nullptr) first->previous = &chunk;
    first = &chunk;
  }
  static void Unlink(Chunk& chunk, Chunk*& first) {
    (chunk.previous == nullptr ? first : chunk.previous->next) = chunk.next;
    if (chunk.next != nullptr) chunk.next->previous = chunk.previous;
    chunk.previous = chunk.next = nullptr;
  }

  std::mutex mutex_;
  std::array<Chunk*, kClasses> roomy_{};
};

// Never destroyed: records may outlive all else. It stays reachable through its places.
Heap& TheHeap() {
  static Heap* const heap = new Heap;
  return *heap;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kPlain = true;  // so that each block is watched
#else
constexpr bool kPlain = false;
#endif

}  // namespace

void* AllocateRecord(size_t size) {
  if (kPlain || size == 0 || size > kMost) return ::operator new(size);
  return TheHeap().Allocate((size - 1) / kStep);
}

void FreeRecord(void* place, size_t size) {
  if (kPlain || size == 0 || size > kMost) return ::operator delete(place);
  TheHeap().Free(place, (size - 1) / kStep);
}

}  // namespace homeostat::store::internal
