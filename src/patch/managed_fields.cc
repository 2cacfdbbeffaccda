#include "patch/managed_fields.h"

#include <algorithm>
#include <map>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "patch/internal/metadata.h"
#include "patch/manager_name.h"

namespace homeostat::patch {

using object::Member;

namespace {

constexpr std::string_view kApply = "Apply", kUpdate = "Update", kFieldsV1 = "FieldsV1";
constexpr std::string_view kEpoch = "1970-01-01T00:00:00Z";
constexpr size_t kMostSubresourceBytes = 256;

std::string_view Text(const Value& entry, std::string_view name) { return entry.Get(name).AsString(); }

Status BadEntry(const std::string& message) { return Status(500, "", message); }

Result<ManagedEntry> ReadEntry(Arena& arena, const Value& entry, size_t index) {
  std::string_view operation = Text(entry, "operation"), fields_type = Text(entry, "fieldsType");
  if (operation != kApply && operation != kUpdate) return Fail(BadEntry("operation must be `Apply` or `Update`"));
  ManagedEntry read{.manager = Text(entry, "manager"),
                    .applied = operation == kApply,
                    .api_version = Text(entry, "apiVersion"),
                    .subresource = Text(entry, "subresource"),
                    .time = Text(entry, "time"),
                    .fields = {},
                    .fields_written = {},
                    .written = entry};
  if (read.api_version.empty()) return Fail(BadEntry("apiVersion must not be empty"));
  if (fields_type.empty()) return Fail(BadEntry("missing fieldsType in managed fields entry " + std::to_string(index)));
  if (fields_type != kFieldsV1) {
    return Fail(
        BadEntry("invalid fieldsType " + GoQuote(fields_type) + " in managed fields entry " + std::to_string(index)));
  }
  bool canonical = true;
  Value fields = entry.Get("fieldsV1");
  auto set = ReadFieldsV1(arena, fields, &canonical);
  if (!set) return Fail(BadEntry("error decoding versioned set: error decoding set: " + set.error().message()));
  read.fields = *set;
  if (canonical && fields) {
    read.fields_written = fields;
  } else {
    read.written = {};
  }
  return read;
}

// Times are in canonical form, so that their texts sort as they do. Without one an entry is as old as can be.
std::string_view TimeOf(const ManagedEntry& entry) { return entry.time.empty() ? kEpoch : entry.time; }

bool ComesBefore(const ManagedEntry& a, const ManagedEntry& b) {
  if (a.applied != b.applied) return a.applied;
  if (TimeOf(a) != TimeOf(b)) return TimeOf(a) < TimeOf(b);
  if (a.manager != b.manager) return a.manager < b.manager;
  if (a.api_version != b.api_version) return a.api_version < b.api_version;
  return a.subresource < b.subresource;
}

// Oldest first; of the same age in order of their identifiers.
std::vector<ManagedEntry> UpdatesByAge(const std::vector<ManagedEntry>& entries) {
  std::vector<ManagedEntry> updates;
  for (const ManagedEntry& entry : entries) {
    if (!entry.applied) updates.push_back(entry);
  }
  std::stable_sort(updates.begin(), updates.end(), [](const ManagedEntry& a, const ManagedEntry& b) {
    return TimeOf(a) != TimeOf(b) ? TimeOf(a) < TimeOf(b) : a.Identifier() < b.Identifier();
  });
  return updates;
}

Value WriteFields(Arena& arena, const ManagedEntry& entry, FieldsForm form) {
  bool text = form == FieldsForm::kText;
  if (entry.fields_written && entry.fields_written.IsBytes() == text) return entry.fields_written;
  return text ? WriteFieldsV1Text(arena, entry.fields) : WriteFieldsV1(arena, entry.fields);
}

Value WriteEntry(Arena& arena, const ManagedEntry& entry, const schema::Type* type, FieldsForm form) {
  if (entry.written && entry.fields_written.IsBytes() == (form == FieldsForm::kText)) return entry.written;
  internal::FieldWriter out(arena, type);
  if (!entry.manager.empty()) out.Set("manager", Value::String(arena, entry.manager));
  out.Set("operation", Value::StringRef(entry.applied ? kApply : kUpdate));
  out.Set("apiVersion", Value::String(arena, entry.api_version));
  if (!entry.time.empty()) out.Set("time", Value::String(arena, entry.time));
  out.Set("fieldsType", Value::StringRef(kFieldsV1));
  out.Set("fieldsV1", WriteFields(arena, entry, form));
  if (!entry.subresource.empty()) out.Set("subresource", Value::String(arena, entry.subresource));
  return out.Build();
}

bool SameEntry(const Value& a, const Value& b) {
  for (std::string_view name : {"manager", "operation", "apiVersion", "fieldsType", "fieldsV1", "subresource"}) {
    if (!object::Equal(a.Get(name), b.Get(name))) return false;
  }
  return true;
}

bool SameButForTimes(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  bool times_differ = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameEntry(a.At(i), b.At(i))) return false;
    times_differ = times_differ || Text(a.At(i), "time") != Text(b.At(i), "time");
  }
  return times_differ;
}

}  // namespace

bool ManagedEntry::BelongsTo(const ManagedEntry& other) const {
  return manager == other.manager && applied == other.applied && subresource == other.subresource &&
         (applied || api_version == other.api_version);
}

std::string ManagedEntry::Identifier() const {
  std::string text = "{";
  auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    if (text.size() > 1) text += ',';
    text.append("\"").append(name).append("\":");
    object::AppendJsonString(text, value);
  };
  add("manager", manager);
  add("operation", applied ? kApply : kUpdate);
  if (!applied) add("apiVersion", api_version);
  add("subresource", subresource);
  return text + "}";
}

Result<ManagedFields> ManagedFields::Read(Arena& arena, const Value& list) {
  ManagedFields read;
  for (size_t i = 0; i < list.size(); ++i) {
    TRY_ASSIGN(ManagedEntry entry, ReadEntry(arena, list.At(i), i));
    read.Put(entry);
  }
  return read;
}

ManagedEntry* ManagedFields::Find(const ManagedEntry& like) {
  auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const ManagedEntry& entry) { return entry.BelongsTo(like); });
  return found == entries_.end() ? nullptr : &*found;
}

void ManagedFields::Put(ManagedEntry entry) {
  if (ManagedEntry* old = Find(entry)) {
    *old = entry;
  } else {
    entries_.push_back(entry);
  }
}

void ManagedFields::Erase(const ManagedEntry& like) {
  std::erase_if(entries_, [&](const ManagedEntry& entry) { return entry.BelongsTo(like); });
}

void ManagedFields::DropEmpty() {
  std::erase_if(entries_, [](const ManagedEntry& entry) { return entry.fields.empty(); });
}

void ManagedFields::CapUpdates(Arena& arena, size_t most) {
  auto count = static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const ManagedEntry& entry) { return !entry.applied; }));
  if (count <= most) return;
  std::map<std::string_view, ManagedEntry> oldest_of_version;
  for (const ManagedEntry& entry : UpdatesByAge(entries_)) {
    if (count <= most) return;
    auto [oldest, first] = oldest_of_version.emplace(entry.api_version, entry);
    if (first) continue;
    ManagedEntry bucket{.manager = "ancient-changes",
                        .applied = false,
                        .api_version = entry.api_version,
                        .subresource = {},
                        .time = entry.time,
                        .fields = {},
                        .fields_written = {},
                        .written = {}};
    if (entry.BelongsTo(bucket)) continue;
    const ManagedEntry* earlier = Find(bucket);
    if (earlier == nullptr) {
      bucket.fields = oldest->second.fields;
      Erase(oldest->second);
    } else {
      bucket.fields = earlier->fields;
    }
    bucket.fields = Union(arena, entry.fields, bucket.fields);
    Put(bucket);
    Erase(entry);
    --count;
  }
}

Value ManagedFields::Write(Arena& arena, const schema::Type* entry_type, FieldsForm form) const {
  if (entries_.empty()) return {};
  std::vector<const ManagedEntry*> sorted;
  for (const ManagedEntry& entry : entries_) sorted.push_back(&entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ManagedEntry* a, const ManagedEntry* b) { return ComesBefore(*a, *b); });
  Value* items = arena.AllocateArray<Value>(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) items[i] = WriteEntry(arena, *sorted[i], entry_type, form);
  return Value::List({items, sorted.size()});
}

Value ManagedFieldsOf(const Value& object) { return object.Get("metadata").Get("managedFields"); }

Value WithManagedFields(Arena& arena, const schema::Type& type, const Value& object, const ManagedFields& fields) {
  bool typed = internal::IsTyped(object);
  const schema::Type* entry_type = typed ? internal::TypeAt(type, {"metadata", "managedFields", "[]"}) : nullptr;
  FieldsForm form = typed && !type.structural ? FieldsForm::kText : FieldsForm::kTree;
  return internal::WithMetadata(arena, type, object, "managedFields", fields.Write(arena, entry_type, form));
}

Value WithoutManagedFields(Arena& arena, const schema::Type& type, const Value& object) {
  if (ManagedFieldsOf(object).IsAbsent()) return object;
  return internal::WithMetadata(arena, type, object, "managedFields", Value());
}

bool AsksForReset(const Value& list) {
  if (!list.IsList()) return false;
  if (list.empty()) return true;
  return list.size() == 1 && list.At(0).IsObject() && list.At(0).empty();
}

Done ValidateManagedFieldsList(const Value& list) {
  Arena scratch;
  TRY(ManagedFields::Read(scratch, list));
  return {};
}

void ValidateManagedFieldsEntries(const Value& list, const schema::FieldPath& path, schema::FieldErrors& errors) {
  for (size_t i = 0; i < list.size(); ++i) {
    Value entry = list.At(i);
    schema::FieldPath at = path.Index(i);
    std::string_view operation = Text(entry, "operation"), fields_type = Text(entry, "fieldsType");
    if (operation != kApply && operation != kUpdate)
      errors.Invalid(at.Child("operation"), operation, "must be `Apply` or `Update`");
    if (!fields_type.empty() && fields_type != kFieldsV1)
      errors.Invalid(at.Child("fieldsType"), fields_type, "must be `FieldsV1`");
    ValidateManagerName(Text(entry, "manager"), at.Child("manager"), errors);
    if (Text(entry, "subresource").size() > kMostSubresourceBytes)
      errors.TooLong(at.Child("subresource"), kMostSubresourceBytes);
  }
}

Value KeepTimesIfUnchanged(Arena& arena, const schema::Type& type, const Value& updated, const Value& old) {
  Value old_list = ManagedFieldsOf(old);
  if (!old_list || !SameButForTimes(ManagedFieldsOf(updated), old_list)) return updated;
  Value with_old_times = internal::WithMetadata(arena, type, updated, "managedFields", old_list);
  return object::Equal(with_old_times, old) ? with_old_times : updated;
}

std::string_view TimeText(Arena& arena, WallTime time) {
  return arena.Copy(object::FormatTime(object::Timestamp::FromClock(time)));
}

}  // namespace homeostat::patch
