// Value: what an expression works on: two words, passed by value.
//
// Texts, lists, maps and library values are pointed to. They live in the arena an evaluation was given, in the program
// (its literals), or in the object trees of the activation, which are never copied: a JSON list or object is seen
// through JsonList and JsonMap. A value is good as long as those are. Safe to read from any thread.
//
// Errors are values, too: && and || absorb them, everything else passes them on.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "homeostat/object/arena.h"
#include "homeostat/object/value.h"

namespace homeostat::cel {

class DeclType;
class List;
class Map;
class Opaque;

enum class ValueKind : uint8_t {
  kNull, kBool, kInt, kUint, kDouble, kString, kBytes, kTimestamp, kDuration, kList, kMap, kType, kOptional, kOpaque, kError
};

class Value {
 public:
  constexpr Value() : int_(0) {}  // null

  static Value Null() { return Value(); }
  static Value Bool(bool value) { Value v(ValueKind::kBool); v.int_ = value; return v; }
  static Value Int(int64_t value) { Value v(ValueKind::kInt); v.int_ = value; return v; }
  static Value Uint(uint64_t value) { Value v(ValueKind::kUint); v.int_ = static_cast<int64_t>(value); return v; }
  static Value Double(double value) { Value v(ValueKind::kDouble); v.double_ = value; return v; }
  // The text must outlive the value.
  static Value String(std::string_view text) { return Value(ValueKind::kString, text); }
  static Value Bytes(std::string_view octets) { return Value(ValueKind::kBytes, octets); }
  // A point in time, written with an offset from UTC.
  static Value Timestamp(int64_t seconds, uint32_t nanos, int offset_minutes = 0) {
    Value v(ValueKind::kTimestamp);
    v.int_ = seconds; v.size_ = nanos; v.offset_ = static_cast<int16_t>(offset_minutes);
    return v;
  }
  static Value Duration(int64_t nanoseconds) { Value v(ValueKind::kDuration); v.int_ = nanoseconds; return v; }
  static Value Of(const List* list) { Value v(ValueKind::kList); v.list_ = list; return v; }
  static Value Of(const Map* map) { Value v(ValueKind::kMap); v.map_ = map; return v; }
  static Value Of(const Opaque* opaque) { Value v(ValueKind::kOpaque); v.opaque_ = opaque; return v; }
  // A type, by its name at run time.
  static Value TypeNamed(std::string_view name) { return Value(ValueKind::kType, name); }
  // nullptr: nothing.
  static Value Optional(const Value* value) { Value v(ValueKind::kOptional); v.value_ = value; return v; }
  static Value Error(std::string_view message) { return Value(ValueKind::kError, message); }

  ValueKind kind() const { return kind_; }
  bool IsNull() const { return kind_ == ValueKind::kNull; }
  bool IsBool() const { return kind_ == ValueKind::kBool; }
  bool IsInt() const { return kind_ == ValueKind::kInt; }
  bool IsUint() const { return kind_ == ValueKind::kUint; }
  bool IsDouble() const { return kind_ == ValueKind::kDouble; }
  bool IsNumber() const { return kind_ >= ValueKind::kInt && kind_ <= ValueKind::kDouble; }
  bool IsString() const { return kind_ == ValueKind::kString; }
  bool IsBytes() const { return kind_ == ValueKind::kBytes; }
  bool IsTimestamp() const { return kind_ == ValueKind::kTimestamp; }
  bool IsDuration() const { return kind_ == ValueKind::kDuration; }
  bool IsList() const { return kind_ == ValueKind::kList; }
  bool IsMap() const { return kind_ == ValueKind::kMap; }
  bool IsType() const { return kind_ == ValueKind::kType; }
  bool IsOptional() const { return kind_ == ValueKind::kOptional; }
  bool IsOpaque() const { return kind_ == ValueKind::kOpaque; }
  bool IsError() const { return kind_ == ValueKind::kError; }
  bool IsTrue() const { return IsBool() && int_ != 0; }
  bool IsFalse() const { return IsBool() && int_ == 0; }

  // The content; only for a value of that kind.
  bool AsBool() const { return int_ != 0; }
  int64_t AsInt() const { return int_; }
  uint64_t AsUint() const { return static_cast<uint64_t>(int_); }
  double AsDouble() const { return double_; }
  std::string_view text() const { return {text_, size_}; }  // of string, bytes, type, error
  int64_t seconds() const { return int_; }                  // of a timestamp, since 1970
  uint32_t nanos() const { return size_; }
  int offset_minutes() const { return offset_; }
  int64_t nanoseconds() const { return int_; }              // of a duration
  const List& list() const { return *list_; }
  const Map& map() const { return *map_; }
  const Opaque& opaque() const { return *opaque_; }
  const Value* optional() const { return value_; }

  // The type's name at run time: google.protobuf.Timestamp, optional_type.
  std::string_view TypeName() const;

 private:
  explicit Value(ValueKind kind) : kind_(kind), int_(0) {}
  Value(ValueKind kind, std::string_view text) : kind_(kind), size_(static_cast<uint32_t>(text.size())), text_(text.data()) {}

  ValueKind kind_ = ValueKind::kNull;
  int16_t offset_ = 0;
  uint32_t size_ = 0;
  union {
    int64_t int_;
    double double_;
    const char* text_;
    const List* list_;
    const Map* map_;
    const Opaque* opaque_;
    const Value* value_;
  };
};
static_assert(sizeof(Value) == 16);

// A list. Made in an arena, hence trivially destructible.
class List {
 public:
  virtual uint64_t size() const = 0;
  // position < size().
  virtual Value At(uint64_t position) const = 0;
  // How `list + other` of a schema's list is made, where that is not one behind the other (lists that are sets or maps).
  // nullptr if it is.
  virtual const List* Joined(object::Arena&, const List&) const { return nullptr; }
  // Whether it is the same as another in its own order-less sense; nullopt: compare item by item.
  virtual std::optional<bool> EqualTo(const List&) const { return std::nullopt; }
  // The JSON it is a view of; absent if there is none.
  virtual object::Value Json() const { return {}; }
  // What messages call its type.
  virtual std::string_view GoTypeName() const { return "*types.baseList"; }
  // What they call it where the original has the JSON itself in hand: a variable's members, before anything is made of them.
  virtual std::string_view NativeGoTypeName() const { return GoTypeName(); }

 protected:
  ~List() = default;
};

// A map, or an object with fields. Entries stand in the order they were made in.
class Map {
 public:
  virtual uint64_t size() const = 0;
  virtual std::optional<Value> Find(const Value& key) const = 0;
  // position < size().
  virtual Value KeyAt(uint64_t position) const = 0;
  virtual Value ValueAt(uint64_t position) const = 0;
  // Whether it is the same as another of its schema, where that is no matter of the entries alone; nullopt: compare entry by entry.
  virtual std::optional<bool> EqualTo(const Map&) const { return std::nullopt; }
  virtual object::Value Json() const { return {}; }
  // As a list's.
  virtual std::string_view GoTypeName() const { return "*types.baseMap"; }
  virtual std::string_view NativeGoTypeName() const { return GoTypeName(); }
  // Of an object that an expression constructed: Object.spec. "" otherwise.
  virtual std::string_view StructName() const { return {}; }

 protected:
  ~Map() = default;
};

// A value of a library: a quantity, an address, an authorizer. Kept alive by the arena.
class Opaque {
 public:
  virtual ~Opaque() = default;
  virtual std::string_view TypeName() const = 0;
  // nullopt: they cannot be compared ("no such overload").
  virtual std::optional<bool> Equal(const Opaque& other) const = 0;
  // What string() and messages make of it.
  virtual std::string ToString() const { return std::string(TypeName()); }
  // What size() counts, if it can be counted; costs depend on it.
  virtual std::optional<uint64_t> Size() const { return std::nullopt; }
  // Whether optional.ofNonZeroValue takes it for nothing.
  virtual bool IsZero() const { return false; }
  // Whether reading it costs one unit per member when a list of it is compared.
  virtual bool UnitCostEquality() const { return true; }
};

// Values of a JSON tree; nothing is copied. A type says how a schema means them (strings that are times, objects that
// are lists of fields); nullptr: as JSON has them. Absent is null.
Value FromJson(object::Arena& arena, const object::Value& value, const DeclType* type = nullptr);

// The tree that a value stands for: what Kubernetes makes of results that become objects. An error's text for what no
// object can hold (types, library values, maps whose keys are no strings, empty optionals).
struct JsonResult {
  object::Value value;
  std::string error;  // empty if there is none
};
JsonResult ToJson(object::Arena& arena, const Value& value);

// Whether constructed objects are named after the places they stand at: Object.spec below spec. What is wrong, or "".
std::string CheckTypeNamesMatchFieldPathNames(const Value& value);

// Whether they are the same to the language: numbers across types, lists and maps by content.
bool Equal(const Value& a, const Value& b);
// -1, 0, 1; nullopt if they have no order (other types, not-a-number).
std::optional<int> Compare(const Value& a, const Value& b);

// As Go's %v prints it inside messages.
std::string ToText(const Value& value);
// As an expression that gives it: "a", 1u, duration("1s"), [1, 2].
std::string ToLiteral(const Value& value);

// A list or map of an arena's own, made in one go or item by item.
class ArrayList final : public List {
 public:
  ArrayList() = default;
  ArrayList(const Value* items, uint64_t size) : items_(items), size_(size) {}
  uint64_t size() const override { return size_; }
  Value At(uint64_t position) const override { return items_[position]; }
  // Only while nobody else sees the list's size as fixed: accumulators of loops.
  void Append(object::Arena& arena, const Value& value);

 private:
  const Value* items_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
};

class ArrayMap final : public Map {
 public:
  uint64_t size() const override { return size_; }
  std::optional<Value> Find(const Value& key) const override;
  Value KeyAt(uint64_t position) const override { return entries_[position].key; }
  Value ValueAt(uint64_t position) const override { return entries_[position].value; }
  // Replaces what stands under the same key of the same type.
  void Set(object::Arena& arena, const Value& key, const Value& value);
  void Erase(const Value& key);
  // Whether there is that very key: numbers of other types are others.
  bool HasSame(const Value& key) const { return size_ != 0 && FindExact(key) != nullptr; }

 private:
  struct Entry {
    Value key;
    Value value;
  };
  uint64_t Slot(const Value& key) const;
  const Entry* FindExact(const Value& key) const;
  void Index(object::Arena& arena);

  Entry* entries_ = nullptr;
  uint64_t size_ = 0;
  uint64_t capacity_ = 0;
  uint32_t* slots_ = nullptr;  // open addressing, entry + 1; only for larger maps
  uint64_t slot_count_ = 0;
};

// Places a trivially destructible object in the arena.
template <class T, class... Args>
T* MakeInArena(object::Arena& arena, Args&&... args) {
  static_assert(std::is_trivially_destructible_v<T>);
  return new (arena.Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
}

Value MakeString(object::Arena& arena, std::string_view text);
Value MakeError(object::Arena& arena, std::string_view message);
Value MakeOptional(object::Arena& arena, const Value& value);
Value MakeList(object::Arena& arena, const std::vector<Value>& items);
template <class T>
Value MakeOpaque(object::Arena& arena, T value) {
  auto owned = std::make_shared<const T>(std::move(value));
  const T* pointer = owned.get();
  arena.Keep(std::move(owned));
  return Value::Of(static_cast<const Opaque*>(pointer));
}

}  // namespace homeostat::cel
