#include "server/custom/definition.h"

#include <algorithm>

#include "homeostat/api/apiextensions/v1.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "kinds/apiextensions/custom_resource.h"
#include "kinds/apiextensions/object_rules.h"
#include "server/body.h"
#include "server/custom/conversion.h"
#include "server/metadata.h"
#include "server/object_store.h"

namespace homeostat::server {

using object::Value;

namespace {

constexpr uint32_t kAllVerbs = schema::kGet | schema::kList | schema::kWatch | schema::kCreate | schema::kUpdate | schema::kPatch |
                               schema::kDelete | schema::kDeleteCollection;
constexpr uint32_t kPartVerbs = schema::kGet | schema::kPatch | schema::kUpdate;

bool HasCondition(const Value& definition, std::string_view type) {
  return std::ranges::any_of(definition.Path({"status", "conditions"}).items(), [&](const Value& condition) {
    return condition.Get("type").AsString() == type && condition.Get("status").AsString() == "True";
  });
}

// com.example.stable.v1.CronTab of stable.example.com/v1.
std::string OpenApiName(std::string_view group, std::string_view version, std::string_view kind) {
  std::string name;
  for (std::string_view rest = group; !rest.empty();) {
    size_t dot = rest.rfind('.');
    name += std::string(rest.substr(dot == rest.npos ? 0 : dot + 1)) + ".";
    rest = dot == rest.npos ? std::string_view() : rest.substr(0, dot);
  }
  return name + std::string(version) + "." + std::string(kind);
}

std::string StorageVersionHash(std::string_view group, std::string_view version, std::string_view kind) {
  std::string text = std::string(group) + "/" + std::string(version) + "/" + std::string(kind);
  return Base64Encode(Sha256(text).substr(0, 8));
}

// .spec.replicas as the path that trees are read by.
std::string_view WithoutDot(std::string_view path) { return path.starts_with('.') ? path.substr(1) : path; }

// "x is deprecated; use y": what clients of a version on its way out are told when the definition has no words of its own.
std::string DefaultDeprecation(const Value& spec, std::string_view version) {
  std::string group(spec.Get("group").AsString()), kind(spec.Path({"names", "kind"}).AsString());
  std::string text = group + "/" + std::string(version) + " " + kind + " is deprecated", best;
  for (const Value& other : spec.Get("versions").items()) {
    std::string name(other.Get("name").AsString());
    if (!other.Get("served").AsBool() || other.Get("deprecated").AsBool() || !VersionBefore(name, std::string(version))) continue;
    if (best.empty() || VersionBefore(name, best)) best = name;
  }
  return best.empty() ? text : text + "; use " + group + "/" + best + " " + kind;
}

}  // namespace

std::shared_ptr<const Definition> Definition::Read(Runtime& runtime, cache::EntryPtr entry) {
  auto document = entry->document();
  if (!document) return nullptr;
  Value object = (*document)->root(), spec = object.Get("spec"), accepted = object.Path({"status", "acceptedNames"});
  bool shown = HasCondition(object, "Established") || HasCondition(object, "NamesAccepted");
  if (!shown || accepted.Get("plural").AsString().empty() || accepted.Get("kind").AsString().empty()) return nullptr;
  auto definition = std::make_shared<Definition>();
  definition->stored_ = entry->stored();
  definition->revision_ = entry->revision();
  definition->uid_ = MetadataString(object, "uid");
  definition->terminating_ = HasCondition(object, "Terminating");
  definition->ReadNames(spec, accepted);
  for (const Value& version : spec.Get("versions").items()) definition->ReadVersion(spec, version);
  if (definition->storage_ == nullptr) return nullptr;
  for (Version& version : definition->versions_) definition->SetRules(version);
  definition->ReadConversion(runtime, spec.Get("conversion"));
  std::string text = definition->uid_ + object::JsonText(spec) + object::JsonText(accepted);
  definition->fingerprint_ = Sha256(text) + (definition->terminating_ ? "/terminating" : "");
  return definition;
}

void Definition::ReadNames(const Value& spec, const Value& names) {
  group_ = spec.Get("group").AsString();
  plural_ = names.Get("plural").AsString();
  storage_prefix_ = group_ + "/" + plural_;
  singular_ = Keep(names.Get("singular").AsString());
  kind_ = Keep(names.Get("kind").AsString());
  list_kind_ = Keep(names.Get("listKind").AsString());
  for (const Value& name : names.Get("shortNames").items()) short_names_.push_back(Keep(name.AsString()));
  for (const Value& name : names.Get("categories").items()) categories_.push_back(Keep(name.AsString()));
  namespaced_ = spec.Get("scope").AsString() == "Namespaced";
  preserve_unknown_fields_ = spec.Get("preserveUnknownFields").AsBool();
}

void Definition::ReadConversion(Runtime& runtime, const Value& conversion) {
  if (conversion.Get("strategy").AsString() != "Webhook") return;
  auto find = [this](std::string_view name) -> const schema::Kind* {
    Load();
    const Version* version = FindVersion(name);
    return version == nullptr ? nullptr : &version->kind;
  };
  conversion_ = std::make_shared<Conversion>(runtime, conversion.Get("webhook"), find, storage_->kind);
}

void Definition::ReadVersion(const Value& spec, const Value& source) {
  Version& version = versions_.emplace_back();
  version.name = source.Get("name").AsString();
  version.served = source.Get("served").AsBool();
  version.storage = source.Get("storage").AsBool();
  version.openapi_name = OpenApiName(group_, version.name, kind_);
  if (version.storage) storage_ = &version;
  version.kind.gvk = {group_, version.name, kind_};
  version.list_name = OpenApiName(group_, version.name, list_kind_);
  version.list_text = "A list of " + std::string(kind_) + ".";
  ReadSubresources(version, source.Get("subresources"));
  ReadColumns(version, source.Get("additionalPrinterColumns"));
  for (const Value& field : source.Get("selectableFields").items()) {
    version.selectable.push_back(Keep(WithoutDot(field.Get("jsonPath").AsString())));
  }
  if (!source.Get("deprecated").AsBool()) return;
  Value warning = source.Get("deprecationWarning");
  version.deprecation = warning ? std::string(warning.AsString()) : DefaultDeprecation(spec, version.name);
}

void Definition::ReadSubresources(Version& version, const Value& subresources) {
  schema::Kind& kind = version.kind;
  if (subresources.Get("status")) {
    kind.has_status = true;
    version.subresources.push_back({.name = "status", .kind = kind.gvk, .verbs = kPartVerbs});
    version.reset_fields = {"status", "status:metadata,spec"};
  }
  if (Value scale = subresources.Get("scale")) {
    schema::Subresource sub{.name = "scale", .kind = {"autoscaling", "v1", "Scale"}, .verbs = kPartVerbs};
    sub.spec_replicas_path = Keep(WithoutDot(scale.Get("specReplicasPath").AsString()));
    sub.status_replicas_path = Keep(WithoutDot(scale.Get("statusReplicasPath").AsString()));
    sub.selector_path = Keep(WithoutDot(scale.Get("labelSelectorPath").AsString()));
    version.subresources.push_back(sub);
  }
}

void Definition::ReadColumns(Version& version, const Value& columns) {
  version.columns.push_back({.name = "Name", .type = "string", .format = "name",
                             .description = "The name of the object, unique among those of its kind in its namespace.",
                             .path = "metadata.name"});
  for (const Value& source : columns.items()) {
    schema::Column column;
    column.name = Keep(source.Get("name").AsString());
    column.type = Keep(source.Get("type").AsString());
    column.format = Keep(source.Get("format").AsString());
    column.description = Keep(source.Get("description").AsString());
    column.priority = static_cast<int32_t>(source.Get("priority").AsInt());
    column.path = Keep(source.Get("jsonPath").AsString());
    if (column.description.empty()) column.description = Keep("Custom resource definition column (in JSONPath format): " + std::string(column.path));
    version.columns.push_back(column);
  }
  if (!columns.empty()) return;
  version.columns.push_back({.name = "Age", .type = "date", .description = "When the object was made.", .path = ".metadata.creationTimestamp"});
}

void Definition::SetRules(Version& version) {
  schema::Kind& kind = version.kind;
  kind.plural = plural_;
  kind.singular = singular_;
  kind.list_kind = list_kind_;
  kind.short_names = short_names_;
  kind.categories = categories_;
  kind.namespaced = namespaced_;
  kind.verbs = kAllVerbs;
  kind.subresources = version.subresources;
  kind.columns = version.columns;
  kind.storage_version = storage_->name;
  if (storage_->served) version.hash = StorageVersionHash(group_, storage_->name, kind_);
  kind.storage_version_hash = version.hash;
  kind.storage_prefix = storage_prefix_;
  kind.selectable_fields = version.selectable;
  kind.reset_fields = version.reset_fields;
  kind.deprecation_warning = version.deprecation;
  kind.unconditional_update = false;
  kind.status_writes_only_status = true;
  kind.generation = schema::GenerationRule::kAnyButMetadata;
}

void Definition::Load() const {
  std::call_once(loaded_, [this] {
    object::DocumentPtr document = Document();
    for (const Version& version : versions_) {
      object::OwnedValue schema = SchemaIn(document, version.name);
      schema::StructuralOptions options;
      options.object_meta = &api::meta::v1::ObjectMeta::SchemaType();
      options.name = version.openapi_name;
      options.go_name = kind_;
      options.preserve_unknown_fields = preserve_unknown_fields_ || !schema;
      version.schema = schema::StructuralSchema::Compile(schema.value, schema.document, options);
      version.kind.type = &version.schema->type();
      version.rules = kinds::MakeObjectRules(*version.schema);
      version.kind.rules = version.rules.get();
      MakeListType(version);
    }
  });
}

void Definition::MakeListType(const Version& version) {
  static constexpr std::array<uint16_t, 4> kByName = {1, 3, 0, 2};
  constexpr uint32_t kText = schema::kOmitEmpty | schema::kJsonOnly;
  version.items = {.form = schema::Form::kList, .element = version.kind.type};
  version.list_fields = {
      schema::Field{.name = "kind", .proto_name = "kind", .flags = kText, .type = &schema::ScalarType(schema::Form::kString),
                    .documentation = "Names what this list is, in CamelCase."},
      schema::Field{.name = "apiVersion", .proto_name = "apiVersion", .flags = kText, .type = &schema::ScalarType(schema::Form::kString),
                    .documentation = "The group and version of the form that this list is written in."},
      schema::Field{.name = "metadata", .proto_name = "metadata", .number = 1, .type = &api::meta::v1::ListMeta::SchemaType(),
                    .documentation = "What is said of the list as a whole: its version, and where its next page begins."},
      schema::Field{.name = "items", .proto_name = "items", .number = 2, .flags = schema::kRequired, .type = &version.items,
                    .documentation = "The objects of the list."}};
  version.list = {.form = schema::Form::kStruct,
                  .name = version.list_name,
                  .go_name = version.kind.list_kind,
                  .documentation = version.list_text,
                  .fields = version.list_fields,
                  .by_name = kByName};
  version.kind.list_type = &version.list;
}

object::DocumentPtr Definition::Document() const {
  return DecodeStored(api::apiextensions::v1::CustomResourceDefinition::SchemaKind(), stored_, revision_).value_or(nullptr);
}

object::OwnedValue Definition::SchemaIn(const object::DocumentPtr& document, std::string_view name) {
  if (!document) return {};
  for (const Value& version : document->root().Path({"spec", "versions"}).items()) {
    if (version.Get("name").AsString() == name) return {document, version.Path({"schema", "openAPIV3Schema"})};
  }
  return {};
}

object::OwnedValue Definition::SchemaOf(std::string_view version) const { return SchemaIn(Document(), version); }

const Definition::Version* Definition::FindVersion(std::string_view name) const {
  auto found = std::ranges::find_if(versions_, [&](const Version& version) { return version.name == name; });
  return found == versions_.end() ? nullptr : &*found;
}

const schema::Kind* Definition::KindIn(std::string_view name) const {
  const Version* version = FindVersion(name);
  if (version == nullptr) return nullptr;
  Load();
  return &version->kind;
}

Resource Definition::ResourceOf(const Version& version) const {
  Resource resource;
  resource.kind = resource.working = &version.kind;
  resource.storage = conversion_ ? &version.kind : &storage_->kind;
  resource.behaviour = &kinds::kCustomResource;
  resource.owner = shared_from_this();
  resource.custom = true;
  resource.terminating = terminating_;
  resource.conversion = conversion_.get();
  return resource;
}

std::vector<Resource> Definition::Resources() const {
  std::vector<Resource> resources;
  for (const Version& version : versions_) {
    if (version.served) resources.push_back(ResourceOf(version));
  }
  return resources;
}

Resource Definition::StorageResource() const {
  Load();
  return ResourceOf(*storage_);
}

void Definition::Withdraw() const {
  Retire();
  if (conversion_) conversion_->DropViews();
}

Result<object::DocumentPtr> Definition::Decode(const Bytes& stored, uint64_t revision) const {
  Load();
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  arena.Keep(shared_from_this());
  TRY_ASSIGN(Value untyped, object::ParseJson(arena, stored));
  std::string_view api_version = untyped.Get("apiVersion").AsString();
  const Version* written = FindVersion(schema::ParseApiVersion(api_version).version);
  if (written == nullptr) return Fail(Status(500, "", "request to convert CR from an invalid group/version: " + std::string(api_version)));
  schema::ConformReport report;
  report.collect = false;
  TRY_ASSIGN(Value object, schema::Conform(arena, untyped, *written->kind.type, report));
  TRY_ASSIGN(object, defaults_.Apply(arena, *written->kind.type, object));
  const Version* shown = conversion_ ? written : storage_;
  if (written != shown) object = kinds::kCustomResource.convert(arena, object, written->kind, shown->kind);
  if (object.Path({"metadata", "generation"}).AsInt() == 0) {
    object = SetMetadata(arena, *shown->kind.type, object, "generation", Value::Int(1));
  }
  object = SetMetadata(arena, *shown->kind.type, object, "resourceVersion", Value::String(arena, std::to_string(revision)));
  document->set_root(object);
  return object::DocumentPtr(document);
}

}  // namespace homeostat::server
