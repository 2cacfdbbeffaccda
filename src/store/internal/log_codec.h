// How records and index entries are written to disk. Once released, a format is read for ever; new ones get a new
// version.
//
//   log key     revision, 8 bytes big-endian
//   log value   version (1 byte), chain (8 bytes big-endian), body
//   body        head, value (the rest)
//   head        flags (1 byte; 1: deleted), create revision, previous revision (varints), key, user, field manager, verb,
//               subresource, audit id (varint length and text each), time (8 bytes big-endian, ns since 1970)
//   chain       a checksum over: chain of the revision before, revision, body. Version 1: the first 8 bytes of SHA-256.
//               Version 2, which is what is written: XXH3 (64 bits), which finds what is torn or rotten as well, and costs
//               a tenth. Both may stand in one log.
//   index value revision (8 bytes big-endian), flags (1 byte; 1: deleted)
//
// Records that stay in memory have a note instead (store/record.h), which is never written to disk:
//
//   note        flags, previous revision, user … time, as in the head
//
// The chain makes each record vouch for all before it: a record that was lost, changed or swapped shows at the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/internal/log.h"

namespace homeostat::store::internal {

std::string EncodeUint64(uint64_t value);
// nullopt unless it is exactly 8 bytes.
std::optional<uint64_t> DecodeUint64(std::string_view text);

// Of the first 8 bytes of SHA-256 over the text.
uint64_t Checksum(std::string_view text);

struct EncodedRecord {
  std::string value;
  uint64_t chain = 0;
};
// `format`: the version; older ones are for tests.
inline constexpr int kRecordFormat = 2;
EncodedRecord EncodeRecord(const LogRecord& record, uint64_t previous_chain, int format = kRecordFormat);

// What the note of the record says; its states and revisions are not looked at.
std::string EncodeNote(const LogRecord& record);
// Of a record with a note of EncodeNote. Fails on any other.
Result<LogRecord> DecodeNote(const Record& record, Parts parts);
bool IsDeletion(std::string_view note);

// Fails on what no EncodeRecord wrote; does not look at the chain.
Result<LogRecord> DecodeRecord(uint64_t revision, std::string_view value, Parts parts = Parts::kAll);
// The chain that the record must carry, and the one it does; they differ if it was changed or follows another one.
struct RecordChain {
  uint64_t expected = 0;
  uint64_t stored = 0;
};
Result<RecordChain> ReadChain(uint64_t revision, std::string_view value, uint64_t previous_chain);

std::string EncodeIndexEntry(IndexEntry entry);
Result<IndexEntry> DecodeIndexEntry(std::string_view key, std::string_view value);

}  // namespace homeostat::store::internal
