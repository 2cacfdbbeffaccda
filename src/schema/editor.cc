#include "homeostat/schema/editor.h"

#include <algorithm>
#include <cassert>

#include "schema/internal/presence.h"

namespace homeostat::schema {

using object::Member;
using object::Value;

namespace {

bool IsListType(const Type* type) { return type != nullptr && type->form == Form::kList; }

Value EmptyOf(const Type* type) { return IsListType(type) ? Value::EmptyList() : Value::EmptyObject(); }

// Whether a conformed tree leaves the field out: what is zero to Go, and not behind a pointer, isn't there.
bool IsLeftOut(const Type& type, uint16_t field, const Value& value) {
  if (type.structural || field >= type.fields.size()) return false;
  const Field& definition = type.fields[field];
  return !definition.Has(kPointer) && internal::IsZero(*definition.type, value);
}

// Whether the value can be edited as a node of that type; null, say, can't, and is replaced.
bool Fits(const Value& value, const Type* type) { return IsListType(type) ? value.IsList() : value.IsObject(); }

}  // namespace

Editor::Editor(const Type& type, Subtree from) : document_(std::make_shared<object::Document>()) {
  Value original = from.value().IsObject() ? Adopt(from) : Value::EmptyObject();
  root_ = &NewNode(&type, original);
}

EditNode& Editor::NewNode(const Type* type, Value original) {
  EditNode& node = nodes_.emplace_back();
  node.type = type;
  node.original = original;
  return node;
}

void Editor::Open(EditNode& node) {
  if (node.opened) return;
  node.opened = true;
  node.slots.reserve(node.original.size() + 2);
  for (const Value& item : node.original.items()) node.slots.push_back({{}, object::kNoField, item, nullptr});
  for (const Member& member : node.original.members()) {
    node.slots.push_back({member.name(), member.field, member.value, nullptr});
  }
}

EditNode::Slot* Editor::FindField(EditNode& node, uint16_t field) {
  Open(node);
  for (EditNode::Slot& slot : node.slots) {
    if (slot.field == field) return &slot;
  }
  return nullptr;
}

EditNode& Editor::SlotNode(EditNode::Slot& slot, const Type* type) {
  if (slot.child == nullptr) {
    bool fits = Fits(slot.value, type);
    slot.child = &NewNode(type, fits ? slot.value : EmptyOf(type));
    slot.child->changed = !fits;
  }
  return *slot.child;
}

EditNode& Editor::FieldNode(EditNode& node, uint16_t field) {
  const Field& definition = node.type->fields[field];
  EditNode::Slot* slot = FindField(node, field);
  if (slot == nullptr) {
    auto at = std::find_if(node.slots.begin(), node.slots.end(), [&](const EditNode::Slot& s) { return s.field > field; });
    slot = &*node.slots.insert(at, {definition.name, field, EmptyOf(definition.type), nullptr});
    node.changed |= !IsLeftOut(*node.type, field, slot->value);
  }
  return SlotNode(*slot, definition.type);
}

EditNode::Slot& Editor::EntrySlot(EditNode& map, std::string_view key) {
  Open(map);
  for (EditNode::Slot& slot : map.slots) {
    if (slot.name == key) return slot;
  }
  auto at = std::find_if(map.slots.begin(), map.slots.end(), [&](const EditNode::Slot& s) { return s.name > key; });
  map.changed = true;
  return *map.slots.insert(at, {document_->arena().Copy(key), object::kNoField, Value(), nullptr});
}

Value Editor::Adopt(const Subtree& subtree) {
  if (subtree.document() == nullptr) return DeepCopy(document_->arena(), subtree.value());
  document_->arena().Keep(subtree.document());
  return subtree.value();
}

bool Editor::Differs(const EditNode& node) {
  if (node.changed) return true;
  return std::any_of(node.slots.begin(), node.slots.end(),
                     [](const EditNode::Slot& slot) { return slot.child != nullptr && Differs(*slot.child); });
}

std::pair<Value, bool> Editor::Settle(EditNode& node) {
  bool differs = node.changed;
  for (EditNode::Slot& slot : node.slots) {
    if (slot.child == nullptr) continue;
    auto [value, changed] = Settle(*slot.child);
    slot.value = value;
    differs |= changed;
  }
  if (!differs) return {node.original, false};
  object::Arena& arena = document_->arena();
  if (IsListType(node.type)) {
    Value* items = arena.AllocateArray<Value>(node.slots.size());
    std::transform(node.slots.begin(), node.slots.end(), items, [](const EditNode::Slot& slot) { return slot.value; });
    node.original = Value::List({items, node.slots.size()});
  } else {
    Member* members = arena.AllocateArray<Member>(node.slots.size());
    size_t count = 0;
    for (const EditNode::Slot& slot : node.slots) {
      if (!IsLeftOut(*node.type, slot.field, slot.value)) members[count++] = Member(slot.name, slot.value, slot.field);
    }
    node.original = Value::Object({members, count});
  }
  node.changed = false;
  return {node.original, true};
}

std::shared_ptr<object::Document> Editor::Rotate() {
  auto next = std::make_shared<object::Document>();
  next->arena().Keep(document_);
  return std::exchange(document_, std::move(next));
}

Value Cursor::MakeText(std::string_view text) const { return Value::String(editor_->document_->arena(), text); }

Value Cursor::MakeBytes(std::string_view octets) const { return Value::BytesCopy(editor_->document_->arena(), octets); }

void Cursor::Set(uint16_t field, Value value) {
  if (value.IsAbsent() || IsLeftOut(*node_->type, field, value)) return Clear(field);
  EditNode::Slot* slot = editor_->FindField(*node_, field);
  if (slot == nullptr) {
    auto at = std::find_if(node_->slots.begin(), node_->slots.end(), [&](const EditNode::Slot& s) { return s.field > field; });
    node_->slots.insert(at, {node_->type->fields[field].name, field, value, nullptr});
  } else {
    if (slot->child == nullptr && Equal(slot->value, value)) return;
    slot->value = value;
    slot->child = nullptr;
  }
  node_->changed = true;
}

void Cursor::Set(uint16_t field, Subtree subtree) {
  EditNode::Slot* slot = editor_->FindField(*node_, field);
  if (slot != nullptr && slot->child == nullptr && Equal(slot->value, subtree.value())) return;
  Set(field, editor_->Adopt(subtree));
}

void Cursor::Clear(uint16_t field) {
  EditNode::Slot* slot = editor_->FindField(*node_, field);
  if (slot == nullptr) return;
  node_->slots.erase(node_->slots.begin() + (slot - node_->slots.data()));
  node_->changed = true;
}

Cursor Cursor::Child(uint16_t field) { return {*editor_, editor_->FieldNode(*node_, field)}; }

Value Cursor::Current(uint16_t field) const {
  EditNode::Slot* slot = editor_->FindField(*node_, field);
  if (slot == nullptr) return {};
  return slot->child == nullptr ? slot->value : editor_->Settle(*slot->child).first;
}

size_t Cursor::SizeAt(uint16_t field) const {
  EditNode::Slot* slot = editor_->FindField(*node_, field);
  if (slot == nullptr) return 0;
  return slot->child != nullptr && slot->child->opened ? slot->child->slots.size() : slot->value.size();
}

void Cursor::AddItem(uint16_t field, Value value) {
  if (value.IsAbsent()) return;
  EditNode& list = editor_->FieldNode(*node_, field);
  Editor::Open(list);
  list.slots.push_back({{}, object::kNoField, value, nullptr});
  list.changed = true;
}

void Cursor::AddItem(uint16_t field, Subtree subtree) { AddItem(field, editor_->Adopt(subtree)); }

Cursor Cursor::AddChild(uint16_t field) { return InsertChild(field, SizeAt(field)); }

Cursor Cursor::InsertChild(uint16_t field, size_t index) {
  EditNode& list = editor_->FieldNode(*node_, field);
  Editor::Open(list);
  index = std::min(index, list.slots.size());
  EditNode& child = editor_->NewNode(list.type->element, EmptyOf(list.type->element));
  auto at = list.slots.begin() + static_cast<std::ptrdiff_t>(index);
  list.slots.insert(at, {{}, object::kNoField, child.original, &child});
  list.changed = true;
  return {*editor_, child};
}

Cursor Cursor::ChildAt(uint16_t field, size_t index) {
  EditNode& list = editor_->FieldNode(*node_, field);
  Editor::Open(list);
  assert(index < list.slots.size());
  if (index >= list.slots.size()) return {*editor_, editor_->NewNode(list.type->element, EmptyOf(list.type->element))};
  return {*editor_, editor_->SlotNode(list.slots[index], list.type->element)};
}

void Cursor::EraseItem(uint16_t field, size_t index) {
  if (index >= SizeAt(field)) return;
  EditNode& list = editor_->FieldNode(*node_, field);
  Editor::Open(list);
  list.slots.erase(list.slots.begin() + static_cast<std::ptrdiff_t>(index));
  list.changed = true;
}

void Cursor::SetEntry(uint16_t field, std::string_view key, Value value) {
  if (value.IsAbsent()) return EraseEntry(field, key);
  EditNode& map = editor_->FieldNode(*node_, field);
  EditNode::Slot& slot = editor_->EntrySlot(map, key);
  if (slot.child == nullptr && Equal(slot.value, value)) return;
  slot.value = value;
  slot.child = nullptr;
  map.changed = true;
}

void Cursor::SetEntry(uint16_t field, std::string_view key, Subtree subtree) { SetEntry(field, key, editor_->Adopt(subtree)); }

Cursor Cursor::ChildAt(uint16_t field, std::string_view key) {
  EditNode& map = editor_->FieldNode(*node_, field);
  return {*editor_, editor_->SlotNode(editor_->EntrySlot(map, key), map.type->element)};
}

void Cursor::EraseEntry(uint16_t field, std::string_view key) {
  if (SizeAt(field) == 0) return;
  EditNode& map = editor_->FieldNode(*node_, field);
  Editor::Open(map);
  auto at = std::find_if(map.slots.begin(), map.slots.end(), [&](const EditNode::Slot& slot) { return slot.name == key; });
  if (at == map.slots.end()) return;
  map.slots.erase(at);
  map.changed = true;
}

Value Cursor::Snapshot() const { return editor_->Settle(*node_).first; }

bool Cursor::Changed() const { return Editor::Differs(*node_); }

object::DocumentPtr Cursor::Freeze() {
  Value value = Snapshot();
  std::shared_ptr<object::Document> document = editor_->Rotate();
  document->set_root(value);
  return document;
}

Value Cursor::FreezeInto(object::Arena& arena) {
  Value value = Snapshot();
  arena.Keep(editor_->Rotate());
  return value;
}

Builder::Builder(const Type& type, std::string_view kind, std::string_view api_version) : Builder(type) {
  Set(0, MakeText(kind));
  Set(1, MakeText(api_version));
}

}  // namespace homeostat::schema
