// AuditAnnotations: what those who decide about a request note for the audit log, beside the event of the request.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace homeostat::kinds {

// How much of a request the audit log has, rising; audit policies have the same names.
enum class AuditLevel : uint8_t { kNone, kMetadata, kRequest, kRequestResponse };

// Of one request. Loop only.
class AuditAnnotations {
 public:
  explicit AuditAnnotations(AuditLevel level) : level_(level) {}

  // Of a key the first value counts. from: the level from which on the log has it.
  void Add(std::string_view key, std::string_view value, AuditLevel from = AuditLevel::kMetadata) {
    if (level_ >= from) by_key_.try_emplace(std::string(key), value);
  }
  // Whether what is noted from that level on is of any use, where making the note costs something.
  bool Has(AuditLevel level) const { return level_ >= level; }
  const std::map<std::string, std::string>& by_key() const { return by_key_; }

 private:
  AuditLevel level_;
  std::map<std::string, std::string> by_key_;
};

}  // namespace homeostat::kinds
