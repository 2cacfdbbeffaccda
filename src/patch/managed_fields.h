// metadata.managedFields: who owns which fields, and since when. Reading, writing and checking its entries.
//
// An entry belongs to a manager's name together with the operation, the subresource and, for updates, the version it
// wrote in: at most one entry each. An applier's entry is found again in whatever version it applies next.
//
// Source of the rules: apimachinery util/managedfields; meta/v1 validation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"

namespace homeostat::patch {

// Texts point into the object the entry was read from, or into the caller's arena.
struct ManagedEntry {
  std::string_view manager;
  bool applied = false;  // operation Apply; else Update
  std::string_view api_version;
  std::string_view subresource;
  std::string_view time;  // RFC 3339, UTC, whole seconds; empty if the entry has none
  FieldSet fields;
  Value fields_written;  // fieldsV1 as it was read, while `fields` have not changed; else absent
  Value written;         // the entry as it was read, while nothing of it has changed; else absent

  // The operation, and the version unless it applied, are part of who an entry belongs to.
  bool BelongsTo(const ManagedEntry& other) const;
  // Upstream's name for that: {"manager":"m","operation":"Update","apiVersion":"v1"}. It orders conflicts.
  std::string Identifier() const;

  void SetFields(FieldSet changed) {
    fields = changed;
    fields_written = written = {};
  }
  // The same fields as an earlier state of the entry has: those need not be written again.
  void KeepFieldsOf(const ManagedEntry& earlier) {
    if (earlier.fields_written && Equal(earlier.fields, fields)) fields_written = earlier.fields_written;
  }
  void SetTime(std::string_view changed) {
    time = changed;
    written = {};
  }
};

// How a tree holds FieldsV1 (schema/conform.h): as text where it is typed, as a tree in JSON form and in custom resources.
enum class FieldsForm : uint8_t { kText, kTree };

class ManagedFields {
 public:
  // Of the list in an object's metadata; absent and null are no entries. The error is 500 with upstream's text, as far
  // as that does not print Go's memory.
  static Result<ManagedFields> Read(Arena& arena, const Value& list);

  std::vector<ManagedEntry>& entries() { return entries_; }
  const std::vector<ManagedEntry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  // Null if there is none that belongs to the same.
  ManagedEntry* Find(const ManagedEntry& like);
  // In place of the one that belongs to the same, if there is one.
  void Put(ManagedEntry entry);
  void Erase(const ManagedEntry& like);
  void DropEmpty();

  // Puts the oldest of more than `most` update entries together, by version, under the name ancient-changes.
  void CapUpdates(Arena& arena, size_t most);

  // The list as it is stored, sorted: appliers first, then by time, name, version and subresource. Absent if there are
  // no entries. entry_type, if not null, is ManagedFieldsEntry's type: members then carry its field indexes.
  Value Write(Arena& arena, const schema::Type* entry_type, FieldsForm form) const;

 private:
  std::vector<ManagedEntry> entries_;
};

// What an object's metadata.managedFields says; absent if it says nothing.
Value ManagedFieldsOf(const Value& object);
// The object with that list, or without any if it is absent. In a typed tree the members carry field indexes.
Value WithManagedFields(Arena& arena, const schema::Type& type, const Value& object, const ManagedFields& fields);
Value WithoutManagedFields(Arena& arena, const schema::Type& type, const Value& object);

// A client may ask for all entries to be dropped: with a list that is empty, or has one empty entry.
bool AsksForReset(const Value& list);

// Whether the list can be read; a change by admission that can't be is taken back, with this text in a warning.
Done ValidateManagedFieldsList(const Value& list);
// The faults of the entries of a list, as the validation of metadata reports them.
void ValidateManagedFieldsEntries(const Value& list, const schema::FieldPath& path, schema::FieldErrors& errors);

// If `updated` differs from `old` in nothing but the times of its managed fields, it is given the old times back, so
// that a write which changes nothing stays without effect. Both are typed trees.
Value KeepTimesIfUnchanged(Arena& arena, const schema::Type& type, const Value& updated, const Value& old);

// RFC 3339 in UTC with whole seconds, in the arena.
std::string_view TimeText(Arena& arena, WallTime time);

}  // namespace homeostat::patch
