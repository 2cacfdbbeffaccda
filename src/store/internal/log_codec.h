// How records and index entries are written to disk. Once released, a format is read for ever; new ones get a new
// version.
//
//   log key     revision, 8 bytes big-endian
//   log value   version 1 (1 byte), chain (8 bytes big-endian), body
//   body        head, value (the rest)
//   head        flags (1 byte; 1: deleted), create revision, previous revision (varints), key, user, field manager, verb,
//               subresource, audit id (varint length and text each), time (8 bytes big-endian, ns since 1970)
//   chain       the first 8 bytes of SHA-256 over: chain of the revision before, revision, body
//   index value revision (8 bytes big-endian), flags (1 byte; 1: deleted)
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
EncodedRecord EncodeRecord(const LogRecord& record, uint64_t previous_chain);

// All of a record but its revision and value.
std::string EncodeHead(const LogRecord& record);
struct LogHead {
  LogRecord record;       // without its value
  std::string_view rest;  // what stands behind the head
};
// Fails on what no EncodeHead wrote.
Result<LogHead> DecodeHead(uint64_t revision, std::string_view text);
// The key within a head.
std::string_view KeyOfHead(std::string_view head);

// Fails on what no EncodeRecord wrote; does not look at the chain.
Result<LogRecord> DecodeRecord(uint64_t revision, std::string_view value);
// The chain that the record must carry, and the one it does; they differ if it was changed or follows another one.
struct RecordChain {
  uint64_t expected = 0;
  uint64_t stored = 0;
};
Result<RecordChain> ReadChain(uint64_t revision, std::string_view value, uint64_t previous_chain);

std::string EncodeIndexEntry(IndexEntry entry);
Result<IndexEntry> DecodeIndexEntry(std::string_view key, std::string_view value);

}  // namespace homeostat::store::internal
