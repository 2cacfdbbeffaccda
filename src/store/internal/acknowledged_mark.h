// The newest revision that was made durable, noted outside the log, so that a log which lost its end is found out.
//
// A log alone cannot tell a last record that was torn by a crash (never answered, may go) from one that was answered
// and then damaged. The mark can. It is written after the group's fsync and before its answers:
//  - with pwrite into a file whose blocks are already there, so it costs a copy into the page cache, no wait for the
//  disk;
//  - it therefore is exact after kill -9 or a crash of the process, since the page cache survives those;
//  - it reaches the disk itself about once a second, off the path of answers (Sync), and at Close. After a power loss
//  it may
//    lag by that second; it never leads, as it is written after the log's own fsync. A log that loses the very end of
//    that second, in spite of its fsync, is the one thing that stays unseen.
// Two slots on different blocks are written in turn, each with a checksum: one torn by a power loss leaves the other.
//
// File: two slots at 0 and 4096, each "HSTMARK1", store id, sequence, revision, chain, checksum (8 bytes big-endian
// each). A file of size 0 is the operator's word that the log is to be taken as it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "homeostat/base/result.h"

namespace homeostat::store::internal {

struct Mark {
  uint64_t store_id = 0;
  uint64_t revision = 0;
  uint64_t chain = 0;
};

// Functions that write may be called by one thread at a time, Sync by another.
class AcknowledgedMark {
 public:
  explicit AcknowledgedMark(std::string path) : path_(std::move(path)) {}
  ~AcknowledgedMark();
  AcknowledgedMark(const AcknowledgedMark&) = delete;

  enum class Found : uint8_t { kMissing, kEmpty, kMark };
  struct Reading {
    Found found = Found::kMissing;
    Mark mark;
  };
  // Opens the file if it is there. An error if neither slot can be read.
  Result<Reading> Open();
  // Makes the file anew, durably, with this mark.
  Result<void> Create(const Mark& mark);
  // Notes a mark; ends the process if it cannot.
  void Write(const Mark& mark);
  // Brings what was written to the disk; ends the process if it cannot.
  void Sync();

 private:
  Status Failure(std::string_view doing) const;
  bool WriteSlot(const Mark& mark);

  std::string path_;
  int file_ = -1;
  uint64_t sequence_ = 0;
};

}  // namespace homeostat::store::internal
