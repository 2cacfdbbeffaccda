// patch: JSON patch, merge patch, strategic merge patch and server-side apply, on an object or a part of it.
#include "server/patch.h"

#include <algorithm>

#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "object/go_value.h"
#include "patch/consumed_patch.h"
#include "patch/json_patch.h"
#include "patch/managed_fields.h"
#include "patch/merge_patch.h"
#include "patch/strategic_merge_patch.h"
#include "server/audit/recorder.h"
#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/field_tracking.h"
#include "server/metadata.h"
#include "server/verbs.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kJsonPatchType = "application/json-patch+json";
constexpr std::string_view kMergePatchType = "application/merge-patch+json";
constexpr std::string_view kStrategicMergePatchType = "application/strategic-merge-patch+json";
constexpr std::string_view kApplyPatchType = "application/apply-patch+yaml";

Result<PatchKind> PatchKindFor(RequestContext& context) {
  auto kind = PatchKindOf(context.request.headers.Get("Content-Type"));
  if (!context.resource->custom) {
    if (kind) return *kind;
    return Fail(UnsupportedPatchType());
  }
  if (kind && *kind != PatchKind::kStrategicMerge) return *kind;
  return Fail(UnsupportedMediaTypeError("the body of the request was in an unknown format - accepted media types include: "
                                        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
}

// A patched object that is none of its kind: upstream reports it as a fault of the patch.
Status InvalidPatch(const schema::BadValue& shown, std::string_view why) {
  schema::FieldErrors errors;
  errors.Invalid(schema::FieldPath("patch"), shown, why);
  return errors.ToStatus("", "", "");
}

// What strict decoding objects to in the patch itself.
std::vector<std::string> StrictProblems(const PatchRequest& patch) {
  std::string_view whose = patch.kind == PatchKind::kJson ? "json patch " : "";
  std::vector<std::string> problems;
  for (const std::string& path : patch.duplicates) problems.push_back(std::string(whose) + "duplicate field " + GoQuote(path));
  if (patch.kind != PatchKind::kJson) return problems;
  for (size_t i = 0; i < patch.patch.size(); ++i) {
    for (const object::Member& member : patch.patch.At(i).members()) {
      std::string_view name = member.name();
      if (name == "op" || name == "path" || name == "from" || name == "value") continue;
      problems.push_back("json patch unknown field " + GoQuote("[" + std::to_string(i) + "]." + std::string(name)));
    }
  }
  return problems;
}

// Keys that stand twice in an applied configuration, which is YAML whatever it looks like.
Result<void> ReportDuplicateKeys(RequestContext& context, const PatchRequest& patch) {
  if (patch.duplicates.empty()) return {};
  if (patch.query.field_validation == FieldValidation::kStrict) {
    return Fail(BadRequestError("error strict decoding YAML: error converting YAML to JSON: " +
                                object::StrictYamlMessage(patch.duplicates)));
  }
  if (patch.query.field_validation == FieldValidation::kWarn) {
    context.warnings.insert(context.warnings.end(), patch.duplicates.begin(), patch.duplicates.end());
  }
  return {};
}

// The patched JSON form of the object.
Result<Value> PatchForm(RequestContext& context, const PatchRequest& patch, const schema::Kind& kind, const Value& form) {
  object::Arena& arena = context.arena();
  bool checked = patch.query.field_validation != FieldValidation::kIgnore;
  auto decoding = checked ? patch::PatchDecoding::kChecked : patch::PatchDecoding::kLenient;
  switch (patch.kind) {
    case PatchKind::kJson: return patch::ApplyJsonPatch(arena, form, patch.patch, {.decoding = decoding});
    case PatchKind::kMerge: return patch::ApplyMergePatch(arena, form, patch.patch, decoding);
    default: return patch::ApplyStrategicMergePatch(arena, *kind.type, form, patch.patch);
  }
}

}  // namespace

std::optional<PatchKind> PatchKindOf(std::string_view content_type) {
  std::string media = BareMediaType(content_type);
  if (media == kJsonPatchType) return PatchKind::kJson;
  if (media == kMergePatchType) return PatchKind::kMerge;
  if (media == kStrategicMergePatchType) return PatchKind::kStrategicMerge;
  if (media == kApplyPatchType) return PatchKind::kApply;
  return std::nullopt;
}

Status UnsupportedPatchType() {
  StatusDetails details;
  details.shown = true;
  return UnsupportedMediaTypeError("415: Unsupported Media Type").WithDetails(details);
}

Result<PatchedObject> ApplyPatch(RequestContext& context, const PatchRequest& patch, const schema::Kind& kind, const Value& live) {
  if (patch.fault) return Fail(*patch.fault);
  // Whoever wrote it, what is patched says what it is.
  Value named = schema::WithTypeMeta(context.arena(), *kind.type, live, kind.gvk.ApiVersion(), kind.gvk.kind);
  Value form = schema::ToJsonForm(context.arena(), *kind.type, named);
  TRY_ASSIGN(Value patched, PatchForm(context, patch, kind, form));
  bool strategic = patch.kind == PatchKind::kStrategicMerge;
  std::vector<std::string> problems = StrictProblems(patch);
  Patched made{patched, problems, strategic};
  auto object = DecodePatched(context, kind, made, patch.query.field_validation);
  if (!object) {
    // What upstream shows of a patch that makes no object of its kind.
    schema::BadValue shown(strategic ? object::GoText(patch::ConsumedPatch(context.arena(), *kind.type, form, patch.patch)) : object::JsonText(patched));
    return Fail(InvalidPatch(shown, object.error().message()));
  }
  Value managed = patched.Path({"metadata", "managedFields"});
  return PatchedObject{*object, managed && patch::AsksForReset(managed)};
}

namespace {

// The patched object, in storage version.
Task<Result<Value>> ComputePatched(RequestContext& context, const PatchRequest& patch, Value current) {
  object::Arena& arena = context.arena();
  const schema::Kind& kind = context.kind();
  Value live;
  if (current) {
    CO_TRY_ASSIGN(live, FromWorking(arena, *context.resource, current));
  }
  Value object;
  if (patch.kind == PatchKind::kApply) {
    if (patch.fault) co_return Fail(*patch.fault);
    auto apply = ApplyConfiguration(context, live, patch.patch, patch.manager, context.info.subresource,
                                    patch.query.force.value_or(false));
    CO_TRY_ASSIGN(object, co_await std::move(apply));
    CO_TRY(ReportDuplicateKeys(context, patch));
  } else {
    if (!current) co_return Fail(context.NotFound(context.info.name));
    CO_TRY_ASSIGN(PatchedObject patched, ApplyPatch(context, patch, kind, live));
    auto track = TrackUpdateOf(context, live, patched.object, patch.manager, context.info.subresource, patched.resets_managed_fields);
    object = co_await std::move(track);
  }
  if (!current && !MetadataString(object, "uid").empty()) {
    co_return Fail(ConflictError(kind.gvk.group, kind.plural, context.info.name,
                                 "uid mismatch: the provided object specified uid " +
                                     std::string(MetadataString(object, "uid")) + ", and no existing object was found"));
  }
  CO_TRY_ASSIGN(object, EnsureNamespace(context, *kind.type, object));
  CO_TRY(CheckNameAndNamespace(context, object, context.info.name));
  co_return ToWorking(arena, *context.resource, object);
}

// What upstream's merge of an unchecked patch says of anything that is no object or list.
constexpr std::string_view kBadMergePatch = "Invalid JSON Patch";

// The words for a fault depend on who reads the patch first: a check of its fields, or without that the code that applies it.
Status PatchFault(PatchKind kind, bool checked, std::string_view why) {
  if (kind == PatchKind::kMerge && !checked) return BadRequestError(std::string(kBadMergePatch));
  if (kind == PatchKind::kStrategicMerge || !checked) return BadRequestError(std::string(why));
  return BadRequestError("error decoding patch: " + std::string(why));
}

// What JSON calls it.
std::string_view ShapeOf(const Value& value) {
  if (value.IsList()) return "array";
  if (value.IsObject()) return "object";
  return value.IsString() ? "string" : value.IsBool() ? "bool" : "number";
}

Result<Value> ParsePatch(RequestContext& context, PatchKind kind, bool checked, std::vector<std::string>& duplicates) {
  std::string_view body = context.request.body;
  if (kind == PatchKind::kApply) {
    auto parsed = ParseUntyped(context.arena(), body, Encoding::kYaml, &duplicates);
    if (!parsed) {
      return Fail(BadRequestError("error decoding YAML: error converting YAML to JSON: " + parsed.error().message()));
    }
    if (parsed->IsObject() || parsed->IsNull()) return *parsed;
    return Fail(BadRequestError("error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
                                std::string(ShapeOf(*parsed)) + " into Go value of type map[string]interface {}"));
  }
  auto parsed = ParseUntyped(context.arena(), body, Encoding::kJson, &duplicates);
  if (!parsed) return Fail(PatchFault(kind, checked, parsed.error().message()));
  bool right_shape = kind == PatchKind::kJson ? parsed->IsList() : parsed->IsObject();
  if (right_shape || (kind == PatchKind::kMerge && !checked && parsed->IsList())) return *parsed;
  if (parsed->IsNull()) {  // Go reads it as no operations, or as no members; the merge then wants some
    if (kind == PatchKind::kMerge) return Fail(BadRequestError(std::string(kBadMergePatch)));
    return kind == PatchKind::kJson ? Value::EmptyList() : Value::EmptyObject();
  }
  std::string_view wanted = kind != PatchKind::kJson ? "map[string]interface {}" : checked ? "[]handlers.jsonPatchOp" : "jsonpatch.Patch";
  return Fail(PatchFault(kind, checked, "json: cannot unmarshal " + std::string(ShapeOf(*parsed)) + " into Go value of type " + std::string(wanted)));
}

}  // namespace

Result<PatchRequest> ReadPatch(RequestContext& context) {
  if (context.request.body_too_large) return Fail(RequestTooLargeError("limit is 3145728"));
  TRY_ASSIGN(PatchKind kind, PatchKindFor(context));
  PatchRequest patch;
  patch.kind = kind;
  TRY_ASSIGN(patch.query, ParseWriteQuery(context.query, kind == PatchKind::kApply ? WriteKind::kApply : WriteKind::kPatch));
  patch.manager = context.FieldManager(patch.query.field_manager);
  bool checked = patch.query.field_validation != FieldValidation::kIgnore;
  auto parsed = ParsePatch(context, kind, checked, patch.duplicates);
  if (parsed) patch.patch = *parsed;
  else patch.fault = parsed.error();
  if (parsed && context.recorder != nullptr && context.recorder->WantsRequests()) context.recorder->NotePatch(object::JsonText(patch.patch));
  return patch;
}

Task<Result<http::Response>> PatchObject(RequestContext& context) {
  CO_TRY_ASSIGN(PatchRequest patch, ReadPatch(context));
  ChangeOptions options;
  options.ns = context.info.ns;
  options.name = context.info.name;
  options.subresource = context.info.subresource;
  options.field_manager = patch.manager;
  options.dry_run = patch.query.dry_run;
  options.allow_create = patch.kind == PatchKind::kApply && (options.subresource.empty() || context.storage().create_on_update);
  Compute compute = [&context, &patch](Value current) { return ComputePatched(context, patch, current); };
  auto change = ChangeObject(context, options, compute);
  CO_TRY_ASSIGN(Answer answer, co_await std::move(change));
  co_return EncodeAnswer(context, answer);
}

}  // namespace homeostat::server
