#include "cel/value.h"

#include <cmath>
#include <cstring>

#include "homeostat/base/text.h"

namespace homeostat::cel {

namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr uint64_t kIndexFrom = 8;  // entries from which a map has a hash index

int Sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

int CompareDoubles(double a, double b) { return Sign(a < b, a > b); }

int CompareDoubleInt(double d, int64_t i) {
  if (d < -kTwoTo63) return -1;
  if (d > kTwoTo63) return 1;
  return CompareDoubles(d, static_cast<double>(i));
}

int CompareDoubleUint(double d, uint64_t u) {
  if (d < 0) return -1;
  if (d > kTwoTo64) return 1;
  return CompareDoubles(d, static_cast<double>(u));
}

int CompareIntUint(int64_t i, uint64_t u) {
  if (i < 0) return -1;
  return Sign(static_cast<uint64_t>(i) < u, static_cast<uint64_t>(i) > u);
}

std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if ((a.IsDouble() && std::isnan(a.AsDouble())) || (b.IsDouble() && std::isnan(b.AsDouble()))) return std::nullopt;
  if (a.kind() == b.kind()) {
    if (a.IsInt()) return Sign(a.AsInt() < b.AsInt(), a.AsInt() > b.AsInt());
    if (a.IsUint()) return Sign(a.AsUint() < b.AsUint(), a.AsUint() > b.AsUint());
    return CompareDoubles(a.AsDouble(), b.AsDouble());
  }
  if (a.IsDouble()) return b.IsInt() ? CompareDoubleInt(a.AsDouble(), b.AsInt()) : CompareDoubleUint(a.AsDouble(), b.AsUint());
  if (b.IsDouble()) return -(a.IsInt() ? CompareDoubleInt(b.AsDouble(), a.AsInt()) : CompareDoubleUint(b.AsDouble(), a.AsUint()));
  return a.IsInt() ? CompareIntUint(a.AsInt(), b.AsUint()) : -CompareIntUint(b.AsInt(), a.AsUint());
}

bool EqualLists(const List& a, const List& b) {
  if (auto answer = a.EqualTo(b)) return *answer;
  if (a.size() != b.size()) return false;
  for (uint64_t i = 0; i < a.size(); ++i) {
    if (!Equal(a.At(i), b.At(i))) return false;
  }
  return true;
}

bool EqualMaps(const Map& a, const Map& b) {
  if (a.StructName() != b.StructName()) return false;
  if (a.size() != b.size()) return false;
  if (auto answer = a.EqualTo(b)) return *answer;
  for (uint64_t i = 0; i < a.size(); ++i) {
    auto other = b.Find(a.KeyAt(i));
    if (!other || !Equal(a.ValueAt(i), *other)) return false;
  }
  return true;
}

// The same type and value: what makes keys of a map one.
bool SameKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kNull: return true;
    case ValueKind::kString: case ValueKind::kBytes: case ValueKind::kType: return a.text() == b.text();
    case ValueKind::kDouble: return a.AsDouble() == b.AsDouble();
    case ValueKind::kTimestamp: return a.seconds() == b.seconds() && a.nanos() == b.nanos();
    case ValueKind::kList: return &a.list() == &b.list();
    case ValueKind::kMap: return &a.map() == &b.map();
    default: return a.AsInt() == b.AsInt();
  }
}

uint64_t HashOf(const Value& key) {
  uint64_t hash = 0;
  if (key.IsString() || key.IsBytes() || key.IsType()) {
    hash = std::hash<std::string_view>()(key.text());
  } else if (key.IsDouble()) {
    hash = std::hash<double>()(key.AsDouble());
  } else {
    hash = static_cast<uint64_t>(key.AsInt());
  }
  return (hash + static_cast<uint64_t>(key.kind())) * 0x9E3779B97F4A7C15ull;
}

}  // namespace

std::string_view Value::TypeName() const {
  switch (kind_) {
    case ValueKind::kNull: return "null_type";
    case ValueKind::kBool: return "bool";
    case ValueKind::kInt: return "int";
    case ValueKind::kUint: return "uint";
    case ValueKind::kDouble: return "double";
    case ValueKind::kString: return "string";
    case ValueKind::kBytes: return "bytes";
    case ValueKind::kTimestamp: return "google.protobuf.Timestamp";
    case ValueKind::kDuration: return "google.protobuf.Duration";
    case ValueKind::kList: return "list";
    case ValueKind::kMap: return map_->StructName().empty() ? "map" : map_->StructName();
    case ValueKind::kType: return "type";
    case ValueKind::kOptional: return "optional_type";
    case ValueKind::kOpaque: return opaque_->TypeName();
    case ValueKind::kError: return "error";
  }
  return "";
}

bool Equal(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return CompareNumbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kNull: return true;
    case ValueKind::kBool: case ValueKind::kDuration: return a.AsInt() == b.AsInt();
    case ValueKind::kString: case ValueKind::kBytes: case ValueKind::kType: return a.text() == b.text();
    case ValueKind::kTimestamp: return a.seconds() == b.seconds() && a.nanos() == b.nanos();
    case ValueKind::kList: return EqualLists(a.list(), b.list());
    case ValueKind::kMap: return EqualMaps(a.map(), b.map());
    case ValueKind::kOptional:
      if (!a.optional() || !b.optional()) return a.optional() == b.optional();
      return Equal(*a.optional(), *b.optional());
    case ValueKind::kOpaque:
      return a.opaque().TypeName() == b.opaque().TypeName() && a.opaque().Equal(b.opaque()).value_or(false);
    default: return false;
  }
}

std::optional<int> Compare(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return CompareNumbers(a, b);
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case ValueKind::kBool: case ValueKind::kDuration: return Sign(a.AsInt() < b.AsInt(), a.AsInt() > b.AsInt());
    case ValueKind::kString: case ValueKind::kBytes: {
      int order = a.text().compare(b.text());
      return Sign(order < 0, order > 0);
    }
    case ValueKind::kTimestamp:
      if (a.seconds() != b.seconds()) return Sign(a.seconds() < b.seconds(), true);
      return Sign(a.nanos() < b.nanos(), a.nanos() > b.nanos());
    default: return std::nullopt;
  }
}

void ArrayList::Append(object::Arena& arena, const Value& value) {
  if (size_ >= capacity_) {
    capacity_ = std::max<uint64_t>(4, size_ * 2);
    Value* grown = arena.AllocateArray<Value>(capacity_);
    if (size_ != 0) std::memcpy(static_cast<void*>(grown), items_, size_ * sizeof(Value));
    items_ = grown;
  }
  const_cast<Value*>(items_)[size_++] = value;
}

uint64_t ArrayMap::Slot(const Value& key) const {
  uint64_t slot = HashOf(key) >> 20 & (slot_count_ - 1);
  while (slots_[slot] != 0 && !SameKey(entries_[slots_[slot] - 1].key, key)) slot = (slot + 1) & (slot_count_ - 1);
  return slot;
}

const ArrayMap::Entry* ArrayMap::FindExact(const Value& key) const {
  if (slots_ != nullptr) {
    uint32_t entry = slots_[Slot(key)];
    return entry == 0 ? nullptr : &entries_[entry - 1];
  }
  for (uint64_t i = 0; i < size_; ++i) {
    if (SameKey(entries_[i].key, key)) return &entries_[i];
  }
  return nullptr;
}

std::optional<Value> ArrayMap::Find(const Value& key) const {
  if (const Entry* entry = FindExact(key)) return entry->value;
  if (!key.IsNumber()) return std::nullopt;
  // The same number as another type; only without loss.
  const Entry* found = nullptr;
  auto try_key = [&](const Value& other) {
    if (!found && other.kind() != key.kind() && CompareNumbers(other, key) == 0) found = FindExact(other);
  };
  if (key.IsDouble()) {
    double d = key.AsDouble();
    if (d > -kTwoTo63 && d < kTwoTo63) try_key(Value::Int(static_cast<int64_t>(d)));
    if (d >= 0 && d < kTwoTo64) try_key(Value::Uint(static_cast<uint64_t>(d)));
  } else if (key.IsInt()) {
    if (key.AsInt() >= 0) try_key(Value::Uint(static_cast<uint64_t>(key.AsInt())));
    try_key(Value::Double(static_cast<double>(key.AsInt())));
  } else {
    if (key.AsUint() <= INT64_MAX) try_key(Value::Int(static_cast<int64_t>(key.AsUint())));
    try_key(Value::Double(static_cast<double>(key.AsUint())));
  }
  if (found) return found->value;
  return std::nullopt;
}

void ArrayMap::Index(object::Arena& arena) {
  slot_count_ = std::max<uint64_t>(32, capacity_ * 2);
  slots_ = arena.AllocateArray<uint32_t>(slot_count_);
  std::memset(slots_, 0, slot_count_ * sizeof(uint32_t));
  for (uint64_t i = 0; i < size_; ++i) slots_[Slot(entries_[i].key)] = static_cast<uint32_t>(i + 1);
}

void ArrayMap::Set(object::Arena& arena, const Value& key, const Value& value) {
  if (const Entry* entry = FindExact(key)) {
    const_cast<Entry*>(entry)->value = value;
    return;
  }
  if (size_ == capacity_) {
    capacity_ = std::max<uint64_t>(4, capacity_ * 2);
    Entry* grown = arena.AllocateArray<Entry>(capacity_);
    if (size_ != 0) std::memcpy(static_cast<void*>(grown), entries_, size_ * sizeof(Entry));
    entries_ = grown;
    if (capacity_ > kIndexFrom) Index(arena);
  }
  entries_[size_++] = {key, value};
  if (slots_ != nullptr) slots_[Slot(key)] = static_cast<uint32_t>(size_);
}

void ArrayMap::Erase(const Value& key) {
  const Entry* entry = FindExact(key);
  if (entry == nullptr) return;
  uint64_t position = static_cast<uint64_t>(entry - entries_);
  std::memmove(static_cast<void*>(&entries_[position]), &entries_[position + 1], (size_ - position - 1) * sizeof(Entry));
  --size_;
  if (slots_ == nullptr) return;
  std::memset(slots_, 0, slot_count_ * sizeof(uint32_t));
  for (uint64_t i = 0; i < size_; ++i) slots_[Slot(entries_[i].key)] = static_cast<uint32_t>(i + 1);
}

Value MakeString(object::Arena& arena, std::string_view text) { return Value::String(arena.Copy(text)); }
Value MakeError(object::Arena& arena, std::string_view message) { return Value::Error(arena.Copy(message)); }

Value MakeOptional(object::Arena& arena, const Value& value) { return Value::Optional(MakeInArena<Value>(arena, value)); }

Value MakeList(object::Arena& arena, const std::vector<Value>& items) {
  Value* copy = arena.AllocateArray<Value>(items.size());
  if (!items.empty()) std::memcpy(static_cast<void*>(copy), items.data(), items.size() * sizeof(Value));
  return Value::Of(MakeInArena<ArrayList>(arena, copy, items.size()));
}

}  // namespace homeostat::cel
