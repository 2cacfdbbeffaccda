// Editing: a tree of a schema type, new or changed from an existing one, built step by step. Copy on write: only what
// changes is copied, all else is shared with the original. Builders of built-in types are generated from api/
// (homeostat/api/<group>/<version>_builders.h):
//
//   apps::v1::DeploymentBuilder next(stored);                 // shares what stays as it is
//   next.mutable_spec().set_replicas(3);
//   next.mutable_metadata().set_labels("app", "web");
//   object::DocumentPtr document = next.Freeze();             // conformed: members carry field indexes
//
// Not safe for use by two threads at once. What Freeze gave out is immutable and may be read anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "homeostat/schema/view.h"

namespace homeostat::schema {

// What a whole subtree is set from. A value or a view is copied, since nobody says how long it lives; with its document
// it is shared. It must be in conformed shape.
class Subtree {
 public:
  Subtree(const object::Value& value) : value_(value) {}                 // NOLINT(google-explicit-constructor)
  Subtree(const View& view) : value_(view.Raw()) {}                      // NOLINT(google-explicit-constructor)
  template <class T>
  Subtree(const ListView<T>& list) : value_(list.Raw()) {}               // NOLINT(google-explicit-constructor)
  template <class T>
  Subtree(const MapView<T>& map) : value_(map.Raw()) {}                  // NOLINT(google-explicit-constructor)
  Subtree(object::OwnedValue owned)                                      // NOLINT(google-explicit-constructor)
      : value_(owned.value), document_(std::move(owned.document)) {}
  Subtree(object::DocumentPtr document)                                  // NOLINT(google-explicit-constructor)
      : value_(document == nullptr ? object::Value() : document->root()), document_(std::move(document)) {}

  const object::Value& value() const { return value_; }
  const object::DocumentPtr& document() const { return document_; }

 private:
  object::Value value_;
  object::DocumentPtr document_;
};

class Editor;

// One object, list or map being edited.
struct EditNode {
  struct Slot {
    std::string_view name;                    // of a member; lives as long as the schema or the editor's memory
    uint16_t field = object::kNoField;
    object::Value value;
    EditNode* child = nullptr;                // set once the value itself is edited
  };

  const Type* type = nullptr;
  object::Value original;                     // as of the last freeze
  bool opened = false;                        // slots are filled in
  bool changed = false;                       // slots differ from original, apart from changes inside children
  std::vector<Slot> slots;
};

// A place in a tree being edited: what generated builders are made of. Cheap to copy; the editor must outlive it, and
// replacing or erasing the place it stands for leaves it editing something that is no longer part of the tree.
// Fields are given by index in the type of the place, which must be a struct; text given is copied.
class Cursor {
 public:
  Cursor(Editor& editor, EditNode& node) : editor_(&editor), node_(&node) {}

  const Type& type() const { return *node_->type; }

  // Scalars, and text as the editor keeps it.
  object::Value MakeBool(bool value) const { return object::Value::Bool(value); }
  object::Value MakeInt(int64_t value) const { return object::Value::Int(value); }
  object::Value MakeUnsigned(uint64_t value) const { return object::Value::Int(static_cast<int64_t>(value)); }
  object::Value MakeDouble(double value) const { return object::Value::Double(value); }
  object::Value MakeText(std::string_view text) const;
  object::Value MakeBytes(std::string_view octets) const;

  // Struct fields. Setting what is already there, or an absent value over nothing, changes nothing. As in every
  // conformed tree, zero values of fields that aren't pointers are left out.
  // The value must live as long as the editor: a scalar without text, or made by MakeText or MakeBytes.
  void Set(uint16_t field, object::Value value);
  void Set(uint16_t field, Subtree subtree);
  void Clear(uint16_t field);
  // The field's object. Where there is none, a pointer becomes {}; a plain struct, only if something is set in it.
  Cursor Child(uint16_t field);
  // The field as it stands now; valid as long as the editor.
  object::Value Current(uint16_t field) const;

  // Fields that are lists, made empty where there is none. An index past the end is a fault of the caller: nothing is
  // erased, and edits of what ChildAt returns are lost.
  size_t SizeAt(uint16_t field) const;
  void AddItem(uint16_t field, object::Value value);
  void AddItem(uint16_t field, Subtree subtree);
  Cursor AddChild(uint16_t field);
  Cursor InsertChild(uint16_t field, size_t index);
  Cursor ChildAt(uint16_t field, size_t index);
  void EraseItem(uint16_t field, size_t index);

  // Fields that are maps, made empty where there is none. New keys go in front of the first greater one, so that sorted
  // maps stay sorted.
  void SetEntry(uint16_t field, std::string_view key, object::Value value);
  void SetEntry(uint16_t field, std::string_view key, Subtree subtree);
  Cursor ChildAt(uint16_t field, std::string_view key);
  void EraseEntry(uint16_t field, std::string_view key);

  // The place as it stands now; valid as long as the editor.
  object::Value Snapshot() const;
  // Whether anything at this place or below differs from the original or the last freeze.
  bool Changed() const;
  // An immutable copy, in a document that keeps all it shares. Editing may go on.
  object::DocumentPtr Freeze();
  // The same in an arena of the caller's.
  object::Value FreezeInto(object::Arena& arena);

 private:
  Editor* editor_;
  EditNode* node_;
};

// The memory and the root of one tree being edited.
class Editor {
 public:
  // A new, empty object.
  explicit Editor(const Type& type) : Editor(type, object::Value::EmptyObject()) {}
  // Starts from an existing object, which must be of that type and conformed.
  Editor(const Type& type, Subtree from);
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  Cursor Root() { return Cursor(*this, *root_); }

 private:
  friend class Cursor;

  EditNode& NewNode(const Type* type, object::Value original);
  // Fills in the slots.
  static void Open(EditNode& node);
  EditNode::Slot* FindField(EditNode& node, uint16_t field);
  // The node that edits a field, made (with an empty list or object) where there is none.
  EditNode& FieldNode(EditNode& node, uint16_t field);
  EditNode& SlotNode(EditNode::Slot& slot, const Type* type);
  EditNode::Slot& EntrySlot(EditNode& map, std::string_view key);
  // The subtree's value, copied or kept alive.
  object::Value Adopt(const Subtree& subtree);
  // The node's value now, and whether it is another than before.
  std::pair<object::Value, bool> Settle(EditNode& node);
  static bool Differs(const EditNode& node);
  // Gives out the memory used so far and goes on with new memory that keeps it.
  std::shared_ptr<object::Document> Rotate();

  std::shared_ptr<object::Document> document_;
  std::deque<EditNode> nodes_;
  EditNode* root_ = nullptr;
};

// What generated builders have in common: a cursor that may own its editor. A builder made from nothing or from an
// object owns one; those that mutable_… and add_… hand out don't, and must not outlive it.
class Builder : public Cursor {
 public:
  Builder(Builder&&) = default;
  Builder& operator=(Builder&&) = default;

 protected:
  explicit Builder(Cursor cursor) : Cursor(cursor) {}
  explicit Builder(const Type& type) : Builder(std::make_unique<Editor>(type)) {}
  Builder(const Type& type, Subtree from) : Builder(std::make_unique<Editor>(type, std::move(from))) {}
  // Of a kind: with kind and apiVersion, which are its first two fields.
  Builder(const Type& type, std::string_view kind, std::string_view api_version);

 private:
  explicit Builder(std::unique_ptr<Editor> editor) : Cursor(editor->Root()), owned_(std::move(editor)) {}

  std::unique_ptr<Editor> owned_;
};

}  // namespace homeostat::schema
