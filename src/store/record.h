// Record: one state of a key. All of it lies in one block of just its size, which everybody who holds the state shares: what
// an engine keeps, what the cache keeps and what a request reads are the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "homeostat/base/bytes.h"

namespace homeostat::store {

// Two words. Safe to read and copy from any thread. One that was made by default has empty texts and revision 0.
class Record {
 public:
  Record() = default;
  // Copies the texts. `note` is what an engine keeps with the state; nobody else looks at it.
  static Record Make(std::string_view key, std::string_view value, uint64_t create_revision, uint64_t revision,
                     std::string_view note = {});
  // The same state under a later revision, which is the one that ended it. Shares the block.
  Record EndedAt(uint64_t revision) const;

  std::string_view key() const { return block_ ? std::string_view(Texts().texts(), Texts().key_size) : std::string_view(); }
  std::string_view note() const {
    return block_ ? std::string_view(Texts().texts() + Texts().key_size, Texts().note_size) : std::string_view();
  }
  std::string_view text() const {
    return block_ ? std::string_view(Texts().texts() + Texts().key_size + Texts().note_size, Texts().value_size)
                  : std::string_view();
  }
  // The value, which keeps the block.
  Bytes value() const { return Bytes(block_, text()); }
  uint64_t create_revision() const { return block_ ? block_->create_revision : 0; }
  uint64_t revision() const { return block_ ? block_->revision : 0; }
  // Bytes of memory that the state takes, about; what it shares with the state that it ended is not counted.
  size_t memory() const;

 private:
  struct Block {
    uint64_t revision, create_revision;
    uint32_t key_size, note_size, value_size;
    bool ends;  // an Ending, without texts of its own
    // Key, note and value follow one another behind the block.
    const char* texts() const { return reinterpret_cast<const char*>(this + 1); }
  };
  struct Ending : Block {
    std::shared_ptr<const Block> ended;
  };
  const Block& Texts() const { return block_->ends ? *static_cast<const Ending&>(*block_).ended : *block_; }

  std::shared_ptr<const Block> block_;
};

}  // namespace homeostat::store
