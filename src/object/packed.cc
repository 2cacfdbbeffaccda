#include "homeostat/object/packed.h"

#include <vector>

namespace homeostat::object {

namespace {

// Blocks come first, texts after them: nothing is lost to alignment.
struct Room {
  size_t blocks = 0, texts = 0;
};

// Whose name is copied.
using Names = bool (*)(const Member&);
bool Every(const Member&) { return true; }
bool OfNoField(const Member& member) { return member.field == kNoField; }

Room RoomOf(const Value& root, Names copied) {
  Room room;
  std::vector<Value> rest;
  auto count = [&](const Value& value) {
    room.texts += value.AsString().size();
    if (!value.empty()) rest.push_back(value);
  };
  count(root);
  while (!rest.empty()) {
    Value value = rest.back();
    rest.pop_back();
    room.blocks += value.items().size_bytes() + value.members().size_bytes();
    for (const Value& item : value.items()) count(item);
    for (const Member& member : value.members()) {
      if (copied(member)) room.texts += member.name().size();
      count(member.value);
    }
  }
  return room;
}

class Copier {
 public:
  Copier(Arena& arena, const Value& root, Names copied) : copied_(copied) {
    Room room = RoomOf(root, copied);
    arena.Reserve(room.blocks + room.texts + alignof(Value));
    block_ = arena.AllocateArray<Value>(room.blocks / sizeof(Value));
    text_ = arena.AllocateArray<char>(room.texts);
  }

  Value Copy(const Value& root) {
    Value result = Shallow(root);
    while (!jobs_.empty()) {
      Job job = jobs_.back();
      jobs_.pop_back();
      for (const Value& item : job.source.items()) new (job.items++) Value(Shallow(item));
      for (const Member& member : job.source.members()) {
        std::string_view name = copied_(member) ? Text(member.name()) : member.name();
        new (job.members++) Member(name, Shallow(member.value), member.field);
      }
    }
    return result;
  }

 private:
  // A list or object whose copy has room but no contents yet.
  struct Job {
    Value source;
    Value* items;
    Member* members;
  };

  std::string_view Text(std::string_view text) {
    std::string_view copy(text_, text.copy(text_, text.size()));
    text_ += text.size();
    return copy;
  }

  template <class T>
  T* Block(size_t count) {
    static_assert(sizeof(T) % sizeof(Value) == 0 && alignof(T) <= alignof(Value));
    T* block = reinterpret_cast<T*>(block_);
    block_ += count * (sizeof(T) / sizeof(Value));
    return block;
  }

  Value Shallow(const Value& value) {
    if (value.IsString()) return Value::StringRef(Text(value.AsString()));
    if (value.IsBytes()) return Value::BytesRef(Text(value.AsString()));
    if (value.empty()) return value;
    if (value.IsList()) {
      Value* items = Block<Value>(value.size());
      jobs_.push_back({value, items, nullptr});
      return Value::List({items, value.size()});
    }
    Member* members = Block<Member>(value.size());
    jobs_.push_back({value, nullptr, members});
    return Value::Object({members, value.size()});
  }

  const Names copied_;
  Value* block_ = nullptr;
  char* text_ = nullptr;
  std::vector<Job> jobs_;
};

}  // namespace

Value DeepCopy(Arena& arena, const Value& value) { return Copier(arena, value, Every).Copy(value); }

Value PackedInto(Arena& arena, const Value& root) { return Copier(arena, root, OfNoField).Copy(root); }

DocumentPtr Packed(const Value& root) {
  auto document = std::make_shared<Document>();
  document->set_root(PackedInto(document->arena(), root));
  return document;
}

}  // namespace homeostat::object
