// Operations and definitions as OpenAPI documents.
#include "schema/openapi.h"

#include <algorithm>
#include <map>
#include <set>

#include "homeostat/object/json.h"
#include "schema/internal/openapi_paths.h"
#include "schema/internal/tree_builder.h"
#include "schema/openapi_protobuf.h"

namespace homeostat::schema {

using internal::Media;
using internal::Operation;
using internal::Parameter;
using internal::PathItem;
using object::Arena;
using object::Member;
using object::Value;

namespace {

constexpr std::string_view kJson = "application/json", kYaml = "application/yaml",
                           kProtobuf = "application/vnd.kubernetes.protobuf", kCbor = "application/cbor";

std::vector<std::string_view> MediaTypes(const Operation& operation) {
  if (operation.custom) return {kJson, kYaml};
  switch (operation.media) {
    case Media::kObject:
      return {kJson, kYaml, kProtobuf, kCbor};
    case Media::kStream:
      return {kJson,
              kYaml,
              kProtobuf,
              kCbor,
              "application/json;stream=watch",
              "application/vnd.kubernetes.protobuf;stream=watch",
              "application/cbor-seq"};
    case Media::kText:
      return {"text/plain", kJson, kYaml, kProtobuf, kCbor};
    case Media::kAny:
      return {"*/*"};
    case Media::kDiscovery:
      return {kJson, kYaml, kProtobuf};
    case Media::kJson:
      return {kJson};
    case Media::kKeySet:
      return {"application/jwk-set+json"};
    case Media::kNone:
      break;
  }
  return {};
}

std::vector<std::string_view> BodyTypes(const Operation& operation) {
  if (!operation.patch && operation.custom) return {kJson, kYaml};
  if (!operation.patch) return {"*/*"};
  std::vector<std::string_view> types = {"application/json-patch+json", "application/merge-patch+json"};
  if (!operation.custom) types.push_back("application/strategic-merge-patch+json");
  types.push_back("application/apply-patch+yaml");
  if (!operation.custom) types.push_back("application/apply-patch+cbor");
  return types;
}

std::string_view CodeText(int code) {
  switch (code) {
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 401:
      return "Unauthorized";
    default:
      return "OK";
  }
}

// Builds one document of either version.
class DocumentBuilder {
 public:
  DocumentBuilder(const OpenApiSource& source, OpenApiVersion version, OpenApiForm form)
      : source_(source), version_(version), form_(form), tree_(arena_) {
    for (const Kind* kind : source.kinds) {
      AddKindOf(kind->type, kind->gvk);
      if (kind->type->structural && !kind->selectable_fields.empty()) {
        selectable_of_[kind->type] = selectable_of_[kind->list_type] = kind->selectable_fields;
      }
      if (kind->list_type != nullptr) AddKindOf(kind->list_type, {kind->gvk.group, kind->gvk.version, kind->list_kind});
      for (const Subresource& sub : kind->subresources) AddKindOf(source.find_type_of_kind(sub.kind), sub.kind);
    }
  }

  void AddPaths(const std::vector<PathItem>& items) {
    for (const PathItem& item : items) paths_.emplace_back(tree_.Name(item.path), Path(item));
  }
  // Group versions whose own DeleteOptions and WatchEvent the document shows.
  void AddGroupVersion(std::string_view group, std::string_view version) { group_versions_.insert({group, version}); }

  std::string V3() {
    Value components = tree_.Object({{"schemas", Definitions()}, {"securitySchemes", source_.says_security ? Security() : Value()}});
    return Write(tree_.Object({{"openapi", tree_.Text("3.0.0")},
                               {"info", Info()},
                               {"paths", tree_.Object(paths_)},
                               {"components", components}}));
  }

  std::string V2() {
    Value definitions = Definitions();
    std::vector<Member> parameters;
    for (const auto& [name, value] : shared_) parameters.emplace_back(name, value);
    Value requirement = tree_.List({tree_.Object({{"BearerToken", Value::EmptyList()}})});
    return Write(tree_.Object({{"swagger", tree_.Text("2.0")},
                               {"info", Info()},
                               {"paths", tree_.Object(paths_)},
                               {"definitions", definitions},
                               {"parameters", tree_.Object(parameters)},
                               {"securityDefinitions", Security()},
                               {"security", requirement}}));
  }

 private:
  bool v3() const { return version_ == OpenApiVersion::kV3; }

  std::string Write(const Value& document) const {
    if (form_ == OpenApiForm::kProtobuf) return OpenApiProtobuf(document, version_);
    std::string text;
    // What the builder makes has no number that JSON can't say: defaults and enums come from JSON, limits are finite.
    if (!object::AppendJson(text, document, {.sort_names = true})) text.clear();
    return text;
  }

  Value Info() const {
    return tree_.Object({{"title", tree_.Text(source_.title)}, {"version", tree_.Text(source_.version)}});
  }

  Value Security() const {
    Value token = tree_.Object({{"type", tree_.Text("apiKey")},
                                {"in", tree_.Text("header")},
                                {"name", tree_.Text("authorization")},
                                {"description", tree_.Text("A bearer token.")}});
    return tree_.Object({{"BearerToken", token}});
  }

  Value Reference(const Type* type) {
    if (type == nullptr) return tree_.Object({{"type", tree_.Text("string")}});
    wanted_.push_back(type);
    return tree_.Object({{"$ref", tree_.Text(std::string(v3() ? "#/components/schemas/" : "#/definitions/") +
                                             std::string(type->name))}});
  }

  // Paths.

  Value Path(const PathItem& item) {
    std::vector<Parameter> common = internal::CommonParameters(item);
    std::vector<Member> members;
    if (!common.empty()) members.emplace_back("parameters", Parameters(common));
    for (const Operation& operation : item.operations)
      members.emplace_back(tree_.Name(operation.method), Op(operation, common));
    return tree_.Object(members);
  }

  Value Op(const Operation& operation, const std::vector<Parameter>& common) {
    std::vector<Parameter> own = operation.parameters;
    std::erase_if(own, [&](const Parameter& p) { return std::find(common.begin(), common.end(), p) != common.end(); });
    std::vector<Member> members = {{"operationId", tree_.Text(operation.id)}, {"tags", tree_.Texts({operation.tag})}};
    if (!operation.description.empty()) members.emplace_back("description", tree_.Text(operation.description));
    if (!operation.action.empty()) members.emplace_back("x-kubernetes-action", tree_.Text(operation.action));
    if (!operation.gvk.kind.empty()) members.emplace_back("x-kubernetes-group-version-kind", Gvk(operation.gvk));
    v3() ? AddV3(operation, own, members) : AddV2(operation, own, members);
    return tree_.Object(members);
  }

  Value Gvk(const GroupVersionKind& gvk) const {
    return tree_.Object(
        {{"group", tree_.Text(gvk.group)}, {"kind", tree_.Text(gvk.kind)}, {"version", tree_.Text(gvk.version)}});
  }

  void AddV3(const Operation& operation, std::vector<Parameter>& own, std::vector<Member>& members) {
    if (!own.empty()) members.emplace_back("parameters", Parameters(own));
    if (operation.body != nullptr) {
      Value schema = Reference(operation.body);
      Value body = tree_.Object({{"content", Content(BodyTypes(operation), schema)},
                                 {"required", operation.body_required ? Value::Bool(true) : Value()}});
      members.emplace_back("requestBody", body);
    }
    std::vector<Member> responses;
    for (const auto& [code, type] : operation.responses) {
      Value response = tree_.Object({{"description", tree_.Text(CodeText(code))},
                                     {"content", Content(MediaTypes(operation), Reference(type))}});
      responses.emplace_back(tree_.Name(std::to_string(code)), response);
    }
    responses.emplace_back("401", tree_.Object({{"description", tree_.Text(CodeText(401))}}));
    members.emplace_back("responses", tree_.Object(responses));
  }

  Value Content(const std::vector<std::string_view>& types, const Value& schema) const {
    std::vector<Member> members;
    for (std::string_view type : types) members.emplace_back(type, tree_.Object({{"schema", schema}}));
    return tree_.Object(members);
  }

  void AddV2(const Operation& operation, std::vector<Parameter>& own, std::vector<Member>& members) {
    std::vector<std::pair<std::string, Value>> sorted;
    if (operation.body != nullptr) {
      Value body = tree_.Object({{"in", tree_.Text("body")},
                                 {"name", tree_.Text("body")},
                                 {"schema", Reference(operation.body)},
                                 {"required", operation.body_required ? Value::Bool(true) : Value()}});
      bool generic = operation.body->name.starts_with("io.k8s.apimachinery");
      sorted.emplace_back("body", generic ? Shared("body", body) : body);
    }
    for (const Parameter& parameter : own) sorted.emplace_back(parameter.name, ParameterValue(parameter));
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Value> parameters;
    for (const auto& entry : sorted) parameters.push_back(entry.second);
    if (!parameters.empty()) members.emplace_back("parameters", tree_.List(parameters));
    members.emplace_back("schemes", tree_.Texts({"https"}));
    AddV2Media(operation, members);
    std::vector<Member> responses;
    for (const auto& [code, type] : operation.responses) {
      responses.emplace_back(tree_.Name(std::to_string(code)),
                             tree_.Object({{"description", tree_.Text(CodeText(code))}, {"schema", Reference(type)}}));
    }
    responses.emplace_back("401", tree_.Object({{"description", tree_.Text(CodeText(401))}}));
    members.emplace_back("responses", tree_.Object(responses));
  }

  void AddV2Media(const Operation& operation, std::vector<Member>& members) const {
    if (operation.media == Media::kNone) return;
    auto produces = MediaTypes(operation);
    bool discovery = operation.action.empty();
    if (!operation.takes_nothing)
      members.emplace_back("consumes", TextList(discovery ? produces : BodyTypes(operation)));
    members.emplace_back("produces", TextList(produces));
  }

  Value TextList(const std::vector<std::string_view>& texts) const {
    std::vector<Value> items;
    for (std::string_view text : texts) items.push_back(tree_.Text(text));
    return tree_.List(items);
  }

  Value Parameters(std::vector<Parameter> parameters) {
    std::stable_sort(parameters.begin(), parameters.end(),
                     [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
    std::vector<Value> items;
    for (const Parameter& parameter : parameters) items.push_back(ParameterValue(parameter));
    return tree_.List(items);
  }

  Value ParameterValue(const Parameter& parameter) {
    Value required = parameter.in == "path" ? Value::Bool(true) : Value();
    Value description = parameter.description.empty() ? Value() : tree_.Text(parameter.description);
    Value type = tree_.Text(parameter.type), unique = Value::Bool(true);
    if (v3()) {
      Value schema = tree_.Object({{"type", type}, {"uniqueItems", unique}});
      return tree_.Object({{"name", tree_.Text(parameter.name)},
                           {"in", tree_.Text(parameter.in)},
                           {"description", description},
                           {"required", required},
                           {"schema", schema}});
    }
    Value value = tree_.Object({{"name", tree_.Text(parameter.name)},
                                {"in", tree_.Text(parameter.in)},
                                {"description", description},
                                {"required", required},
                                {"type", type},
                                {"uniqueItems", unique}});
    // kubectl looks for these two in place; the name's description says which kind it is of.
    bool in_place = parameter.name == "name" || parameter.name == "dryRun" || parameter.name == "fieldValidation";
    return in_place ? value : Shared(parameter.name, value);
  }

  // Version 2 says a parameter once, under a name made from its content.
  Value Shared(std::string_view name, const Value& value) {
    uint64_t hash = 0xcbf29ce484222325;
    for (char c : object::JsonText(value)) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string key = std::string(name) + "-";
    for (int i = 0; i < 8; ++i, hash >>= 6) key += kDigits[hash & 63];
    std::string_view kept = tree_.Name(key);
    shared_.emplace(kept, value);
    return tree_.Object({{"$ref", tree_.Text("#/parameters/" + key)}});
  }

  // Definitions.

  void AddKindOf(const Type* type, const GroupVersionKind& gvk) {
    if (type != nullptr) kinds_of_[type].insert({gvk.group, gvk.version, gvk.kind});
  }

  Value Definitions() {
    std::map<std::string_view, Value> done;
    while (!wanted_.empty()) {
      const Type* type = wanted_.back();
      wanted_.pop_back();
      auto [at, is_new] = done.try_emplace(type->name);
      if (!is_new) continue;
      // A field may have a variant of a type; the definition is that of the type proper.
      if (const Type* proper = source_.find_type(type->name)) type = proper;
      at->second = WithKinds(*type, OpenApiDefinition(arena_, *type, version_, source_.enums, &wanted_));
    }
    std::vector<Member> members;
    for (const auto& [name, value] : done) members.emplace_back(name, value);
    return members.empty() ? Value() : tree_.Object(members);
  }

  Value WithKinds(const Type& type, const Value& definition) {
    std::set<std::array<std::string_view, 3>> kinds;
    if (auto found = kinds_of_.find(&type); found != kinds_of_.end()) kinds = found->second;
    AddSharedKinds(type, kinds);
    if (kinds.empty()) return definition;
    std::vector<Value> items;
    for (const auto& [group, version, kind] : kinds) items.push_back(Gvk({group, version, kind}));
    object::ObjectBuilder builder(arena_, definition);
    builder.Append("x-kubernetes-group-version-kind", tree_.List(items));
    auto selectable = selectable_of_.find(&type);
    if (selectable == selectable_of_.end()) return builder.Build();
    std::vector<Value> fields;
    for (std::string_view path : selectable->second) fields.push_back(tree_.Object({{"fieldPath", tree_.Text(path)}}));
    builder.Append("x-kubernetes-selectable-fields", tree_.List(fields));
    return builder.Build();
  }

  // Types of meta/v1 belong to no group; two of them are known in every group version.
  void AddSharedKinds(const Type& type, std::set<std::array<std::string_view, 3>>& kinds) const {
    constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
    if (!type.name.starts_with(kMeta)) return;
    std::string_view name = type.name.substr(kMeta.size());
    bool everywhere = name == "DeleteOptions" || name == "WatchEvent";
    if (everywhere || type.FindField("kind") != nullptr) {
      const Field* kind = type.FindField("kind");
      if (everywhere || kind->Has(kJsonOnly)) kinds.insert({"", "v1", name});
    }
    if (!everywhere) return;
    for (const auto& [group, version] : group_versions_) kinds.insert({group, version, name});
  }

  const OpenApiSource& source_;
  const OpenApiVersion version_;
  const OpenApiForm form_;
  Arena arena_;
  internal::TreeBuilder tree_;
  std::vector<Member> paths_;
  std::vector<const Type*> wanted_;
  std::map<std::string_view, Value> shared_;
  std::map<const Type*, std::set<std::array<std::string_view, 3>>> kinds_of_;
  std::map<const Type*, std::span<const std::string_view>> selectable_of_;
  std::set<std::pair<std::string_view, std::string_view>> group_versions_;
};

}  // namespace

std::string OpenApiV3Document(const OpenApiSource& served, std::string_view group, std::string_view version,
                              OpenApiForm form) {
  OpenApiSource source = served;
  if (internal::IsCustomGroup(source, group)) {
    source.title = "Kubernetes CRD Swagger";
    source.version = "v0.1.0";
    source.says_security = false;
  }
  DocumentBuilder builder(source, OpenApiVersion::kV3, form);
  if (source.says_security) builder.AddGroupVersion(group, version);
  for (const Kind* kind : source.kinds) {
    if (!source.says_security && !kind->type->structural) builder.AddGroupVersion(kind->gvk.group, kind->gvk.version);
  }
  builder.AddPaths(internal::GroupVersionPaths(source, group, version));
  return builder.V3();
}

std::string OpenApiV3RootDocument(const OpenApiSource& source, std::string_view path, OpenApiForm form) {
  auto paths = internal::RootPaths(source, path);
  if (paths.empty()) return {};
  DocumentBuilder builder(source, OpenApiVersion::kV3, form);
  builder.AddPaths(paths);
  return builder.V3();
}

std::string OpenApiV2Document(const OpenApiSource& source, OpenApiForm form) {
  DocumentBuilder builder(source, OpenApiVersion::kV2, form);
  std::set<std::pair<std::string_view, std::string_view>> group_versions;
  for (const Kind* kind : source.kinds) group_versions.insert({kind->gvk.group, kind->gvk.version});
  std::set<std::string> roots = {
      ".well-known/openid-configuration", "api", "apis", "logs", "openid/v1/jwks", "version"};
  for (const auto& [group, version] : group_versions) {
    if (!group.empty() && !internal::IsCustomGroup(source, group)) roots.insert("apis/" + std::string(group));
    builder.AddGroupVersion(group, version);
    builder.AddPaths(internal::GroupVersionPaths(source, group, version));
  }
  for (const std::string& root : roots) builder.AddPaths(internal::RootPaths(source, root));
  return builder.V2();
}

}  // namespace homeostat::schema
