#include "server/body_kind.h"

#include <algorithm>
#include <span>

#include "homeostat/api/registry.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "server/body.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kTypeMetaStruct =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

std::string_view JsonTypeName(const Value& value) {
  switch (value.kind()) {
    case object::ValueKind::kList: return "array";
    case object::ValueKind::kString: return "string";
    case object::ValueKind::kBool: return "bool";
    case object::ValueKind::kObject: return "object";
    default: return "number";
  }
}

// The name under which upstream keeps the unversioned form of a kind: by the group it is stored in.
std::string InternalPackage(const RequestContext& context, const schema::Kind& kind) {
  std::string_view group = &kind == &context.kind() ? context.storage().gvk.group : kind.gvk.group;
  return group.empty() ? "core" : std::string(group.substr(0, group.find('.')));
}

bool Has(std::span<const std::string_view> names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// Kinds that every version of every group has.
constexpr std::string_view kInEveryVersion[] = {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"};
// Kinds that have no version, so that they are known in any.
constexpr std::string_view kUnversioned[] = {"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"};
// Groups of servers that upstream builds apart: each knows its own kinds, and the rest does not know them.
constexpr std::string_view kGroupsApart[] = {"apiextensions.k8s.io", "apiregistration.k8s.io"};

std::string_view SchemeOf(std::string_view group) { return Has(kGroupsApart, group) ? group : std::string_view(); }

// Whether a kind is of those that all schemes have; those stand in one Go package whatever the version.
bool IsMetaKind(std::string_view kind) { return Has(kInEveryVersion, kind) || Has(kUnversioned, kind); }

// Whether upstream's server of the expected kind knows the kind of a body.
bool IsKnown(const RequestContext& context, const TypeMeta& meta, const schema::Kind& expected) {
  if (Has(kUnversioned, meta.kind)) return true;
  bool options = Has(kInEveryVersion, meta.kind);
  if (options && meta.group.empty() && meta.version == "v1") return true;
  if (SchemeOf(meta.group) != SchemeOf(expected.gvk.group)) return false;
  if (options) return api::IsGroupVersion(meta.group, meta.version);
  // Kinds that are served nowhere are known as well: lists, subresources, options of streams. Not so what answers are made of.
  const schema::Type* type = api::FindTypeOfKind(meta.group, meta.version, meta.kind);
  if (type != nullptr) return type != api::FindTypeOfKind("meta.k8s.io", "v1", meta.kind);
  const Resource* served = context.parts.resources.FindKind(meta.group, meta.version, meta.kind);
  return (served != nullptr && !served->custom) || api::IsOldKind(meta.group, meta.version, meta.kind);
}

// Why a body of another kind than the URL expects can't be taken: `body`, if it is a tree, may not even be of its own kind.
std::string WrongKind(RequestContext& context, const TypeMeta& meta, const schema::Kind& expected, const Value& body) {
  const schema::Type* type = api::FindTypeOfKind(meta.group, meta.version, meta.kind);
  if (!IsKnown(context, meta, expected)) {
    std::string version = meta.group.empty() ? meta.version : meta.group + "/" + meta.version;
    return "no kind \"" + meta.kind + "\" is registered for version \"" + version + "\" in scheme \"pkg/runtime/scheme.go:111\"";
  }
  if (type != nullptr && body.IsObject()) {
    schema::ConformReport report;
    report.collect = false;
    auto own = schema::Conform(context.arena(), body, *type, report);
    if (!own) return own.error().message();
  }
  std::string package = IsMetaKind(meta.kind) ? "v1" : meta.version;
  return "converting (" + package + "." + meta.kind + ") to (" + InternalPackage(context, expected) + "." +
         std::string(expected.gvk.kind) + "): unknown conversion";
}

bool IsKind(const TypeMeta& meta, const schema::GroupVersionKind& kind) {
  return meta.kind == kind.kind && meta.group == kind.group && meta.version == kind.version;
}

}  // namespace

bool SplitApiVersion(TypeMeta& meta) {
  schema::GroupVersion parts = schema::ParseApiVersion(meta.api_version);
  meta.group = parts.group;
  meta.version = parts.version;
  return parts.IsValid();
}

Result<TypeMeta> ReadTypeMeta(const Value& untyped) {
  TypeMeta meta;
  if (!untyped.IsObject() && !untyped.IsNull()) {
    return Fail(BadRequestError("couldn't get version/kind; json parse error: json: cannot unmarshal " +
                                std::string(JsonTypeName(untyped)) + " into Go value of type " + std::string(kTypeMetaStruct)));
  }
  for (const object::Member& member : untyped.members()) {
    bool version = member.name() == "apiVersion";
    if (!(version || member.name() == "kind") || !member.value) continue;
    if (!member.value.IsString()) {
      return Fail(BadRequestError("couldn't get version/kind; json parse error: json: cannot unmarshal " +
                                  std::string(JsonTypeName(member.value)) + " into Go struct field ." + std::string(member.name()) +
                                  " of type string"));
    }
    (version ? meta.api_version : meta.kind) = member.value.AsString();
  }
  if (!SplitApiVersion(meta)) {
    return Fail(BadRequestError("unexpected GroupVersion string: " + meta.api_version));
  }
  return meta;
}

void FillTypeMeta(TypeMeta& meta, const schema::Kind& expected) {
  if (meta.kind.empty()) meta.kind = expected.gvk.kind;
  if (meta.api_version.empty()) {
    meta.group = expected.gvk.group;
    meta.version = expected.gvk.version;
    meta.api_version = expected.gvk.ApiVersion();
  }
}

Status WrongVersion(std::string_view api_version, const schema::Kind& expected) {
  return BadRequestError("the API version in the data (" + std::string(api_version) + ") does not match the expected API version (" +
                         expected.gvk.ApiVersion() + ")");
}

Status CannotBeHandled(const TypeMeta& meta, const schema::Kind& expected, std::string_view why) {
  return BadRequestError(meta.kind + " in version \"" + meta.version + "\" cannot be handled as a " +
                         std::string(expected.gvk.kind) + ": " + std::string(why));
}

KindMatch MatchKind(RequestContext& context, const TypeMeta& meta, const schema::Kind& expected, std::string_view also_version, const Value& body) {
  bool version_fits = meta.version == expected.gvk.version || (!also_version.empty() && meta.version == also_version);
  KindMatch match{.fits = meta.kind == expected.gvk.kind && meta.group == expected.gvk.group && version_fits, .refusal = BadRequestError("")};
  if (match.fits) return match;
  match.other_version = api::FindOtherVersion(meta.group, meta.version, meta.kind, expected.gvk, *expected.type);
  match.refusal = match.other_version != nullptr ? WrongVersion(meta.api_version, expected)
                                                 : CannotBeHandled(meta, expected, WrongKind(context, meta, expected, body));
  return match;
}

Result<const schema::Type*> TypeOfPatched(RequestContext& context, const schema::Kind& expected, const Value& tree) {
  TRY_ASSIGN(TypeMeta meta, ReadTypeMeta(tree));
  FillTypeMeta(meta, expected);
  if (IsKind(meta, expected.gvk)) return expected.type;
  const schema::Type* other = api::FindOtherVersion(meta.group, meta.version, meta.kind, expected.gvk, *expected.type);
  if (other != nullptr) return other;
  return Fail(BadRequestError(WrongKind(context, meta, expected, tree)));
}

Result<Value> ToExpectedVersion(RequestContext& context, const schema::Kind& expected, const Value& tree, const Value& object) {
  TRY_ASSIGN(TypeMeta meta, ReadTypeMeta(tree));
  object::Arena& arena = context.arena();
  const Resource* other = context.parts.resources.Find(meta.group, meta.version, expected.plural);
  if (other != nullptr && &expected == &context.kind()) {
    TRY_ASSIGN(Value full, context.defaults(*other->kind).Apply(arena, *other->kind->type, object));
    TRY_ASSIGN(Value stored, ToStorage(arena, *other, full));
    return FromStorage(arena, *context.resource, stored);
  }
  // What such a version calls otherwise is lost.
  schema::ConformReport report;
  report.collect = false;
  return schema::Conform(arena, tree, *expected.type, report);
}

}  // namespace homeostat::server
