// Arena: the memory of one tree of values. Memory is taken in blocks and given back all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace homeostat::object {

// Not copyable, not movable, not safe for use by two threads at once while it is written; frozen, it is shared freely
// (see Document). Objects placed here are never destroyed, so they must be trivially destructible.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* Allocate(size_t bytes, size_t alignment) {
    size_t padding = (alignment - reinterpret_cast<uintptr_t>(next_)) & (alignment - 1);
    if (bytes + padding > left_) return AllocateSlow(bytes, alignment);
    char* result = next_ + padding;
    next_ += padding + bytes;
    left_ -= padding + bytes;
    return result;
  }

  template <class T>
  T* AllocateArray(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(Allocate(sizeof(T) * count, alignof(T)));
  }

  // A copy of the text that lives as long as the arena.
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  // Keeps something alive as long as the arena, e.g. the bytes or the document that values here point into.
  void Keep(std::shared_ptr<const void> other) { kept_.push_back(std::move(other)); }

  // Makes sure that the next `bytes` bytes come from one block, for those who know how much they will need.
  void Reserve(size_t bytes);

  // Bytes taken from the system so far.
  size_t capacity() const { return capacity_; }

 private:
  void* AllocateSlow(size_t bytes, size_t alignment);

  char* next_ = nullptr;
  size_t left_ = 0;
  size_t capacity_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace homeostat::object
