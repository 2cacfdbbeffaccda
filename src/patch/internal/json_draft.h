// Draft: a JSON document while it is being patched. Only what is touched is taken apart; the rest stays the values it
// was.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/object/value.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

// A value, or one that has been taken apart into members or items. Nodes belong to the draft that made them.
class DraftNode {
 public:
  explicit DraftNode(Value value) : value_(value) {}

  bool IsObject() const { return opened_ ? object_ : value_.IsObject(); }
  bool IsList() const { return opened_ ? !object_ : value_.IsList(); }
  bool IsNull() const { return !opened_ && !value_; }

 private:
  friend class Draft;

  struct NamedNode {
    std::string_view name;
    DraftNode* node;  // null: erased
  };

  Value value_;
  bool opened_ = false;
  bool object_ = false;
  std::vector<NamedNode> members_;
  std::unordered_map<std::string_view, size_t> index_;  // of members_, once there are many
  std::vector<DraftNode*> items_;
};

class Draft {
 public:
  Draft(Arena& arena, const Value& document) : arena_(arena), root_(Make(document)) {}

  DraftNode* root() const { return root_; }
  void set_root(DraftNode* root) { root_ = root; }
  DraftNode* Make(Value value) { return &nodes_.emplace_back(value); }

  // Of an object. Null if there is no such member.
  DraftNode* Member(DraftNode* object, std::string_view name);
  void SetMember(DraftNode* object, std::string_view name, DraftNode* value);
  // False if there is none.
  bool EraseMember(DraftNode* object, std::string_view name);
  // Of a list; positions are within it (Insert: or at its end).
  std::vector<DraftNode*>& Items(DraftNode* list);

  // The value as it is now.
  Value Freeze(const DraftNode* node) const;
  // The same data, integers and doubles kept apart.
  bool Equal(DraftNode* node, const Value& value);

 private:
  void Open(DraftNode* node);
  DraftNode::NamedNode* FindMember(DraftNode* object, std::string_view name);

  Arena& arena_;
  std::deque<DraftNode> nodes_;
  DraftNode* root_;
};

}  // namespace homeostat::patch::internal
