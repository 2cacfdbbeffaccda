#include <algorithm>

#include "text.h"
#include "views.h"

namespace homeostat::generator {
namespace {

struct ScalarEdit {
  const char* parameter;
  const char* maker;
};

// How a scalar is given to a builder; text is copied by it.
ScalarEdit EditOf(const std::string& form) {
  if (form == "kBool") return {"bool", "Bool"};
  if (form == "kInt32") return {"int32_t", "Int"};
  if (form == "kInt64") return {"int64_t", "Int"};
  if (form == "kUint32") return {"uint32_t", "Int"};
  if (form == "kUint64") return {"uint64_t", "Unsigned"};
  if (form == "kDouble") return {"double", "Double"};
  if (form == "kBytes") return {"std::string_view", "Bytes"};
  return {"std::string_view", "Text"};
}

bool IsPlain(const Field& field) { return field.element_shape == Shape::kScalar; }

void WriteListEdits(const File& file, const Field& field, const std::string& name, const std::string& at, const std::string& self,
                    std::string& out) {
  if (field.element_shape == Shape::kStruct) {
    std::string child = ElementCppType(file, field, "Builder");
    out += Format("  $1 add_$2() { return $1(AddChild($3)); }\n", {child, name, at});
    out += Format("  $1 insert_$2(size_t index) { return $1(InsertChild($3, index)); }\n", {child, name, at});
    out += Format("  $1 mutable_$2(size_t index) { return $1(ChildAt($3, index)); }\n", {child, name, at});
    out += Format("  $1& add_$2(schema::Subtree item) { AddItem($3, std::move(item)); return *this; }\n", {self, name, at});
  } else if (IsPlain(field)) {
    ScalarEdit edit = EditOf(field.element_form);
    out += Format("  $1& add_$2($3 item) { AddItem($4, Make$5(item)); return *this; }\n", {self, name, edit.parameter, at, edit.maker});
  } else if (field.element_shape == Shape::kList) {
    out += Format("  $1& add_$2(std::string_view item) { AddItem($3, MakeText(item)); return *this; }\n", {self, name, at});
  } else {
    out += Format("  $1& add_$2(schema::Subtree item) { AddItem($3, std::move(item)); return *this; }\n", {self, name, at});
  }
  out += Format("  $1& erase_$2(size_t index) { EraseItem($3, index); return *this; }\n", {self, name, at});
  out += Format("  size_t $1_size() const { return SizeAt($2); }\n", {name, at});
}

void WriteMapEdits(const File& file, const Field& field, const std::string& name, const std::string& at, const std::string& self,
                   std::string& out) {
  if (field.element_shape == Shape::kStruct) {
    std::string child = ElementCppType(file, field, "Builder");
    out += Format("  $1 mutable_$2(std::string_view key) { return $1(ChildAt($3, key)); }\n", {child, name, at});
  }
  if (IsPlain(field)) {
    ScalarEdit edit = EditOf(field.element_form);
    out += Format("  $1& set_$2(std::string_view key, $3 item) { SetEntry($4, key, Make$5(item)); return *this; }\n",
                  {self, name, edit.parameter, at, edit.maker});
  } else {
    out += Format("  $1& set_$2(std::string_view key, schema::Subtree item) { SetEntry($3, key, std::move(item)); return *this; }\n",
                  {self, name, at});
  }
  out += Format("  $1& erase_$2(std::string_view key) { EraseEntry($3, key); return *this; }\n", {self, name, at});
}

void WriteEdits(const File& file, const Message& message, size_t index, std::string& out) {
  const Field& field = message.fields[index];
  const std::string& name = field.accessor;
  std::string at = std::to_string(index);
  std::string self = message.name + "Builder";
  if (field.shape == Shape::kScalar) {
    ScalarEdit edit = EditOf(field.element_form);
    out += Format("  $1& set_$2($3 value) { Set($4, Make$5(value)); return *this; }\n", {self, name, edit.parameter, at, edit.maker});
  } else {
    out += Format("  $1& set_$2(schema::Subtree value) { Set($3, std::move(value)); return *this; }\n", {self, name, at});
  }
  if (field.shape == Shape::kStruct) {
    std::string child = ElementCppType(file, field, "Builder");
    out += Format("  $1 mutable_$2() { return $1(Child($3)); }\n", {child, name, at});
  }
  if (field.shape == Shape::kList) WriteListEdits(file, field, name, at, self, out);
  if (field.shape == Shape::kMap) WriteMapEdits(file, field, name, at, self, out);
  out += Format("  $1& clear_$2() { Clear($3); return *this; }\n", {self, name, at});
}

}  // namespace

std::string WriteBuilders(const Model& model, const File& file) {
  std::string out = "// Generated from " + file.descriptor->name() + ". Do not edit.\n#pragma once\n\n#include \"homeostat/schema/editor.h\"\n";
  out += "#include \"" + file.base + ".h\"\n";
  for (int i = 0; i < file.descriptor->dependency_count(); ++i) {
    const auto* dependency = file.descriptor->dependency(i);
    for (const auto& other : model.files()) {
      bool has_views = std::any_of(other->messages.begin(), other->messages.end(), [](const auto& m) { return m->IsStruct(); });
      if (other->descriptor == dependency && has_views) out += "#include \"" + other->base + "_builders.h\"\n";
    }
  }
  out += "\nnamespace " + file.space + " {\n";
  for (const Message* message : DefinitionOrder(file, true)) {
    std::string name = message->name + "Builder";
    bool type_meta = message->type.type_meta();
    std::string api_version = file.group.empty() || file.group == "meta.k8s.io" ? file.version : file.group + "/" + file.version;
    out += Format("\nclass $1 : public schema::Builder {\n public:\n", {name});
    std::string identity = type_meta ? ", \"" + message->name + "\", \"" + api_version + "\"" : "";
    out += Format("  $1() : Builder(types::k$2$3) {}\n", {name, message->name, identity});
    out += Format("  explicit $1(schema::Subtree from) : Builder(types::k$2, std::move(from)) {}\n", {name, message->name});
    out += Format("  explicit $1(schema::Cursor cursor) : Builder(cursor) {}\n", {name});
    out += Format("  $2 View() const { return $2(Snapshot()); }\n", {name, message->name});
    for (size_t i = 0; i < message->fields.size(); ++i) WriteEdits(file, *message, i, out);
    out += "};\n";
  }
  return out + "\n}  // namespace " + file.space + "\n";
}

}  // namespace homeostat::generator
