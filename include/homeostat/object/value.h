// Value: one node of an object's tree, as JSON, YAML, CBOR and protobuf all decode to.
//
// A Value is two words and is passed by value. The tree it heads is immutable and lives in an Arena; whoever holds a
// Value also holds, somewhere, the Document that owns that arena. Changing means building: a changed tree shares every
// subtree that did not change (ObjectBuilder, ListBuilder below; schema/ and patch/ work in this way throughout).
//
// Absent, null, booleans, integers, doubles, strings and bytes stay distinct; integers are exact to 64 bits.
//
// An object's members are kept in order: those of a schema type by field index, then unknown ones; members of untyped
// objects in the order they were written. A member of a schema type carries its field's index, so that typed code
// never compares names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/bytes.h"
#include "homeostat/object/arena.h"

namespace homeostat::object {

enum class ValueKind : uint8_t { kAbsent, kNull, kBool, kInt, kDouble, kString, kBytes, kList, kObject };

struct Member;
class MemberRange;

class Value {
 public:
  // Absent: the answer of every look-up that finds nothing. Never a member or an item of a tree.
  constexpr Value() : kind_(ValueKind::kAbsent), size_(0), int_(0) {}

  static Value Null() { return Value(ValueKind::kNull); }
  static Value Bool(bool value) { Value v(ValueKind::kBool); v.int_ = value; return v; }
  static Value Int(int64_t value) { Value v(ValueKind::kInt); v.int_ = value; return v; }
  static Value Double(double value) { Value v(ValueKind::kDouble); v.double_ = value; return v; }
  // Points at the text given, which must outlive the tree (a literal, or text of an arena the tree keeps).
  static Value StringRef(std::string_view text) { return Value(ValueKind::kString, text); }
  static Value String(Arena& arena, std::string_view text) { return StringRef(arena.Copy(text)); }
  // Raw octets: what JSON writes as base64.
  static Value BytesRef(std::string_view octets) { return Value(ValueKind::kBytes, octets); }
  static Value BytesCopy(Arena& arena, std::string_view octets) { return BytesRef(arena.Copy(octets)); }
  // The items must live in the arena of the tree.
  static Value List(std::span<const Value> items);
  static Value Object(std::span<const Member> members);
  static Value EmptyList() { return Value(ValueKind::kList); }
  static Value EmptyObject() { return Value(ValueKind::kObject); }

  ValueKind kind() const { return kind_; }
  bool IsAbsent() const { return kind_ == ValueKind::kAbsent; }
  bool IsNull() const { return kind_ == ValueKind::kNull; }
  bool IsBool() const { return kind_ == ValueKind::kBool; }
  bool IsInt() const { return kind_ == ValueKind::kInt; }
  bool IsDouble() const { return kind_ == ValueKind::kDouble; }
  bool IsNumber() const { return IsInt() || IsDouble(); }
  bool IsString() const { return kind_ == ValueKind::kString; }
  bool IsBytes() const { return kind_ == ValueKind::kBytes; }
  bool IsList() const { return kind_ == ValueKind::kList; }
  bool IsObject() const { return kind_ == ValueKind::kObject; }
  // Present and not null.
  explicit operator bool() const { return kind_ > ValueKind::kNull; }

  // Reading a scalar of another kind gives the fallback; nothing throws.
  bool AsBool(bool fallback = false) const { return IsBool() ? int_ != 0 : fallback; }
  int64_t AsInt(int64_t fallback = 0) const { return IsInt() ? int_ : fallback; }
  double AsDouble(double fallback = 0) const { return IsDouble() ? double_ : IsInt() ? static_cast<double>(int_) : fallback; }
  // The text of a string, or the octets of bytes.
  std::string_view AsString(std::string_view fallback = {}) const {
    return IsString() || IsBytes() ? std::string_view(text_, size_) : fallback;
  }

  // Number of items or members; 0 for anything else.
  uint32_t size() const { return IsList() || IsObject() ? size_ : 0; }
  bool empty() const { return size() == 0; }

  // Items of a list; none for anything else.
  std::span<const Value> items() const { return IsList() ? std::span<const Value>(items_, size_) : std::span<const Value>(); }
  Value At(size_t index) const { return IsList() && index < size_ ? items_[index] : Value(); }

  // Members of an object; none for anything else.
  std::span<const Member> members() const;
  // By name: a linear or binary search over names. Absent if there is none.
  Value Get(std::string_view name) const;
  const Member* Find(std::string_view name) const;
  // By field index, of an object that schema::Conform has made.
  Value Field(uint16_t index) const;
  // Follows names: Path({"spec", "template", "metadata"}).
  Value Path(std::initializer_list<std::string_view> names) const;

 private:
  constexpr explicit Value(ValueKind kind) : kind_(kind), size_(0), int_(0) {}
  Value(ValueKind kind, std::string_view text) : kind_(kind), size_(static_cast<uint32_t>(text.size())), text_(text.data()) {}

  ValueKind kind_;
  uint32_t size_;
  union {
    int64_t int_;
    double double_;
    const char* text_;
    const Value* items_;
    const Member* members_;
  };
};
static_assert(sizeof(Value) == 16);

// A member's field index when it has none: unknown to its schema, or an untyped object's.
inline constexpr uint16_t kNoField = 0xFFFF;

struct Member {
  const char* name_data;
  uint32_t name_size;
  uint16_t field = kNoField;
  Value value;

  Member() = default;
  // The name must outlive the tree.
  Member(std::string_view name, Value member_value, uint16_t field_index = kNoField)
      : name_data(name.data()), name_size(static_cast<uint32_t>(name.size())), field(field_index), value(member_value) {}
  std::string_view name() const { return {name_data, name_size}; }
};
static_assert(sizeof(Member) == 32);

inline std::span<const Member> Value::members() const {
  return IsObject() ? std::span<const Member>(members_, size_) : std::span<const Member>();
}
inline Value Value::Field(uint16_t index) const {
  for (const Member& member : members()) {
    if (member.field == index) return member.value;
    if (member.field > index) break;
  }
  return {};
}

// Equal as data: same kinds, same contents, objects regardless of member order; Int and Double never equal.
bool Equal(const Value& a, const Value& b);
// A total order over any two values, for sets and stable sorting.
int Compare(const Value& a, const Value& b);
// Copies the whole tree, with texts and names, into another arena.
Value DeepCopy(Arena& arena, const Value& value);

// Builds an object, new or changed from an existing one. Subtrees are shared, never copied: the caller sees to it that
// what they live in is kept (Arena::Keep). Names must outlive the tree (literals, schema names) unless CopyName is used.
class ObjectBuilder {
 public:
  explicit ObjectBuilder(Arena& arena) : arena_(arena) {}
  ObjectBuilder(Arena& arena, const Value& from);

  // Replaces the member of that name or appends one. An absent value erases. Keeps the field index of the old member.
  ObjectBuilder& Set(std::string_view name, Value value, uint16_t field = kNoField);
  ObjectBuilder& SetCopyName(std::string_view name, Value value);
  // Keeps members sorted by field index.
  ObjectBuilder& SetField(uint16_t field, std::string_view name, Value value);
  ObjectBuilder& Erase(std::string_view name);
  // Appends without looking for an earlier member of that name.
  void Append(std::string_view name, Value value, uint16_t field = kNoField) { members_.emplace_back(name, value, field); }
  Value Get(std::string_view name) const;
  bool empty() const { return members_.empty(); }
  std::vector<Member>& members() { return members_; }
  // The builder is spent afterwards.
  Value Build();

 private:
  Arena& arena_;
  std::vector<Member> members_;
};

// Builds a list.
class ListBuilder {
 public:
  explicit ListBuilder(Arena& arena) : arena_(arena) {}
  ListBuilder(Arena& arena, const Value& from) : arena_(arena), items_(from.items().begin(), from.items().end()) {}
  void Append(Value value) { items_.push_back(value); }
  std::vector<Value>& items() { return items_; }
  bool empty() const { return items_.empty(); }
  Value Build();

 private:
  Arena& arena_;
  std::vector<Value> items_;
};

// root with the value at that path of names replaced; objects missing on the way are made. An absent value erases.
Value WithPath(Arena& arena, const Value& root, std::initializer_list<std::string_view> names, Value value);

// A tree and the memory it lives in. Frozen once it is shared as const: read it from any thread.
class Document {
 public:
  Document() = default;
  explicit Document(Value root) : root_(root) {}

  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  const Value& root() const { return root_; }
  void set_root(Value root) { root_ = root; }

 private:
  Arena arena_;
  Value root_;
};

using DocumentPtr = std::shared_ptr<const Document>;

// A value together with the document that keeps it alive: what functions that hand out trees return.
struct OwnedValue {
  DocumentPtr document;
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
};

}  // namespace homeostat::object
