// FieldSet: a set of paths into an object, as managedFields record who owns what.
//
// A path is a list of steps: a field's name, the keys of an item of a list, the value of an item of a set, or an index.
// A set is a tree of steps in sorted order, immutable and two words wide; operations give new sets that share what did
// not change, in the arena they are given. Names and values point into the trees the set was made of: whoever keeps a
// set keeps those too.
//
// Source of the rules and of the order: structured-merge-diff v6, fieldpath.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::patch {

using object::Arena;
using object::Value;

// One step of a path. Sorted by kind first, in the order of the enumerators.
class PathElement {
 public:
  enum class Kind : uint8_t { kField, kKey, kValue, kIndex };

  PathElement() = default;
  // .name
  static PathElement Field(std::string_view name) { return {Kind::kField, Value::StringRef(name)}; }
  // [name="a",port=80]: an object whose members are sorted by name.
  static PathElement Key(Value sorted_fields) { return {Kind::kKey, sorted_fields}; }
  // [="a"]: an item of a set.
  static PathElement Item(Value value) { return {Kind::kValue, value}; }
  // [3]
  static PathElement Index(int64_t index) { return {Kind::kIndex, Value::Int(index)}; }

  Kind kind() const { return kind_; }
  bool IsField() const { return kind_ == Kind::kField; }
  // Of a field, its name; else empty.
  std::string_view name() const { return IsField() ? value_.AsString() : std::string_view(); }
  // The name, the keys, the value or the index.
  const Value& value() const { return value_; }

  // As error messages and conflicts show it. Numbers look as Go prints a float64.
  std::string String() const;

 private:
  PathElement(Kind kind, Value value) : kind_(kind), value_(value) {}

  Kind kind_ = Kind::kField;
  Value value_;
};

// <0, 0, >0. Integers and doubles compare as numbers.
int Compare(const PathElement& a, const PathElement& b);
inline bool operator==(const PathElement& a, const PathElement& b) { return Compare(a, b) == 0; }
inline bool operator<(const PathElement& a, const PathElement& b) {
  // Most names differ in their first letter, which is cheaper to see than to call for.
  std::string_view x = a.name(), y = b.name();
  if (!x.empty() && !y.empty() && x[0] != y[0]) return static_cast<unsigned char>(x[0]) < static_cast<unsigned char>(y[0]);
  return Compare(a, b) < 0;
}

using Path = std::vector<PathElement>;
using PathView = std::span<const PathElement>;
// .spec.containers[name="web"].image
std::string PathString(PathView path);
// Field names only: FieldPathOf({"metadata", "labels"}).
Path FieldPathOf(std::initializer_list<std::string_view> names);

class FieldSet {
 public:
  struct Entry;

  FieldSet() = default;
  explicit FieldSet(std::span<const Entry> sorted_entries);
  // The set of these paths.
  static FieldSet Of(Arena& arena, std::span<const Path> paths);
  static FieldSet Of(Arena& arena, std::initializer_list<Path> paths) {
    return Of(arena, std::span(paths.begin(), paths.size()));
  }

  bool empty() const { return size_ == 0; }
  // The steps at this level, sorted; each is a member, has children, or both.
  std::span<const Entry> entries() const;
  const Entry* Find(const PathElement& element) const;
  // The number of paths.
  size_t Size() const;
  bool Has(PathView path) const;
  bool Has(const PathElement& element) const;
  // The paths below that step, without it.
  FieldSet WithPrefix(const PathElement& element) const;
  // Every path, in upstream's order: those that end at a level before those that go deeper.
  void ForEach(const std::function<void(PathView)>& visit) const;
  // One path a line.
  std::string String() const;

 private:
  const Entry* entries_ = nullptr;
  uint32_t size_ = 0;
};

struct FieldSet::Entry {
  PathElement element;
  FieldSet children;
  bool member = false;
};

inline FieldSet::FieldSet(std::span<const Entry> sorted_entries)
    : entries_(sorted_entries.data()), size_(static_cast<uint32_t>(sorted_entries.size())) {}
inline std::span<const FieldSet::Entry> FieldSet::entries() const { return {entries_, size_}; }

bool Equal(const FieldSet& a, const FieldSet& b);
FieldSet Union(Arena& arena, const FieldSet& a, const FieldSet& b);
FieldSet Intersection(Arena& arena, const FieldSet& a, const FieldSet& b);
// The paths of a that are not in b; a path of a below one of b stays.
FieldSet Difference(Arena& arena, const FieldSet& a, const FieldSet& b);
// The paths of a that are neither in b nor below a path of b.
FieldSet RecursiveDifference(Arena& arena, const FieldSet& a, const FieldSet& b);
// The paths that no other path of the set goes on from.
FieldSet Leaves(Arena& arena, const FieldSet& set);

// Which paths of a set to keep: all but some, or only those that match a pattern.
class FieldFilter {
 public:
  // Keeps everything.
  FieldFilter() = default;
  static FieldFilter Exclude(FieldSet excluded);
  // Keeps what a pattern matches and what lies below it. A pattern is a list of field names; "*" matches any step. Of
  // several patterns with a wildcard at the same place only the first counts, as upstream.
  static FieldFilter Include(std::vector<std::vector<std::string>> patterns);

  FieldSet Apply(Arena& arena, const FieldSet& set) const;

 private:
  FieldSet excluded_;
  std::vector<std::vector<std::string>> patterns_;
};

// FieldsV1, the JSON of managedFields: {"f:metadata":{"f:labels":{".":{},"f:app":{}}}}.
//
// In typed trees it is Bytes that hold the text (schema/conform.h), in others an object; either is read. Steps of an unknown sort are passed over. canonical, if given, tells whether writing the set again gives the same
// text. Errors are about what is no set at all, such as a list in place of an object.
Result<FieldSet> ReadFieldsV1(Arena& arena, const Value& fields, bool* canonical = nullptr);
// Members come in the set's order, which is that of upstream's text.
Value WriteFieldsV1(Arena& arena, const FieldSet& set);
Value WriteFieldsV1Text(Arena& arena, const FieldSet& set);

}  // namespace homeostat::patch
