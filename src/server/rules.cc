#include "server/rules.h"

#include <algorithm>

#include "homeostat/base/ids.h"
#include "homeostat/schema/diff.h"
#include "kinds/gates.h"
#include "kinds/metadata_checks.h"

namespace homeostat::server {
namespace {

using schema::GenerationRule;

// `object` with everything at `paths` as it is in `old`.
Value KeepFromOld(object::Arena& arena, const schema::Type& type, Value object, const Value& old,
                  std::span<const std::string_view> paths) {
  for (std::string_view path : paths) object = SetPath(arena, type, object, path, GetPath(old, path));
  return object;
}

// The old object with the status, and the record of who wrote it, of the new one.
Value WithStatusOf(object::Arena& arena, const schema::Type& type, const Value& object, const Value& old) {
  Value result = SetField(arena, type, old, "status", object.Get("status"));
  return SetMetadata(arena, type, result, {{"managedFields", object.Path({"metadata", "managedFields"})},
                                           {"resourceVersion", object.Path({"metadata", "resourceVersion"})}});
}

// Everything but metadata and, unless it counts, status, compared field by field.
bool BodyChanged(const Value& object, const Value& old, bool status_counts) {
  auto differs = [&](const Value& a, const Value& b) {
    return std::ranges::any_of(a.members(), [&](const object::Member& member) {
      std::string_view name = member.name();
      if (name == "metadata" || name == "kind" || name == "apiVersion") return false;
      if (name == "status" && !status_counts) return false;
      return !object::Equal(member.value, b.Get(name));
    });
  };
  return differs(object, old) || differs(old, object);
}

// Whether the specs differ; for most kinds octets that came empty are none.
bool SpecChanged(const schema::Type& type, const Value& object, const Value& old, bool empty_counts) {
  Value now = object.Get("spec"), before = old.Get("spec");
  if (object::Equal(now, before)) return false;
  const schema::Field* spec = type.FindField("spec");
  return empty_counts || spec == nullptr || spec->type->structural || !schema::IsEqual(*spec->type, now, before);
}

bool BumpsGeneration(const schema::Kind& kind, const Value& object, const Value& old, bool empty_counts) {
  auto differs = [&](std::initializer_list<std::string_view> path) { return !object::Equal(object.Path(path), old.Path(path)); };
  auto spec_differs = [&] { return SpecChanged(*kind.type, object, old, empty_counts); };
  switch (kind.generation) {
    case GenerationRule::kNone:
    case GenerationRule::kAsSent:
    case GenerationRule::kAlwaysOne:
      return false;
    case GenerationRule::kSpec:
      return spec_differs();
    case GenerationRule::kSpecOrAnnotations:
      return spec_differs() || differs({"metadata", "annotations"});
    case GenerationRule::kAnyButMetadataAndStatus:
      return BodyChanged(object, old, false);
    case GenerationRule::kAnyButMetadata:
      return BodyChanged(object, old, true);
    case GenerationRule::kAnyButMetadataOrLabels:
      return BodyChanged(object, old, true) || differs({"metadata", "labels"});
  }
  return false;
}

// What an update may leave out without meaning to remove it, and what it can't change once set.
Value CarryOverMetadata(object::Arena& arena, const schema::Type& type, const Value& object, const Value& old, bool dry_run) {
  Value now = object.Get("metadata"), before = old.Get("metadata");
  std::vector<MetadataChange> changes;
  if (now.Get("uid").AsString().empty()) changes.push_back({"uid", before.Get("uid")});
  if (before.Get("creationTimestamp")) changes.push_back({"creationTimestamp", before.Get("creationTimestamp")});
  if (before.Get("deletionTimestamp")) changes.push_back({"deletionTimestamp", before.Get("deletionTimestamp")});
  if (!now.Get("deletionGracePeriodSeconds")) {
    changes.push_back({"deletionGracePeriodSeconds", before.Get("deletionGracePeriodSeconds")});
  }
  changes.push_back({"generation", before.Get("generation")});
  if (!dry_run) changes.push_back({"selfLink", Value()});  // it is storing that drops it
  Value result = object;
  for (const MetadataChange& change : changes) result = SetMetadata(arena, type, result, change.field, change.value);
  return result;
}

// The kind's own checks of metadata, by their letters.
void RunMetadataChecks(const Resource& resource, std::string_view checks, const Value& object, const Value& old,
                       schema::FieldErrors& errors) {
  for (char check : checks) {
    MetaRules rules{.finalizer_owners = check >= 'A' && check <= 'Z', .any_generate_name = check == 'n' || check == 'N'};
    if (check != 'u' && check != 'U') {
      ValidateObjectMeta(object, resource.working->namespaced, resource.behaviour->validate_name, rules, errors);
    } else {
      ValidateObjectMetaUpdate(object, old, rules, errors);
    }
  }
}

// Makes those checks of metadata that come before the kind's own; the letters of those that are left.
std::string_view CheckFirst(const Resource& resource, std::string_view checks, const Value& object, const Value& old, schema::FieldErrors& errors) {
  size_t plus = std::min(checks.find('+'), checks.size());
  RunMetadataChecks(resource, checks.substr(0, plus), object, old, errors);
  return checks.substr(std::min(plus + 1, checks.size()));
}

// As the object calls itself, which custom resources are checked for.
std::string_view KindName(const schema::Kind& kind, const Value& object) {
  std::string_view own = object.Get("kind").AsString();
  return own.empty() ? kind.gvk.kind : own;
}

}  // namespace

std::vector<std::string_view> ResetFields(const schema::Kind& kind, std::string_view subresource) {
  std::vector<std::string_view> paths;
  for (std::string_view entry : kind.reset_fields) {
    size_t colon = entry.find(':');
    std::string_view owner = colon == std::string_view::npos ? std::string_view() : entry.substr(0, colon);
    if (owner != subresource) continue;
    std::string_view list = colon == std::string_view::npos ? entry : entry.substr(colon + 1);
    while (!list.empty()) {
      size_t comma = list.find(',');
      paths.push_back(list.substr(0, comma));
      list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    }
  }
  return paths;
}

Result<Value> PrepareForCreate(kinds::RuleContext& context, const Resource& resource, Value object) {
  const schema::Kind& kind = *resource.working;
  const schema::Type& type = *kind.type;
  if (kind.has_status && !kind.status_at_creation) object = SetField(context.arena, type, object, "status", Value());
  object = kinds::DropDisabledFields(context.arena, type, object, Value());
  if (!kind.namespaced) object = SetMetadata(context.arena, type, object, "namespace", Value());
  object = FillSystemFields(context.arena, context.runtime, type, object);
  if (!context.dry_run) object = SetMetadata(context.arena, type, object, {{"resourceVersion", Value()}, {"selfLink", Value()}});  // storing drops them
  if (kind.generation != GenerationRule::kAsSent) {
    Value generation = kind.generation == GenerationRule::kNone ? Value() : Value::Int(1);
    object = SetMetadata(context.arena, type, object, "generation", generation);
  }
  std::string_view base = MetadataString(object, "generateName");
  if (!base.empty() && MetadataString(object, "name").empty()) {
    std::string name = resource.behaviour->names_as_given ? std::string(base) : GenerateName(context.runtime, base);
    object = SetMetadata(context.arena, type, object, "name", Value::String(context.arena, name));
  }
  if (resource.behaviour->allocate != nullptr && context.claims != nullptr && context.subresource.empty()) {
    TRY_ASSIGN(object, resource.behaviour->allocate(context, *context.claims, object, Value()));
  }
  if (resource.behaviour->prepare_create != nullptr) object = resource.behaviour->prepare_create(context, object);
  return object;
}

Result<void> ValidateForCreate(kinds::RuleContext& context, const Resource& resource, const Value& object) {
  const schema::Kind& kind = *resource.working;
  schema::FieldErrors errors;
  errors.set_empty_fields(context.empty_fields);
  std::string_view rest = CheckFirst(resource, kinds::MetadataChecksOf(resource.kind->gvk, resource.custom).create, object, Value(), errors);
  if (!rest.empty()) context.rest_of_metadata = [&resource, rest, &object](schema::FieldErrors& found) { RunMetadataChecks(resource, rest, object, Value(), found); };
  if (resource.behaviour->validate_create != nullptr) resource.behaviour->validate_create(context, object, errors);
  kinds::CheckRestOfMetadata(context, errors);
  if (errors.empty()) ValidateObjectMeta(object, kind.namespaced, PathSegmentName, {}, errors);
  if (!errors.empty()) return Fail(errors.ToStatus(kind.gvk.group, KindName(kind, object), MetadataString(object, "name")));
  if (resource.behaviour->warn != nullptr) resource.behaviour->warn(context, object, Value());
  return {};
}

Result<Value> PrepareForUpdate(kinds::RuleContext& context, const Resource& resource, Value object, const Value& old) {
  const schema::Kind& kind = *resource.working;
  const schema::Type& type = *kind.type;
  object = kinds::DropDisabledFields(context.arena, type, object, old);
  if (resource.behaviour->allocate != nullptr && context.claims != nullptr && context.subresource.empty()) {
    TRY_ASSIGN(object, resource.behaviour->allocate(context, *context.claims, object, old));
  }
  object = CarryOverMetadata(context.arena, type, object, old, context.dry_run);
  if (!kind.namespaced) object = SetMetadata(context.arena, type, object, "namespace", Value());
  if (context.subresource.empty()) {
    if (kind.has_status) object = SetField(context.arena, type, object, "status", old.Get("status"));
  } else if (context.subresource == "status") {
    Value managed = object.Path({"metadata", "managedFields"});
    object = kind.status_writes_only_status ? WithStatusOf(context.arena, type, object, old)
                                            : KeepFromOld(context.arena, type, object, old, kind.status_keeps);
    // Where all of the metadata stays, who owns what is this write's all the same.
    if (std::ranges::find(kind.status_keeps, "metadata") != kind.status_keeps.end()) {
      object = SetMetadata(context.arena, type, object, "managedFields", managed);
    }
  }
  if (resource.behaviour->prepare_update != nullptr) object = resource.behaviour->prepare_update(context, object, old);
  if (kind.generation == GenerationRule::kAsSent) return object;
  bool emptied = resource.behaviour->empty_raises_generation && context.empty_fields != nullptr && context.empty_fields->HasInBody() &&
                 !context.empty_fields->Has(resource.behaviour->filled_by_defaults);
  if (context.subresource != "status" && (BumpsGeneration(kind, object, old, resource.behaviour->empty_raises_generation) || emptied)) {
    int64_t next = old.Path({"metadata", "generation"}).AsInt() + 1;
    object = SetMetadata(context.arena, type, object, "generation", Value::Int(next));
  }
  return object;
}

Result<void> ValidateForUpdate(kinds::RuleContext& context, const Resource& resource, const Value& object,
                               const Value& old) {
  const schema::Kind& kind = *resource.working;
  schema::FieldErrors errors;
  errors.set_empty_fields(context.empty_fields);
  ValidateObjectMeta(object, kind.namespaced, PathSegmentName, {}, errors);
  ValidateObjectMetaUpdate(object, old, {}, errors);
  kinds::MetadataChecks checks = kinds::MetadataChecksOf(resource.kind->gvk, resource.custom);
  std::string_view rest = CheckFirst(resource, context.subresource.empty() ? checks.update : checks.part, object, old, errors);
  if (!rest.empty()) context.rest_of_metadata = [&resource, rest, &object, &old](schema::FieldErrors& found) { RunMetadataChecks(resource, rest, object, old, found); };
  if (resource.behaviour->validate_update != nullptr) resource.behaviour->validate_update(context, object, old, errors);
  kinds::CheckRestOfMetadata(context, errors);
  if (!errors.empty()) return Fail(errors.ToStatus(kind.gvk.group, KindName(kind, object), MetadataString(object, "name")));
  if (resource.behaviour->warn != nullptr) resource.behaviour->warn(context, object, old);
  return {};
}

bool IsHeld(const kinds::Behaviour& behaviour, const Value& object) {
  return !object.Path({"metadata", "finalizers"}).empty() || (behaviour.held != nullptr && behaviour.held(object));
}

bool IsRemovedByUpdate(const kinds::Behaviour& behaviour, const Value& object, const Value& old) {
  if (IsHeld(behaviour, object)) return false;
  Value before = old.Get("metadata");
  return before.Get("deletionTimestamp") && before.Get("deletionGracePeriodSeconds").AsInt() == 0;
}

}  // namespace homeostat::server
