#include "store/internal/memory_log.h"

#include <absl/container/btree_map.h>

#include <string>

#include "store/internal/log_codec.h"

namespace homeostat::store::internal {
namespace {

// What is kept of a record: objects are many, so it has one block beside the value. A head is longer than what a string has
// room for in itself: its text stays where it is when the string is moved.
struct Kept {
  std::string head;  // as log_codec.h has it
  Bytes value;
};

Result<LogRecord> Unpack(uint64_t revision, const Kept& kept) {
  TRY_ASSIGN(LogHead head, DecodeHead(revision, kept.head));
  head.record.value = kept.value;
  return std::move(head.record);
}

// Invariant: the text of an index's key lies in the head of the record it leads to.
struct Contents {
  absl::btree_map<uint64_t, Kept> log;
  absl::btree_map<std::string_view, IndexEntry> index;
  uint64_t compacted_revision = kFirstRevision;
};

// Reads the contents as they are: everything happens on the loop, so that nothing changes during one reading.
class MemoryView : public LogView {
 public:
  explicit MemoryView(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  Result<std::optional<IndexEntry>> Find(std::string_view key) override {
    auto found = contents_->index.find(key);
    if (found == contents_->index.end()) return std::nullopt;
    return found->second;
  }
  Result<std::optional<LogRecord>> Load(uint64_t revision) override {
    auto found = contents_->log.find(revision);
    if (found == contents_->log.end()) return std::nullopt;
    TRY_ASSIGN(LogRecord record, Unpack(revision, found->second));
    return record;
  }
  Result<void> ScanIndex(std::string_view start, std::string_view end, const IndexVisitor& visitor) override {
    for (auto it = contents_->index.lower_bound(start); it != contents_->index.end(); ++it) {
      if (!end.empty() && it->first >= end) break;
      TRY_ASSIGN(const bool more, visitor(it->first, it->second));
      if (!more) break;
    }
    return {};
  }
  Result<void> ScanLog(uint64_t first, uint64_t last, const LogVisitor& visitor) override {
    for (auto it = contents_->log.lower_bound(first); it != contents_->log.end() && it->first <= last; ++it) {
      TRY_ASSIGN(LogRecord record, Unpack(it->first, it->second));
      TRY_ASSIGN(const bool more, visitor(record));
      if (!more) break;
    }
    return {};
  }
  Result<uint64_t> CompactedRevision() override { return contents_->compacted_revision; }

 private:
  std::shared_ptr<const Contents> contents_;
};

class MemoryLog : public LogStore {
 public:
  bool blocking() const override { return false; }
  Result<LogPosition> Open(uint64_t) override { return LogPosition(); }
  std::unique_ptr<LogView> View() override { return std::make_unique<MemoryView>(contents_); }
  void Apply(const LogBatch& batch) override {
    for (const LogRecord& record : batch.records) {
      Kept kept{EncodeHead(record), record.value};
      contents_->index.erase(record.key);
      contents_->index.emplace(KeyOfHead(kept.head), IndexEntry{record.revision, record.deleted});
      contents_->log.emplace_hint(contents_->log.end(), record.revision, std::move(kept));
    }
    for (const std::string& key : batch.forgotten) contents_->index.erase(key);
    for (uint64_t revision : batch.dropped) contents_->log.erase(revision);
    if (batch.compacted_revision != 0) contents_->compacted_revision = batch.compacted_revision;
  }

 private:
  std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();
};

}  // namespace

std::unique_ptr<LogStore> MakeMemoryLog() { return std::make_unique<MemoryLog>(); }

}  // namespace homeostat::store::internal
