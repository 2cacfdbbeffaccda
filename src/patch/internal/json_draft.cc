#include "patch/internal/json_draft.h"

#include <algorithm>

namespace homeostat::patch::internal {

namespace {

constexpr size_t kIndexAbove = 24;

}  // namespace

void Draft::Open(DraftNode* node) {
  if (node->opened_) return;
  node->opened_ = true;
  node->object_ = node->value_.IsObject();
  for (const object::Member& member : node->value_.members())
    node->members_.push_back({member.name(), Make(member.value)});
  for (const Value& item : node->value_.items()) node->items_.push_back(Make(item));
}

DraftNode::NamedNode* Draft::FindMember(DraftNode* object, std::string_view name) {
  Open(object);
  std::vector<DraftNode::NamedNode>& members = object->members_;
  if (members.size() <= kIndexAbove) {
    for (DraftNode::NamedNode& member : members) {
      if (member.name == name) return &member;
    }
    return nullptr;
  }
  for (size_t i = object->index_.size(); i < members.size(); ++i) object->index_.emplace(members[i].name, i);
  auto found = object->index_.find(name);
  return found == object->index_.end() ? nullptr : &members[found->second];
}

DraftNode* Draft::Member(DraftNode* object, std::string_view name) {
  DraftNode::NamedNode* member = FindMember(object, name);
  return member ? member->node : nullptr;
}

void Draft::SetMember(DraftNode* object, std::string_view name, DraftNode* value) {
  if (DraftNode::NamedNode* member = FindMember(object, name)) {
    member->node = value;
  } else {
    object->members_.push_back({arena_.Copy(name), value});
  }
}

bool Draft::EraseMember(DraftNode* object, std::string_view name) {
  DraftNode::NamedNode* member = FindMember(object, name);
  if (member == nullptr || member->node == nullptr) return false;
  member->node = nullptr;
  return true;
}

std::vector<DraftNode*>& Draft::Items(DraftNode* list) {
  Open(list);
  return list->items_;
}

Value Draft::Freeze(const DraftNode* node) const {
  if (!node->opened_) return node->value_.IsAbsent() ? Value::Null() : node->value_;
  if (!node->object_) {
    Value* items = arena_.AllocateArray<Value>(node->items_.size());
    for (size_t i = 0; i < node->items_.size(); ++i) new (items + i) Value(Freeze(node->items_[i]));
    return Value::List({items, node->items_.size()});
  }
  auto* members = arena_.AllocateArray<object::Member>(node->members_.size());
  size_t count = 0;
  for (const DraftNode::NamedNode& member : node->members_) {
    if (member.node != nullptr) new (members + count++) object::Member(member.name, Freeze(member.node));
  }
  // Upstream's library writes by name what it has taken apart; the rest keeps its order.
  std::sort(members, members + count, [](const object::Member& a, const object::Member& b) { return a.name() < b.name(); });
  return Value::Object({members, count});
}

bool Draft::Equal(DraftNode* node, const Value& value) {
  if (!node->opened_) return object::Equal(node->value_, value);
  if (!node->object_) {
    if (!value.IsList() || value.size() != node->items_.size()) return false;
    for (size_t i = 0; i < value.size(); ++i) {
      if (!Equal(node->items_[i], value.items()[i])) return false;
    }
    return true;
  }
  if (!value.IsObject()) return false;
  size_t present = 0;
  for (const DraftNode::NamedNode& member : node->members_) present += member.node != nullptr;
  if (present != value.size()) return false;
  for (const object::Member& member : value.members()) {
    DraftNode* mine = Member(node, member.name());
    if (mine == nullptr || !Equal(mine, member.value)) return false;
  }
  return true;
}

}  // namespace homeostat::patch::internal
