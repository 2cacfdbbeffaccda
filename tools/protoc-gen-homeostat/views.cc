#include "views.h"

#include <algorithm>
#include <functional>
#include <set>

#include "text.h"

namespace homeostat::generator {
namespace {

struct ScalarAccess {
  const char* cpp_type;
  const char* getter;
};

ScalarAccess AccessOf(const std::string& form) {
  if (form == "kBool") return {"bool", "BoolAt"};
  if (form == "kInt32") return {"int32_t", "Int32At"};
  if (form == "kInt64") return {"int64_t", "Int64At"};
  if (form == "kUint32") return {"uint32_t", "Uint32At"};
  if (form == "kUint64") return {"uint64_t", "Uint64At"};
  if (form == "kDouble") return {"double", "DoubleAt"};
  return {"std::string_view", "TextAt"};
}

void WriteAccessor(const File& file, const Field& field, size_t index, std::string& out) {
  std::string name = SafeName(field.accessor);
  std::string at = std::to_string(index);
  std::string element = ElementCppType(file, field, "");
  switch (field.shape) {
    case Shape::kScalar: {
      ScalarAccess access = AccessOf(field.element_form);
      out += Format("  $1 $2() const { return $3($4); }\n", {access.cpp_type, name, access.getter, at});
      break;
    }
    case Shape::kAny:
      out += Format("  object::Value $1() const { return ValueAt($2); }\n", {name, at});
      break;
    case Shape::kStruct:
      out += Format("  $1 $2() const { return $1(ValueAt($3)); }\n", {element, name, at});
      break;
    case Shape::kList:
      out += Format("  schema::ListView<$1> $2() const { return schema::ListView<$1>(ValueAt($3)); }\n", {element, name, at});
      break;
    case Shape::kMap:
      out += Format("  schema::MapView<$1> $2() const { return schema::MapView<$1>(ValueAt($3)); }\n", {element, name, at});
      break;
  }
  out += Format("  bool has_$1() const { return HasAt($2); }\n", {field.accessor, at});
}

void WriteConstants(const File& file, std::string& out) {
  const auto& options = file.descriptor->options();
  std::string text;
  for (int i = 0; i < options.ExtensionSize(schema::string_type); ++i) {
    for (const schema::Constant& value : options.GetExtension(schema::string_type, i).value()) {
      text += "inline constexpr std::string_view k" + value.name() + " = " + Literal(value.value()) + ";\n";
    }
  }
  for (int i = 0; i < options.ExtensionSize(schema::constant); ++i) {
    const schema::Constant& value = options.GetExtension(schema::constant, i);
    text += "inline constexpr std::string_view k" + value.name() + " = " + Literal(value.value()) + ";\n";
  }
  size_t at = 0;
  while ((at = text.find("\"sv;", at)) != std::string::npos) text.replace(at, 4, "\";");
  if (!text.empty()) out += text + "\n";
}

void WriteTableDeclarations(const File& file, std::string& out) {
  out += "// The constant tables behind the views.\nnamespace types {\n";
  std::string kinds;
  for (const auto& message : file.messages) {
    out += "extern const schema::Type k" + message->name + ";\n";
    if (message->is_kind) kinds += "extern const schema::Kind k" + message->name + ";\n";
  }
  out += "}  // namespace types\n";
  if (!kinds.empty()) out += "namespace kinds {\n" + kinds + "}  // namespace kinds\n";
  out += "\n";
}

}  // namespace

std::string Qualified(const File& file, const Message& message, const char* suffix) {
  std::string space = message.qualified.substr(2);
  if (space == file.space) return message.name + suffix;
  return space.substr(std::string("homeostat::api::").size()) + "::" + message.name + suffix;
}

std::string ElementCppType(const File& file, const Field& field, const char* suffix) {
  switch (field.element_shape) {
    case Shape::kStruct: return Qualified(file, *field.message, suffix);
    case Shape::kAny: return "object::Value";
    case Shape::kList: return field.shape == Shape::kList ? "std::string_view" : "schema::ListView<std::string_view>";
    default: return AccessOf(field.element_form).cpp_type;
  }
}

std::vector<const Message*> DefinitionOrder(const File& file, bool through_collections) {
  std::vector<const Message*> order;
  std::set<const Message*> visited, open;
  std::function<void(const Message*)> visit = [&](const Message* message) {
    if (!visited.insert(message).second) {
      if (open.contains(message)) throw SchemaError(message->name + ": messages that contain each other");
      return;
    }
    open.insert(message);
    for (const Field& field : message->fields) {
      const Message* inner = field.message;
      if (inner == nullptr || inner == message || !inner->IsStruct()) continue;
      if (inner->descriptor->file() != file.descriptor) continue;
      if (field.shape == Shape::kStruct || through_collections) visit(inner);
    }
    open.erase(message);
    order.push_back(message);
  };
  for (const auto& message : file.messages) {
    if (message->IsStruct()) visit(message.get());
  }
  return order;
}

std::string WriteViews(const Model& model, const File& file) {
  std::string out = "// Generated from " + file.descriptor->name() + ". Do not edit.\n#pragma once\n\n#include \"homeostat/schema/view.h\"\n";
  for (int i = 0; i < file.descriptor->dependency_count(); ++i) {
    const auto* dependency = file.descriptor->dependency(i);
    for (const auto& other : model.files()) {
      bool has_views = std::any_of(other->messages.begin(), other->messages.end(), [](const auto& m) { return m->IsStruct(); });
      if (other->descriptor == dependency && has_views) out += "#include \"" + other->base + ".h\"\n";
    }
  }
  out += "\nnamespace " + file.space + " {\n\n";
  WriteTableDeclarations(file, out);
  WriteConstants(file, out);
  std::vector<const Message*> order = DefinitionOrder(file, false);
  for (const Message* message : order) out += "class " + message->name + ";\n";
  for (const Message* message : order) {
    out += Format("\nclass $1 : public schema::View {\n public:\n  using View::View;\n", {message->name});
    out += Format("  static const schema::Type& SchemaType() { return types::k$1; }\n", {message->name});
    if (message->is_kind) out += Format("  static const schema::Kind& SchemaKind() { return kinds::k$1; }\n", {message->name});
    for (size_t i = 0; i < message->fields.size(); ++i) WriteAccessor(file, message->fields[i], i, out);
    out += "};\n";
  }
  return out + "\n}  // namespace " + file.space + "\n";
}

}  // namespace homeostat::generator
