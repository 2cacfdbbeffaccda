#include "model.h"

#include <algorithm>

#include "text.h"

namespace homeostat::generator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

constexpr char kRoot[] = "homeostat.api.";

template <class T>
std::string Comment(const T* descriptor) {
  google::protobuf::SourceLocation location;
  return descriptor->GetSourceLocation(&location) ? CommentText(location.leading_comments) : std::string();
}

std::string FormName(schema::Form form) {
  switch (form) {
    case schema::STRUCT: return "kStruct";
    case schema::QUANTITY: return "kQuantity";
    case schema::TIME: return "kTime";
    case schema::MICRO_TIME: return "kMicroTime";
    case schema::DURATION: return "kDuration";
    case schema::INT_OR_STRING: return "kIntOrString";
    case schema::FIELDS_V1: return "kFieldsV1";
    case schema::RAW_EXTENSION: return "kRawExtension";
    case schema::JSON: return "kJson";
    case schema::BARE_LIST: return "kList";
    case schema::SCHEMA_OR_BOOL: return "kSchemaOrBool";
    case schema::SCHEMA_OR_LIST: return "kSchemaOrList";
    case schema::SCHEMA_OR_STRINGS: return "kSchemaOrStrings";
  }
  return "kStruct";
}

std::string ScalarForm(const FieldDescriptor* field) {
  switch (field->type()) {
    case FieldDescriptor::TYPE_BOOL: return "kBool";
    case FieldDescriptor::TYPE_INT32: return "kInt32";
    case FieldDescriptor::TYPE_INT64: return "kInt64";
    case FieldDescriptor::TYPE_UINT32: return "kUint32";
    case FieldDescriptor::TYPE_UINT64: return "kUint64";
    case FieldDescriptor::TYPE_DOUBLE: return "kDouble";
    case FieldDescriptor::TYPE_STRING: return "kString";
    case FieldDescriptor::TYPE_BYTES: return "kBytes";
    default: throw SchemaError(field->full_name() + ": a type that Kubernetes' API doesn't use");
  }
}

// Forms whose views hand out the value as it is.
bool IsUntyped(const std::string& form) {
  return form == "kIntOrString" || form == "kFieldsV1" || form == "kRawExtension" || form == "kJson" ||
         form.starts_with("kSchemaOr");
}

std::string ReplaceDots(std::string text) {
  size_t at = 0;
  while ((at = text.find('.', at)) != std::string::npos) text.replace(at, 1, "::");
  return text;
}

std::string LastPart(const std::string& text) { return text.substr(text.rfind('.') + 1); }

std::string WithoutRoot(const std::string& name) { return name.substr(sizeof(kRoot) - 1); }

Field TypeMetaField(const char* name) {
  Field field;
  field.name = field.proto_name = name;
  field.accessor = SnakeCase(name);
  field.json_only = true;
  field.omit_empty = true;
  field.element_form = "kString";
  return field;
}

}  // namespace

Model::Model(const std::vector<const FileDescriptor*>& files) {
  for (const FileDescriptor* file : files) {
    if (file->package().starts_with(kRoot)) ReadFile(file);
  }
  for (auto& file : files_) {
    for (auto& message : file->messages) {
      if (!message->IsStruct()) continue;
      if (message->type.type_meta()) {
        message->fields.push_back(TypeMetaField("kind"));
        message->fields.push_back(TypeMetaField("apiVersion"));
        message->fields[0].documentation = DocumentationOf("meta.v1.TypeMeta.kind");
        message->fields[1].documentation = DocumentationOf("meta.v1.TypeMeta.apiVersion");
      }
      AddFields(*message, message->descriptor, Field());
    }
  }
}

void Model::ReadFile(const FileDescriptor* descriptor) {
  auto file = std::make_unique<File>();
  const auto& options = descriptor->options();
  file->descriptor = descriptor;
  file->base = "homeostat/" + descriptor->name().substr(0, descriptor->name().size() - std::string(".proto").size());
  file->space = ReplaceDots(descriptor->package());
  file->has_group = options.HasExtension(schema::api_group);
  file->group = options.GetExtension(schema::api_group);
  file->version = LastPart(descriptor->package());
  for (int i = 0; i < options.ExtensionSize(schema::string_type); ++i) {
    const schema::StringType& type = options.GetExtension(schema::string_type, i);
    string_types_[WithoutRoot(descriptor->package()) + "." + type.name()] = {&type, file.get()};
  }
  for (int i = 0; i < descriptor->message_type_count(); ++i) {
    const Descriptor* source = descriptor->message_type(i);
    auto message = std::make_unique<Message>();
    message->descriptor = source;
    message->type = source->options().GetExtension(schema::type);
    message->is_kind = source->options().HasExtension(schema::kind);
    message->kind = source->options().GetExtension(schema::kind);
    message->name = source->name();
    message->definition_name = message->type.has_definition_name()
                                   ? message->type.definition_name()
                                   : options.GetExtension(schema::definition_prefix) + "." + source->name();
    message->go_name = message->type.has_go_name() ? message->type.go_name() : source->name();
    message->go_package = message->type.has_go_package() ? message->type.go_package() : file->version;
    message->documentation = Comment(source);
    message->form = FormName(message->type.form());
    message->qualified = "::" + file->space;
    by_descriptor_[source] = message.get();
    file->messages.push_back(std::move(message));
  }
  files_.push_back(std::move(file));
}

// `inlined` says in which inlined messages the fields of `from` stand, if any.
void Model::AddFields(Message& message, const Descriptor* from, const Field& inlined) {
  for (int i = 0; i < from->field_count(); ++i) {
    const FieldDescriptor* source = from->field(i);
    if (source->options().GetExtension(schema::field).inline_()) {
      if (inlined.inline_inner_number != 0) throw SchemaError(source->full_name() + ": inlined three deep");
      Field place = inlined;
      (inlined.inline_number == 0 ? place.inline_number : place.inline_inner_number) = source->number();
      place.inline_name += (place.inline_name.empty() ? "" : ".") + source->message_type()->name();
      AddFields(message, source->message_type(), place);
      continue;
    }
    Field field = ReadField(source);
    field.inline_number = inlined.inline_number;
    field.inline_inner_number = inlined.inline_inner_number;
    field.inline_name = inlined.inline_name;
    message.fields.push_back(std::move(field));
  }
}

Field Model::ReadField(const FieldDescriptor* descriptor) const {
  Field field;
  field.descriptor = descriptor;
  field.options = descriptor->options().GetExtension(schema::field);
  field.name = field.options.has_json() ? field.options.json() : descriptor->name();
  field.json_only = field.options.json_only();
  field.proto_name = field.json_only ? field.name : descriptor->name();
  field.accessor = SnakeCase(field.name);
  field.number = field.json_only ? 0 : descriptor->number();
  field.omit_empty = field.options.has_omitempty() ? field.options.omitempty() : !field.options.required();
  field.documentation = Comment(descriptor);
  const FieldDescriptor* element = descriptor->is_map() ? descriptor->message_type()->map_value() : descriptor;
  if (element->type() == FieldDescriptor::TYPE_MESSAGE) {
    field.message = Find(element->message_type());
    if (field.message == nullptr) throw SchemaError(descriptor->full_name() + ": message of a file that isn't ours");
    field.element_form = field.message->form;
    field.element_shape = field.message->IsStruct()        ? Shape::kStruct
                          : field.message->IsBareList()    ? Shape::kList
                          : IsUntyped(field.element_form)  ? Shape::kAny
                                                           : Shape::kScalar;
  } else {
    field.element_form = ScalarForm(element);
  }
  field.shape = descriptor->is_map() ? Shape::kMap : descriptor->is_repeated() ? Shape::kList : field.element_shape;
  return field;
}

const Message* Model::Find(const Descriptor* descriptor) const {
  auto found = by_descriptor_.find(descriptor);
  return found == by_descriptor_.end() ? nullptr : found->second;
}

Model::StringTypeEntry Model::FindStringType(const File& file, const std::string& name) const {
  std::string full = name.find('.') == std::string::npos ? WithoutRoot(file.descriptor->package()) + "." + name : name;
  auto found = string_types_.find(full);
  if (found == string_types_.end()) throw SchemaError(file.descriptor->name() + ": no string_type " + full);
  return found->second;
}

std::string Model::DocumentationOf(const std::string& path) const {
  std::vector<std::string> parts = Split(path, '.');
  for (const auto& [descriptor, message] : by_descriptor_) {
    std::string full = WithoutRoot(descriptor->full_name());
    if (!path.starts_with(full + ".")) continue;
    const Descriptor* current = descriptor;
    const FieldDescriptor* field = nullptr;
    for (const std::string& part : Split(std::string_view(path).substr(full.size() + 1), '.')) {
      if (current == nullptr) throw SchemaError("described_by " + path + ": no such field");
      std::string lower = part;
      lower[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(lower[0])));
      field = current->FindFieldByName(part);
      if (field == nullptr) field = current->FindFieldByName(lower);
      if (field == nullptr) throw SchemaError("described_by " + path + ": no such field");
      current = field->message_type();
    }
    return Comment(field);
  }
  throw SchemaError("described_by " + path + ": no such message");
}

bool Model::HasDefaults(const Message& message) const {
  auto [entry, added] = has_defaults_.try_emplace(&message, 0);
  if (!added) return entry->second == 1;  // a cycle counts as no: pointers end it
  for (const Field& field : message.fields) {
    bool always_there = field.shape == Shape::kStruct && !field.options.pointer();
    if (field.options.has_default_() || (always_there && HasDefaults(*field.message))) {
      has_defaults_[&message] = 1;
      return true;
    }
  }
  return false;
}

}  // namespace homeostat::generator
