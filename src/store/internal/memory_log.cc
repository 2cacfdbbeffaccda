#include "store/internal/memory_log.h"

#include <map>

namespace homeostat::store::internal {
namespace {

struct Contents {
  std::map<uint64_t, LogRecord> log;
  std::map<std::string, IndexEntry, std::less<>> index;
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
    return found->second;
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
      TRY_ASSIGN(const bool more, visitor(it->second));
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
      contents_->index[record.key] = {record.revision, record.deleted};
      contents_->log.emplace_hint(contents_->log.end(), record.revision, record);
    }
    for (uint64_t revision : batch.dropped) contents_->log.erase(revision);
    for (const std::string& key : batch.forgotten) contents_->index.erase(key);
    if (batch.compacted_revision != 0) contents_->compacted_revision = batch.compacted_revision;
  }

 private:
  std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();
};

}  // namespace

std::unique_ptr<LogStore> MakeMemoryLog() { return std::make_unique<MemoryLog>(); }

}  // namespace homeostat::store::internal
