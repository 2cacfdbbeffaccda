#include "homeostat/object/arena.h"

#include <algorithm>

namespace homeostat::object {
namespace {

constexpr size_t kFirstBlock = 2048;
// Up to this size a thread keeps freed blocks at hand, still in the processor's cache: most requests need no more than a few.
constexpr size_t kUsualBlock = 28 * 1024;
constexpr size_t kLargestBlock = 256 * 1024;

}  // namespace

void* Arena::AllocateSlow(size_t bytes, size_t alignment) {
  // new char[] aligns for every fundamental type; only stricter demands need room to shift.
  size_t slack = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? alignment : 0;
  size_t block = std::clamp(capacity_, kFirstBlock, capacity_ < kLargestBlock ? kUsualBlock : kLargestBlock);
  bool own_block = bytes + slack > block / 2;
  size_t size = own_block ? bytes + slack : block;
  blocks_.push_back(std::unique_ptr<char[]>(new char[size]));
  capacity_ += size;
  char* start = blocks_.back().get();
  char* result = start + ((alignment - reinterpret_cast<uintptr_t>(start)) & (alignment - 1));
  // A large request leaves the block in use as it is: what is left of it still serves small ones.
  if (!own_block) {
    next_ = result + bytes;
    left_ = size - static_cast<size_t>(next_ - start);
  }
  return result;
}

void Arena::Reserve(size_t bytes) {
  if (bytes <= left_) return;
  blocks_.push_back(std::unique_ptr<char[]>(new char[bytes]));
  capacity_ += bytes;
  next_ = blocks_.back().get();
  left_ = bytes;
}

}  // namespace homeostat::object
