#include "homeostat/object/member_order.h"
#include "homeostat/object/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory_resource>

namespace homeostat::object {

Value Value::List(std::span<const Value> items) {
  Value v(ValueKind::kList);
  v.size_ = static_cast<uint32_t>(items.size());
  v.items_ = items.data();
  return v;
}

Value Value::Object(std::span<const Member> members) {
  Value v(ValueKind::kObject);
  v.size_ = static_cast<uint32_t>(members.size());
  v.members_ = members.data();
  return v;
}

namespace {

template <class Word>
bool SameWords(const char* a, const char* b, size_t size) {
  Word a_first, b_first, a_last, b_last;
  std::memcpy(&a_first, a, sizeof(Word));
  std::memcpy(&b_first, b, sizeof(Word));
  std::memcpy(&a_last, a + size - sizeof(Word), sizeof(Word));
  std::memcpy(&b_last, b + size - sizeof(Word), sizeof(Word));
  return ((a_first ^ b_first) | (a_last ^ b_last)) == 0;
}

// Names are short, and looked up by the thousand for each request: without a call, by their first and last words, which overlap.
bool SameName(const char* a, const char* b, size_t size) {
  if (size > 2 * sizeof(uint64_t)) return std::memcmp(a, b, size) == 0;
  if (size >= sizeof(uint64_t)) return SameWords<uint64_t>(a, b, size);
  if (size >= sizeof(uint32_t)) return SameWords<uint32_t>(a, b, size);
  if (size >= sizeof(uint16_t)) return SameWords<uint16_t>(a, b, size);
  return *a == *b;
}

}  // namespace

const Member* Value::Find(std::string_view name) const {
  if (name.empty()) {
    for (const Member& member : members()) {
      if (member.name_size == 0) return &member;
    }
    return nullptr;
  }
  // Most names of one length differ in their last character already, which saves the call.
  const char last = name.back();
  for (const Member& member : members()) {
    if (member.name_size == name.size() && member.name_data[name.size() - 1] == last &&
        SameName(member.name_data, name.data(), name.size())) {
      return &member;
    }
  }
  return nullptr;
}

Value Value::Get(std::string_view name) const {
  const Member* member = Find(name);
  return member ? member->value : Value();
}

Value Value::Path(std::initializer_list<std::string_view> names) const {
  Value at = *this;
  for (std::string_view name : names) at = at.Get(name);
  return at;
}

namespace {

// Work still to be done on a pair of lists or objects. Explicit, so that the depth of a tree costs heap and not stack;
// the first few dozen entries live in the caller's frame.
struct Pair {
  Value a;
  Value b;
};

class PairStack {
 public:
  PairStack() : memory_(buffer_, sizeof(buffer_)), pairs_(&memory_) { pairs_.reserve(kInline); }
  bool empty() const { return pairs_.empty(); }
  void Push(const Value& a, const Value& b) { pairs_.push_back({a, b}); }
  Pair Pop() {
    Pair pair = pairs_.back();
    pairs_.pop_back();
    return pair;
  }

 private:
  static constexpr size_t kInline = 64;
  alignas(Pair) std::byte buffer_[kInline * sizeof(Pair)];
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::vector<Pair> pairs_;
};

bool IsTree(const Value& value) { return value.size() != 0; }

template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Not a number sorts before every number and equals itself, so that the order is total.
int OrderDoubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Order(!std::isnan(a), !std::isnan(b));
  return Order(a, b);
}

// Orders scalars, and lists and objects by kind and size alone.
int OrderShallow(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return Order(a.kind(), b.kind());
  switch (a.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return 0;
    case ValueKind::kBool:
      return Order(a.AsBool(), b.AsBool());
    case ValueKind::kInt:
      return Order(a.AsInt(), b.AsInt());
    case ValueKind::kDouble:
      return OrderDoubles(a.AsDouble(), b.AsDouble());
    case ValueKind::kString:
    case ValueKind::kBytes:
      return a.AsString().compare(b.AsString());
    case ValueKind::kList:
    case ValueKind::kObject:
      return Order(a.size(), b.size());
  }
  return 0;
}

bool SameTree(const Value& a, const Value& b) {
  return a.kind() == b.kind() && a.size() == b.size() &&
         (a.IsList() ? a.items().data() == b.items().data() : a.members().data() == b.members().data());
}

bool SameNamesInOrder(std::span<const Member> a, std::span<const Member> b) {
  // Names of one type are mostly the table's own.
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name_size != b[i].name_size) return false;
    if (a[i].name_data != b[i].name_data && a[i].name() != b[i].name()) return false;
  }
  return true;
}

bool EqualTrees(const Value& a, const Value& b, int depth);

// depth: how many levels may still be gone down on the stack.
bool EqualAt(const Value& a, const Value& b, int depth) {
  if (!IsTree(a)) return OrderShallow(a, b) == 0;
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  return SameTree(a, b) || EqualTrees(a, b, depth);
}

bool IsSortedByName(std::span<const Member> members) {
  return std::is_sorted(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name() < b.name(); });
}

// Pushes the members of both so that they come off the stack in order of names; nonzero if the names already decide.
int CompareMembers(const Value& a, const Value& b, PairStack& stack) {
  if (IsSortedByName(a.members()) && IsSortedByName(b.members())) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (int order = a.members()[i].name().compare(b.members()[i].name())) return order;
    }
    for (size_t i = a.size(); i-- > 0;) stack.Push(a.members()[i].value, b.members()[i].value);
    return 0;
  }
  std::vector<const Member*> left = SortedByName(a), right = SortedByName(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (int order = left[i]->name().compare(right[i]->name())) return order;
  }
  for (size_t i = left.size(); i-- > 0;) stack.Push(left[i]->value, right[i]->value);
  return 0;
}

// Both of one kind and size. What is deeper than that, no object that anyone has made by hand, is left to Compare, which needs no
// stack; it tells integers from doubles, too.
bool EqualTrees(const Value& a, const Value& b, int depth) {
  if (depth == 0) return Compare(a, b) == 0;
  if (a.IsList()) {
    return std::ranges::equal(a.items(), b.items(), [depth](const Value& x, const Value& y) { return EqualAt(x, y, depth - 1); });
  }
  std::span<const Member> left = a.members(), right = b.members();
  if (SameNamesInOrder(left, right)) {
    return std::ranges::equal(left, right, [depth](const Member& x, const Member& y) { return EqualAt(x.value, y.value, depth - 1); });
  }
  return std::ranges::equal(SortedByName(a), SortedByName(b), [depth](const Member* x, const Member* y) {
    return x->name() == y->name() && EqualAt(x->value, y->value, depth - 1);
  });
}

}  // namespace

bool Equal(const Value& a, const Value& b) {
  constexpr int kDepth = 200;
  return EqualAt(a, b, kDepth);
}

int Compare(const Value& a, const Value& b) {
  if (!IsTree(a) || !IsTree(b)) return OrderShallow(a, b);
  // What an item of a list is known by is mostly one member.
  if (a.IsObject() && b.IsObject() && a.size() == 1 && b.size() == 1 && !IsTree(a.members()[0].value) && !IsTree(b.members()[0].value)) {
    int order = a.members()[0].name().compare(b.members()[0].name());
    return order != 0 ? order : OrderShallow(a.members()[0].value, b.members()[0].value);
  }
  PairStack stack;
  stack.Push(a, b);
  while (!stack.empty()) {
    Pair pair = stack.Pop();
    if (int order = OrderShallow(pair.a, pair.b)) return order;
    if (!IsTree(pair.a) || SameTree(pair.a, pair.b)) continue;
    if (pair.a.IsObject()) {
      if (int order = CompareMembers(pair.a, pair.b, stack)) return order;
      continue;
    }
    for (size_t i = pair.a.size(); i-- > 0;) stack.Push(pair.a.items()[i], pair.b.items()[i]);
  }
  return 0;
}

ObjectBuilder::ObjectBuilder(Arena& arena, const Value& from)
    : arena_(arena), members_(from.members().begin(), from.members().end()) {}

namespace {

Member* FindMember(std::vector<Member>& members, std::string_view name) {
  for (Member& member : members) {
    if (member.name() == name) return &member;
  }
  return nullptr;
}

}  // namespace

ObjectBuilder& ObjectBuilder::Set(std::string_view name, Value value, uint16_t field) {
  if (value.IsAbsent()) return Erase(name);
  Member* old = FindMember(members_, name);
  if (old == nullptr) return SetField(field, name, value);
  if (old->field != field && field != kNoField) {
    Erase(name);
    return SetField(field, name, value);
  }
  old->value = value;
  return *this;
}

ObjectBuilder& ObjectBuilder::SetCopyName(std::string_view name, Value value) {
  if (value.IsAbsent() || FindMember(members_, name) != nullptr) return Set(name, value);
  Append(arena_.Copy(name), value);
  return *this;
}

ObjectBuilder& ObjectBuilder::SetField(uint16_t field, std::string_view name, Value value) {
  auto at = members_.end();
  if (field != kNoField) {
    at = std::lower_bound(members_.begin(), members_.end(), field,
                          [](const Member& member, uint16_t index) { return member.field < index; });
    if (at != members_.end() && at->field == field) {
      if (value.IsAbsent()) {
        members_.erase(at);
      } else {
        at->value = value;
      }
      return *this;
    }
  }
  if (!value.IsAbsent()) members_.insert(at, Member(name, value, field));
  return *this;
}

ObjectBuilder& ObjectBuilder::Erase(std::string_view name) {
  std::erase_if(members_, [name](const Member& member) { return member.name() == name; });
  return *this;
}

Value ObjectBuilder::Get(std::string_view name) const {
  for (const Member& member : members_) {
    if (member.name() == name) return member.value;
  }
  return {};
}

Value ObjectBuilder::Build() {
  Member* copy = arena_.AllocateArray<Member>(members_.size());
  std::uninitialized_copy(members_.begin(), members_.end(), copy);
  return Value::Object({copy, members_.size()});
}

Value ListBuilder::Build() {
  Value* copy = arena_.AllocateArray<Value>(items_.size());
  std::uninitialized_copy(items_.begin(), items_.end(), copy);
  return Value::List({copy, items_.size()});
}

namespace {

Value WithPathFrom(Arena& arena, const Value& root, std::span<const std::string_view> names, const Value& value) {
  if (names.empty()) return value;
  Value old = root.Get(names[0]);
  if (value.IsAbsent() && old.IsAbsent()) return root;
  Value child = WithPathFrom(arena, old, names.subspan(1), value);
  ObjectBuilder builder(arena, root);
  builder.SetCopyName(names[0], child);
  return builder.Build();
}

}  // namespace

Value WithPath(Arena& arena, const Value& root, std::initializer_list<std::string_view> names, Value value) {
  return WithPathFrom(arena, root, {names.begin(), names.size()}, value);
}

}  // namespace homeostat::object
