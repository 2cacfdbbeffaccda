#include "tables.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include "text.h"

namespace homeostat::generator {
namespace {

// Collects `.name = value` pairs, in the order in which the struct declares them.
class Initializer {
 public:
  void Add(const std::string& name, const std::string& value) { text_ += (text_.empty() ? "." : ", .") + name + " = " + value; }
  void AddText(const std::string& name, const std::string& value) {
    if (!value.empty()) Add(name, Literal(value));
  }
  void AddFlag(const std::string& name, bool value) {
    if (value) Add(name, "true");
  }
  std::string Take() const { return "{" + text_ + "}"; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

template <class Repeated>
std::vector<std::string> Copy(const Repeated& from) {
  return {from.begin(), from.end()};
}

std::string Number(double value) {
  std::ostringstream out;
  out.precision(17);
  out << value;
  return out.str();
}

std::string TypeAddress(const Message& message) { return "&" + message.qualified + "::types::k" + message.name; }

std::string IndexArray(const std::string& name, const std::vector<size_t>& order) {
  std::string text = "constexpr uint16_t " + name + "[] = {";
  for (size_t i = 0; i < order.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(order[i]);
  return text + "};\n";
}

std::vector<size_t> OrderByName(const std::vector<Field>& fields) {
  std::vector<size_t> order(fields.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return fields[a].name < fields[b].name; });
  return order;
}

std::vector<size_t> OrderByNumber(const std::vector<Field>& fields) {
  std::vector<size_t> order;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].json_only) order.push_back(i);
  }
  auto key = [&](size_t i) {
    const Field& field = fields[i];
    return std::array<int, 3>{field.inline_number != 0 ? field.inline_number : field.number,
                              field.inline_inner_number != 0 ? field.inline_inner_number : field.number, field.number};
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

std::string FormOf(const Field& field) {
  if (field.shape == Shape::kList) return "kList";
  if (field.shape == Shape::kMap) return "kMap";
  return field.message != nullptr ? field.message->form : field.element_form;
}

// As in schema/internal/presence.h: to Go a struct, or a type of its own that is one.
bool IsStructLike(const std::string& form) {
  static const std::set<std::string> kOthers = {"kBool",   "kInt32",  "kInt64", "kUint32", "kUint64",
                                                "kDouble", "kString", "kBytes", "kList",   "kMap"};
  return !kOthers.contains(form);
}

// Whether the field is written where it is absent.
bool IsWrittenAbsent(const Field& field) {
  if (field.options.omitzero()) return false;
  return !field.omit_empty || (!field.options.pointer() && IsStructLike(FormOf(field)));
}
bool IsWireWrittenAbsent(const Field& field) {
  if (field.inline_number != 0) return true;  // the struct it lives in is
  std::string form = FormOf(field);
  return field.number != 0 && !field.options.pointer() && form != "kList" && form != "kMap" && form != "kBytes";
}

// A bit for each field that is; all of them if there are too many.
template <class Is>
std::string FieldMask(const std::vector<Field>& fields, Is is) {
  uint64_t mask = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields.size() > 64 || is(fields[i])) mask |= uint64_t{1} << (i & 63);
  }
  if (fields.size() > 64) mask = ~uint64_t{0};
  return std::to_string(mask) + "u";
}

void AddMasks(Initializer& type, const std::vector<Field>& fields) {
  type.Add("absent_in_json", FieldMask(fields, IsWrittenAbsent));
  type.Add("absent_on_wire", FieldMask(fields, IsWireWrittenAbsent));
}

std::string VerbsText(const std::vector<std::string>& verbs) {
  static const std::map<std::string, std::string> kNames = {
      {"get", "kGet"},       {"list", "kList"},   {"watch", "kWatch"},   {"create", "kCreate"},
      {"update", "kUpdate"}, {"patch", "kPatch"}, {"delete", "kDelete"}, {"deletecollection", "kDeleteCollection"}};
  std::string text;
  for (const std::string& verb : verbs) {
    auto found = kNames.find(verb);
    if (found == kNames.end()) throw SchemaError("unknown verb " + verb);
    text += (text.empty() ? "schema::" : " | schema::") + found->second;
  }
  return text;
}

std::string GenerationName(schema::Generation generation) {
  switch (generation) {
    case schema::NO_GENERATION: return "kNone";
    case schema::ON_SPEC_CHANGE: return "kSpec";
    case schema::ON_SPEC_OR_ANNOTATION_CHANGE: return "kSpecOrAnnotations";
    case schema::ON_ANY_BUT_METADATA_AND_STATUS_CHANGE: return "kAnyButMetadataAndStatus";
    case schema::AS_SENT: return "kAsSent";
    case schema::ALWAYS_ONE: return "kAlwaysOne";
    case schema::ON_ANY_BUT_METADATA_OR_LABELS_CHANGE: return "kAnyButMetadataOrLabels";
  }
  return "kNone";
}

std::string CollectName(schema::Collect collect) {
  return collect == schema::ORPHAN ? "kOrphan" : collect == schema::UNSUPPORTED ? "kUnsupported" : "kBackground";
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string GvkText(const std::string& group, const std::string& version, const std::string& kind) {
  return "{" + Literal(group) + ", " + Literal(version) + ", " + Literal(kind) + "}";
}

}  // namespace

std::string TableWriter::Write() {
  for (const auto& message : file_.messages) WriteMessage(*message);
  for (const auto& message : file_.messages) {
    if (message->is_kind) WriteKind(*message);
  }
  std::string out = "// Generated from " + file_.descriptor->name() + ". Do not edit.\n";
  out += "#include \"" + file_.base + ".h\"\n\n#include \"homeostat/schema/kind.h\"\n";
  for (int i = 0; i < file_.descriptor->dependency_count(); ++i) {
    std::string name = file_.descriptor->dependency(i)->name();
    if (name == "api/schema.proto") continue;
    out += "#include \"homeostat/" + name.substr(0, name.size() - 6) + ".h\"\n";
  }
  out += "\nnamespace " + file_.space + " {\nnamespace {\n\nusing namespace std::string_view_literals;\nusing schema::Form;\n\n";
  if (!texts_.empty()) out += "constexpr char texts[] =" + texts_ + ";\n";
  out += arrays_ + "\n" + constraints_ + "\n" + types_ + "\n" + fields_ + "\n}  // namespace\n\n" + definitions_;
  return out + "\n}  // namespace " + file_.space + "\n";
}

void TableWriter::WriteMessage(const Message& message) {
  Initializer type;
  type.Add("form", "Form::" + message.form);
  type.AddText("name", message.definition_name);
  if (!message.definition_name.empty()) {
    type.AddText("go_name", message.go_name);
    type.AddText("go_package", message.go_package);
  }
  AddDocumentation(type, "documentation", message.documentation);
  if (message.IsStruct() && !message.fields.empty()) {
    std::string text;
    for (const Field& field : message.fields) text += "  " + FieldText(field) + ",\n";
    std::string count = "[" + std::to_string(message.fields.size()) + "]";
    fields_ += "constinit const schema::Field fields_" + message.name + count + " = {\n" + text + "};\n";
    fields_ += IndexArray("names_" + message.name, OrderByName(message.fields));
    std::vector<size_t> numbers = OrderByNumber(message.fields);
    type.Add("fields", "fields_" + message.name);
    type.Add("by_name", "names_" + message.name);
    if (!numbers.empty()) {
      fields_ += IndexArray("numbers_" + message.name, numbers);
      type.Add("by_number", "numbers_" + message.name);
    }
    AddMasks(type, message.fields);
  }
  if (message.IsBareList()) {
    type.Add("element", Anonymous("{.form = Form::kString}"));
    type.Add("list_type", "schema::ListType::kAtomic");
    type.Add("wrapped_on_wire", "true");
  }
  if (message.form.starts_with("kSchemaOr")) {
    const auto* schema_field = message.descriptor->FindFieldByName("schema");
    const Message* element = schema_field == nullptr ? nullptr : model_.Find(schema_field->message_type());
    if (element == nullptr) throw SchemaError(message.name + ": no field schema");
    type.Add("element", TypeAddress(*element));
  }
  type.AddFlag("atomic", message.type.atomic());
  type.AddFlag("preserve_unknown_fields", message.type.preserve_unknown_fields());
  definitions_ += "constinit const schema::Type types::k" + message.name + type.Take() + ";\n";
}

std::string TableWriter::FieldText(const Field& field) {
  Initializer text;
  text.AddText("name", field.name);
  text.AddText("proto_name", field.proto_name);
  if (field.number != 0) text.Add("number", std::to_string(field.number));
  if (field.inline_number != 0) text.Add("inline_number", std::to_string(field.inline_number));
  if (field.inline_inner_number != 0) text.Add("inline_inner_number", std::to_string(field.inline_inner_number));
  text.Add("flags", FlagsText(field));
  text.Add("type", FieldType(field));
  text.AddText("merge_key", field.options.merge_key());
  text.AddText("default_json", field.options.default_());
  text.AddText("openapi_default", OpenApiDefault(field));
  text.AddText("feature_gate", field.options.feature_gate());
  AddDocumentation(text, "documentation", field.documentation);
  text.AddText("inline_name", field.inline_name);
  return text.Take();
}

std::string TableWriter::FlagsText(const Field& field) const {
  const schema::FieldOptions& options = field.options;
  bool always_there = field.shape == Shape::kStruct && !options.pointer();
  std::string text;
  auto add = [&](bool set, const char* name) {
    if (set) text += (text.empty() ? "schema::" : " | schema::") + std::string(name);
  };
  add(options.pointer(), "kPointer");
  add(field.omit_empty, "kOmitEmpty");
  add(options.omitzero(), "kOmitZero");
  add(options.required(), "kRequired");
  add(options.merge(), "kPatchMerge");
  add(options.replace(), "kPatchReplace");
  add(options.retain_keys(), "kRetainKeys");
  add(field.json_only, "kJsonOnly");
  add(!options.required(), "kDeclaredOptional");
  add(options.immutable(), "kImmutable");
  add(options.default_to_empty() || (always_there && model_.HasDefaults(*field.message)), "kDefaultToEmpty");
  return text.empty() ? "0" : text;
}

std::string TableWriter::OpenApiDefault(const Field& field) const {
  if (field.options.has_openapi_default()) return field.options.openapi_default();
  if (field.descriptor == nullptr || field.options.pointer()) return "";
  if (field.shape == Shape::kStruct) return "{}";
  if (field.shape != Shape::kScalar || field.message != nullptr || field.omit_empty) return "";
  if (field.element_form == "kString") return "\"\"";
  if (field.element_form == "kBool") return "false";
  return field.element_form == "kBytes" ? "" : "0";
}

std::string TableWriter::FieldType(const Field& field) {
  if (field.shape != Shape::kList && field.shape != Shape::kMap) return ElementType(field);
  if (field.shape == Shape::kList && field.message != nullptr && field.message->IsBareList()) return TypeAddress(*field.message);
  const schema::FieldOptions& options = field.options;
  Initializer type;
  type.Add("form", field.shape == Shape::kMap ? "Form::kMap" : "Form::kList");
  std::string go_type = options.go_type();
  size_t dot = go_type.starts_with("map[") ? std::string::npos : go_type.find('.');
  if (dot == std::string::npos) {
    type.AddText("go_name", go_type);
  } else {
    type.AddText("go_name", go_type.substr(dot + 1));
    type.AddText("go_package", go_type.substr(0, dot));
  }
  type.Add("element", ElementType(field));
  if (options.list() == schema::SET) type.Add("list_type", "schema::ListType::kSet");
  if (options.list() == schema::MAP) type.Add("list_type", "schema::ListType::kMap");
  type.AddFlag("list_type_declared", options.has_list() || options.atomic() || options.granular());
  if (options.keys_size() != 0) type.Add("list_map_keys", Strings(Copy(options.keys())));
  type.AddFlag("atomic", options.atomic());
  std::string constraints = ListConstraintsOf(field);
  if (!constraints.empty()) type.Add("constraints", constraints);
  return Anonymous(type.Take());
}

std::string TableWriter::ElementType(const Field& field) {
  if (field.message != nullptr) {
    return field.shape == Shape::kStruct && field.options.granular() ? GranularStruct(*field.message) : TypeAddress(*field.message);
  }
  Initializer type;
  type.Add("form", "Form::" + field.element_form);
  if (field.options.has_string_type()) {
    auto [string_type, file] = model_.FindStringType(file_, field.options.string_type());
    type.AddText("go_name", string_type->name());
    type.AddText("go_package", string_type->has_go_package() ? string_type->go_package() : file->version);
  }
  type.AddFlag("list_type_declared", field.shape == Shape::kScalar && field.options.has_list());  // bytes are a list to Go
  std::string constraints = ConstraintsOf(field);
  if (!constraints.empty()) type.Add("constraints", constraints);
  return Anonymous(type.Take());
}

// A struct whose own atomic is undone where it is used; its tables must be in the same file.
std::string TableWriter::GranularStruct(const Message& message) {
  if (message.descriptor->file() != file_.descriptor) throw SchemaError(message.name + ": granular needs the type in the same file");
  std::string count = "[" + std::to_string(message.fields.size()) + "]";
  types_ += "extern const schema::Field fields_" + message.name + count + ";\n";
  types_ += IndexArray("names_granular_" + message.name, OrderByName(message.fields));
  types_ += IndexArray("numbers_granular_" + message.name, OrderByNumber(message.fields));
  Initializer type;
  type.Add("form", "Form::kStruct");
  type.AddText("name", message.definition_name);
  type.AddText("go_name", message.go_name);
  type.AddText("go_package", message.go_package);
  AddDocumentation(type, "documentation", message.documentation);
  type.Add("fields", "fields_" + message.name);
  type.Add("by_name", "names_granular_" + message.name);
  type.Add("by_number", "numbers_granular_" + message.name);
  AddMasks(type, message.fields);
  type.Add("list_type_declared", "true");
  return Anonymous(type.Take());
}

std::string TableWriter::Anonymous(const std::string& initializer) {
  auto [entry, added] = anonymous_.try_emplace(initializer, "type_" + std::to_string(anonymous_.size()));
  if (added) types_ += "constinit const schema::Type " + entry->second + initializer + ";\n";
  return "&" + entry->second;
}

std::string TableWriter::ConstraintsOf(const Field& field) {
  const schema::FieldOptions& options = field.options;
  std::vector<std::string> values = Copy(options.enum_());
  if (options.has_string_type()) {
    const schema::StringType& type = *model_.FindStringType(file_, options.string_type()).type;
    if (type.enum_()) {
      for (const schema::Constant& value : type.value()) {
        if (!value.gated()) values.push_back(value.value());
      }
      std::sort(values.begin(), values.end());
    }
  }
  Initializer text;
  if (!values.empty()) text.Add("enum_values", Strings(values));
  text.AddFlag("has_minimum", options.has_minimum());
  text.AddFlag("has_maximum", options.has_maximum());
  if (options.has_minimum()) text.Add("minimum", Number(options.minimum()));
  if (options.has_maximum()) text.Add("maximum", Number(options.maximum()));
  if (options.has_min_length()) text.Add("min_length", std::to_string(options.min_length()));
  if (options.has_max_length()) text.Add("max_length", std::to_string(options.max_length()));
  text.AddText("pattern", options.pattern());
  text.AddText("format", options.format());
  return text.empty() ? "" : ConstraintsText(text.Take());
}

std::string TableWriter::ListConstraintsOf(const Field& field) {
  Initializer text;
  if (field.options.has_min_items()) text.Add("min_items", std::to_string(field.options.min_items()));
  if (field.options.has_max_items()) text.Add("max_items", std::to_string(field.options.max_items()));
  return text.empty() ? "" : ConstraintsText(text.Take());
}

std::string TableWriter::ConstraintsText(const std::string& initializer) {
  auto [entry, added] = constraint_names_.try_emplace(initializer, "constraints_" + std::to_string(constraint_names_.size()));
  if (added) constraints_ += "constinit const schema::Constraints " + entry->second + initializer + ";\n";
  return "&" + entry->second;
}

template <class Out>
void TableWriter::AddDocumentation(Out& out, const std::string& name, const std::string& text) {
  if (text.empty()) return;
  auto [entry, added] = text_offsets_.try_emplace(text, texts_length_);
  if (added) {
    std::string literal = Literal(text);
    texts_ += "\n    " + literal.substr(0, literal.size() - 2);  // without the sv
    texts_length_ += text.size();
  }
  out.Add(name, "{texts + " + std::to_string(entry->second) + ", " + std::to_string(text.size()) + "}");
}

std::string TableWriter::Strings(const std::vector<std::string>& values) {
  if (values.empty()) return "{}";
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + Literal(value);
  auto [entry, added] = string_arrays_.try_emplace(text, "strings_" + std::to_string(string_arrays_.size()));
  if (added) arrays_ += "constexpr std::string_view " + entry->second + "[] = {" + text + "};\n";
  return entry->second;
}

void TableWriter::WriteSubresources(const Message& message) {
  const schema::KindOptions& kind = message.kind;
  if (kind.subresources_size() == 0) return;
  fields_ += "constinit const schema::Subresource subresources_" + message.name + "[] = {\n";
  for (const schema::SubresourceOptions& sub : kind.subresources()) {
    std::string gvk = GvkText(file_.group, file_.version, message.name);
    if (sub.has_kind()) {
      size_t slash = sub.kind().find('/');
      size_t dot = sub.kind().find('.', slash);
      if (slash == std::string::npos || dot == std::string::npos) throw SchemaError(message.name + ": subresource kind " + sub.kind());
      gvk = GvkText(sub.kind().substr(0, slash), sub.kind().substr(slash + 1, dot - slash - 1), sub.kind().substr(dot + 1));
    }
    Initializer text;
    text.AddText("name", sub.name());
    text.Add("kind", gvk);
    text.Add("verbs", VerbsText(sub.verbs_size() == 0 ? std::vector<std::string>{"get", "patch", "update"} : Copy(sub.verbs())));
    text.AddText("spec_replicas_path", sub.spec_replicas_path());
    text.AddText("status_replicas_path", sub.status_replicas_path());
    text.AddText("selector_path", sub.selector_path());
    text.AddText("feature_gate", sub.feature_gate());
    fields_ += "  " + text.Take() + ",\n";
  }
  fields_ += "};\n";
}

void TableWriter::WriteColumns(const Message& message) {
  if (message.kind.columns_size() == 0) return;
  fields_ += "constinit const schema::Column columns_" + message.name + "[] = {\n";
  for (const schema::ColumnOptions& column : message.kind.columns()) {
    Initializer text;
    text.AddText("name", column.name());
    text.AddText("type", column.type());
    text.AddText("format", column.format());
    AddDocumentation(text, "description", column.has_described_by() ? model_.DocumentationOf(column.described_by()) : column.description());
    if (column.priority() != 0) text.Add("priority", std::to_string(column.priority()));
    text.AddText("path", column.path());
    text.AddText("cell", column.cell());
    text.AddText("fallback", column.fallback());
    fields_ += "  " + text.Take() + ",\n";
  }
  fields_ += "};\n";
}

void TableWriter::WriteKind(const Message& message) {
  WriteSubresources(message);
  WriteColumns(message);
  const schema::KindOptions& kind = message.kind;
  std::string list_kind = kind.has_list_kind() ? kind.list_kind() : message.name + "List";
  const auto* list = file_.descriptor->FindMessageTypeByName(list_kind);
  Initializer text;
  text.Add("gvk", GvkText(file_.group, file_.version, message.name));
  text.AddText("plural", kind.plural());
  text.AddText("singular", kind.has_singular() ? kind.singular() : Lower(message.name));
  if (list != nullptr) text.AddText("list_kind", list_kind);
  text.Add("short_names", Strings(Copy(kind.short_names())));
  text.Add("categories", Strings(Copy(kind.categories())));
  text.Add("namespaced", kind.scope() == schema::CLUSTER ? "false" : "true");
  static const std::vector<std::string> kAllVerbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  text.Add("verbs", VerbsText(kind.verbs_size() == 0 ? kAllVerbs : Copy(kind.verbs())));
  text.Add("type", "&types::k" + message.name);
  if (list != nullptr) text.Add("list_type", "&types::k" + list_kind);
  if (kind.subresources_size() != 0) text.Add("subresources", "subresources_" + message.name);
  if (kind.columns_size() != 0) text.Add("columns", "columns_" + message.name);
  text.AddText("storage_version", kind.storage_version());
  text.AddText("storage_version_hash", kind.storage_version_hash());
  text.AddText("storage_prefix", kind.storage_prefix());
  text.Add("selectable_fields", Strings(Copy(kind.selectable_fields())));
  text.AddText("feature_gate", kind.feature_gate());
  if (!kind.served_by_default()) text.Add("served_by_default", "false");
  text.AddText("introduced", kind.introduced());
  text.AddText("deprecated", kind.deprecated());
  text.AddText("removed", kind.removed());
  text.AddText("replacement", kind.replacement());
  text.AddFlag("has_status", kind.status());
  text.AddFlag("status_at_creation", kind.status_at_creation());
  text.AddFlag("create_on_update", kind.create_on_update());
  text.Add("unconditional_update", kind.unconditional_update() ? "true" : "false");
  text.AddFlag("graceful_deletion", kind.graceful_deletion());
  text.AddFlag("delete_returns_object", kind.delete_returns_object());
  text.AddFlag("virtual_kind", kind.virtual_());
  text.Add("generation", "schema::GenerationRule::" + GenerationName(kind.generation()));
  text.Add("collect_default", "schema::CollectDefault::" + CollectName(kind.collect()));
  text.Add("reset_fields", Strings(Copy(kind.reset_fields())));
  text.Add("status_keeps", Strings(Copy(kind.status_keeps())));
  definitions_ += "constinit const schema::Kind kinds::k" + message.name + text.Take() + ";\n";
}

}  // namespace homeostat::generator
