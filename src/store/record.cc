#include "store/record.h"

#include <algorithm>

#include "store/internal/record_heap.h"

namespace homeostat::store {
namespace {

// Gives each object so many bytes more, behind it.
template <class T>
struct WithTail {
  using value_type = T;
  explicit WithTail(size_t the_tail) : tail(the_tail) {}
  template <class Other>
  WithTail(const WithTail<Other>& other) : tail(other.tail) {}  // NOLINT: what allocators must be able to do
  T* allocate(size_t count) { return static_cast<T*>(internal::AllocateRecord(count * sizeof(T) + tail)); }
  void deallocate(T* place, size_t count) { internal::FreeRecord(place, count * sizeof(T) + tail); }
  template <class Other>
  bool operator==(const WithTail<Other>& other) const { return tail == other.tail; }

  size_t tail;
};

// The reference counts and the tail's size, which stand before the block.
constexpr size_t kCounts = 24;

}  // namespace

Record Record::Make(std::string_view key, std::string_view value, uint64_t create_revision, uint64_t revision,
                    std::string_view note) {
  const size_t tail = key.size() + note.size() + value.size();
  auto block = std::allocate_shared<Block>(WithTail<Block>(tail), Block{revision, create_revision, static_cast<uint32_t>(key.size()),
                                                                        static_cast<uint32_t>(note.size()),
                                                                        static_cast<uint32_t>(value.size()), false});
  char* text = const_cast<char*>(block->texts());
  for (std::string_view part : {key, note, value}) text = std::copy(part.begin(), part.end(), text);
  Record record;
  record.block_ = std::move(block);
  return record;
}

Record Record::EndedAt(uint64_t revision) const {
  auto ending = std::make_shared<Ending>();
  ending->revision = revision;
  ending->create_revision = create_revision();
  ending->key_size = ending->note_size = ending->value_size = 0;
  ending->ends = true;
  ending->ended = block_ != nullptr && block_->ends ? static_cast<const Ending&>(*block_).ended : block_;
  if (!ending->ended) ending->ended = Make("", "", 0, 0).block_;
  Record record;
  record.block_ = std::move(ending);
  return record;
}

size_t Record::memory() const {
  if (!block_) return 0;
  if (block_->ends) return sizeof(Ending) + kCounts;
  return sizeof(Block) + kCounts + block_->key_size + block_->note_size + block_->value_size;
}

}  // namespace homeostat::store
