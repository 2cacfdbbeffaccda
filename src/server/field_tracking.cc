#include "server/field_tracking.h"

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "patch/field_manager.h"
#include "server/body.h"

namespace homeostat::server {
namespace {

// How entries recorded in another served version of the kind are brought to this one.
patch::VersionConverter OtherVersions(RequestContext& context) {
  patch::VersionConverter versions;
  const Resource& resource = *context.resource;
  Resources& resources = context.parts.resources;
  std::string group(resource.kind->gvk.group), plural(resource.kind->plural);
  auto find = [&resources, group, plural](std::string_view api_version) -> const Resource* {
    size_t slash = api_version.find('/');
    std::string_view version = slash == api_version.npos ? api_version : api_version.substr(slash + 1);
    if ((slash == api_version.npos ? std::string_view() : api_version.substr(0, slash)) != group) return nullptr;
    return resources.Find(group, version, plural);
  };
  versions.find_type = [find](std::string_view api_version) -> const schema::Type* {
    const Resource* other = find(api_version);
    return other == nullptr ? nullptr : other->kind->type;
  };
  versions.convert = [find](patch::Arena& arena, const Value& object, std::string_view api_version) -> Result<Value> {
    const Resource* from = find(object.Get("apiVersion").AsString());
    const Resource* to = find(api_version);
    if (from == nullptr || to == nullptr) return Fail(InternalError("no such version: " + std::string(api_version)));
    schema::ConformReport report;
    report.collect = false;
    TRY_ASSIGN(Value typed, schema::Conform(arena, object, *from->kind->type, report));
    TRY_ASSIGN(Value stored, ToStorage(arena, *from, typed));
    TRY_ASSIGN(Value converted, FromStorage(arena, *to, stored));
    return schema::ToJsonForm(arena, *to->kind->type, converted);
  };
  return versions;
}

patch::FieldManager ManagerFor(RequestContext& context, std::string_view subresource) {
  const schema::Kind& kind = context.kind();
  patch::FieldManagerOptions options;
  options.kind = kind.gvk;
  options.type = kind.type;
  options.subresource = subresource;
  options.reset_fields = patch::ResetFields(context.arena(), kind.reset_fields, subresource);
  options.versions = OtherVersions(context);
  return patch::FieldManager(std::move(options));
}

// The object as it reads after a conversion to the stored version and back, which may have given it defaults of that version.
Value AsStored(RequestContext& context, const Value& object) {
  auto stored = ToStorage(context.arena(), *context.resource, object);
  if (!stored) return object;
  return FromStorage(context.arena(), *context.resource, *stored).value_or(object);
}

}  // namespace

Value TrackUpdate(RequestContext& context, const Value& live, const Value& object, std::string_view manager,
                  std::string_view subresource, bool reset) {
  Value changed = AsStored(context, object);
  Value tracked = ManagerFor(context, subresource).Update(context.arena(), live, changed, manager, context.runtime().WallNow(), reset);
  return schema::WithoutEmpty(context.arena(), *context.kind().type, tracked);
}

Result<Value> ApplyConfiguration(RequestContext& context, const Value& live, const Value& applied, std::string_view manager,
                                 std::string_view subresource, bool force) {
  patch::FieldManager fields = ManagerFor(context, subresource);
  TRY_ASSIGN(auto outcome, fields.Apply(context.arena(), live, applied, manager, force, context.runtime().WallNow()));
  if (!outcome.changed) {
    context.empty_fields.Clear();
    return outcome.object;
  }
  schema::ConformReport report;
  report.collect = false;
  report.empty_fields = &context.empty_fields;
  context.empty_fields.Clear();
  Result<Value> typed = outcome.object;
  const schema::Type& type = *context.kind().type;
  if (!type.structural) typed = schema::FromUnstructured(context.arena(), outcome.object, type);
  if (typed) typed = schema::Conform(context.arena(), *typed, type, report);
  if (!typed) {
    const schema::GroupVersionKind& gvk = context.kind().gvk;
    std::string version = (gvk.group.empty() ? "/" : "") + gvk.ApiVersion();  // Go shows the empty group
    return Fail(Status(500, "", "failed to convert new object (" + fields.Describe(applied) + ") to proper version: unable to convert "
                                "unstructured object to " + version + ", Kind=" + std::string(gvk.kind) + ": " + typed.error().message()));
  }
  return context.defaults(context.kind()).Apply(context.arena(), type, *typed);
}

}  // namespace homeostat::server
