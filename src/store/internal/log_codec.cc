#include "store/internal/log_codec.h"

#include <xxhash.h>

#include "homeostat/base/hash.h"

namespace homeostat::store::internal {
namespace {

constexpr char kSha256Version = 1, kXxh3Version = 2;
constexpr char kDeletedFlag = 1;
constexpr size_t kHeaderSize = 1 + 8;  // version and chain

void AppendUint64(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendText(std::string& out, std::string_view text) {
  AppendVarint(out, text.size());
  out.append(text);
}

// Takes fields off the front; after one that is cut short, ok() is false and everything reads as empty.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  std::string_view Take(uint64_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return {};
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  char Byte() {
    std::string_view byte = Take(1);
    return byte.empty() ? 0 : byte[0];
  }
  uint64_t Uint64() { return DecodeUint64(Take(8)).value_or(0); }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && ok_; shift += 7) {
      const auto byte = static_cast<uint8_t>(Byte());
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Text() { return Take(Varint()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void AppendInfo(std::string& out, const WriteInfo& info) {
  for (const std::string* text : {&info.user, &info.field_manager, &info.verb, &info.subresource, &info.audit_id}) {
    AppendText(out, *text);
  }
  AppendUint64(out, static_cast<uint64_t>(info.time.time_since_epoch().count()));
}

void ReadInfo(Reader& reader, Parts parts, WriteInfo& info) {
  for (std::string* text : {&info.user, &info.field_manager, &info.verb, &info.subresource, &info.audit_id}) {
    const std::string_view read = reader.Text();
    if (parts == Parts::kAll) *text = read;
  }
  info.time = WallTime(Duration(static_cast<int64_t>(reader.Uint64())));
}

// The body but for the value.
void AppendHead(std::string& out, const LogRecord& record) {
  out.push_back(record.deleted ? kDeletedFlag : 0);
  AppendVarint(out, record.record.create_revision());
  AppendVarint(out, record.previous_revision);
  AppendText(out, record.record.key());
  AppendInfo(out, record.info);
}

// What a record's chain is the checksum of: this, and its body.
constexpr size_t kChainHeadSize = 8 + 8;
void AppendChainHead(std::string& out, uint64_t previous_chain, uint64_t revision) {
  AppendUint64(out, previous_chain);
  AppendUint64(out, revision);
}

uint64_t ChecksumOf(char version, std::string_view text) {
  return version == kSha256Version ? Checksum(text) : XXH3_64bits(text.data(), text.size());
}

uint64_t Chain(char version, uint64_t previous_chain, uint64_t revision, std::string_view body) {
  std::string text;
  text.reserve(kChainHeadSize + body.size());
  AppendChainHead(text, previous_chain, revision);
  text.append(body);
  return ChecksumOf(version, text);
}

Status UnreadableRecord(uint64_t revision) {
  return SystemError("the store is damaged: revision " + std::to_string(revision) + " cannot be read");
}

struct SplitParts {
  char version = 0;
  uint64_t chain = 0;
  std::string_view body;
};
Result<SplitParts> SplitRecord(uint64_t revision, std::string_view value) {
  if (value.size() < kHeaderSize) return Fail(UnreadableRecord(revision));
  if (value[0] != kSha256Version && value[0] != kXxh3Version) {
    return Fail(SystemError("revision " + std::to_string(revision) + " has the unknown format " +
                            std::to_string(static_cast<uint8_t>(value[0])) + ": written by a newer version?"));
  }
  return SplitParts{value[0], *DecodeUint64(value.substr(1, 8)), value.substr(kHeaderSize)};
}

}  // namespace

std::string EncodeUint64(uint64_t value) {
  std::string out;
  AppendUint64(out, value);
  return out;
}

std::optional<uint64_t> DecodeUint64(std::string_view text) {
  if (text.size() != 8) return std::nullopt;
  uint64_t value = 0;
  for (char byte : text) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

uint64_t Checksum(std::string_view text) {
  return *DecodeUint64(std::string_view(Sha256(text)).substr(0, 8));
}

EncodedRecord EncodeRecord(const LogRecord& record, uint64_t previous_chain, int format) {
  const char version = static_cast<char>(format);
  std::string text;
  text.reserve(kChainHeadSize + record.record.text().size() + record.record.key().size() + 256);
  AppendChainHead(text, previous_chain, record.record.revision());
  AppendHead(text, record);
  text.append(record.record.text());
  EncodedRecord encoded;
  encoded.chain = ChecksumOf(version, text);
  // The shorter header takes the place of what the chain was made with, and the body stays in its buffer.
  std::string header(1, version);
  AppendUint64(header, encoded.chain);
  text.replace(0, kChainHeadSize, header);
  encoded.value = std::move(text);
  return encoded;
}

std::string EncodeNote(const LogRecord& record) {
  std::string note;
  note.push_back(record.deleted ? kDeletedFlag : 0);
  AppendVarint(note, record.previous_revision);
  AppendInfo(note, record.info);
  return note;
}

bool IsDeletion(std::string_view note) { return !note.empty() && (note[0] & kDeletedFlag) != 0; }

Result<LogRecord> DecodeNote(const Record& record, Parts parts) {
  Reader reader(record.note());
  LogRecord read;
  read.deleted = reader.Byte() & kDeletedFlag;
  read.previous_revision = reader.Varint();
  ReadInfo(reader, parts, read.info);
  if (!reader.ok() || !reader.rest().empty()) return Fail(UnreadableRecord(record.revision()));
  read.record = record;
  return read;
}

Result<LogRecord> DecodeRecord(uint64_t revision, std::string_view value, Parts parts) {
  TRY_ASSIGN(const SplitParts split, SplitRecord(revision, value));
  Reader reader(split.body);
  LogRecord record;
  record.deleted = reader.Byte() & kDeletedFlag;
  const uint64_t create_revision = reader.Varint();
  record.previous_revision = reader.Varint();
  const std::string_view key = reader.Text();
  ReadInfo(reader, parts, record.info);
  if (!reader.ok()) return Fail(UnreadableRecord(revision));
  record.record = Record::Make(key, reader.rest(), create_revision, revision);
  return record;
}

Result<RecordChain> ReadChain(uint64_t revision, std::string_view value, uint64_t previous_chain) {
  TRY_ASSIGN(const SplitParts split, SplitRecord(revision, value));
  return RecordChain{.expected = Chain(split.version, previous_chain, revision, split.body), .stored = split.chain};
}

std::string EncodeIndexEntry(IndexEntry entry) {
  std::string out;
  AppendUint64(out, entry.revision);
  out.push_back(entry.deleted ? kDeletedFlag : 0);
  return out;
}

Result<IndexEntry> DecodeIndexEntry(std::string_view key, std::string_view value) {
  if (value.size() != 9) {
    return Fail(SystemError("the store is damaged: the index entry of " + std::string(key) + " cannot be read"));
  }
  return IndexEntry{.revision = *DecodeUint64(value.substr(0, 8)), .deleted = (value[8] & kDeletedFlag) != 0};
}

}  // namespace homeostat::store::internal
