#include "server/subresources/subresources.h"

#include <utility>

#include "homeostat/api/autoscaling/v1.h"
#include "homeostat/api/autoscaling/v1_builders.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/conform.h"
#include "patch/field_manager.h"
#include "patch/scale_fields.h"
#include "server/admission_requests.h"
#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/patch.h"
#include "server/subresources/review.h"
#include "server/views.h"

namespace homeostat::server {
namespace {

using api::autoscaling::v1::Scale;
using api::autoscaling::v1::ScaleBuilder;

const schema::Kind& ScaleKind() {
  static const schema::Kind kind = BodyKind({"autoscaling", "v1", "Scale"}, Scale::SchemaType());
  return kind;
}

// Cells of a custom object's numbers: zero is left out of a Scale's spec, and the cell stays open then; its status always has one.
Value NumberCell(object::Arena&, std::string_view cell, Value scale, WallTime) {
  Value number = scale.Path({cell, "replicas"});
  return number ? number : cell == "status" ? Value::Int(0) : Value::Null();
}

schema::Kind WithColumns(std::span<const schema::Column> columns) {
  schema::Kind kind = ScaleKind();
  kind.columns = columns;
  return kind;
}

// What a table shows of a Scale. Source: upstream's printers, and for custom kinds apiextensions-apiserver's apiserver/helpers.go.
Resource TableResource(bool custom) {
  static constexpr schema::Column kBuiltIn[] = {
      {.name = "Name", .type = "string", .description = "What it is called.", .path = "metadata.name"},
      {.name = "Desired", .type = "integer", .description = "How many replicas are asked for.", .path = "spec.replicas"},
      {.name = "Available", .type = "integer", .description = "How many replicas there are.", .path = "status.replicas"},
      {.name = "Age", .type = "string", .description = "When the object was made.", .path = "metadata.creationTimestamp", .cell = "age"}};
  static constexpr schema::Column kCustom[] = {
      {.name = "Name", .type = "string", .format = "name", .description = "What it is called.", .path = "metadata.name"},
      {.name = "Desired", .type = "integer", .description = "How many replicas are asked for.", .cell = "spec"},
      {.name = "Available", .type = "integer", .description = "How many replicas there are.", .cell = "status"},
      {.name = "Age", .type = "date", .description = "When the object was made.", .path = "metadata.creationTimestamp", .cell = "age"}};
  static const schema::Kind kKinds[] = {WithColumns(kBuiltIn), WithColumns(kCustom)};
  static constexpr kinds::Behaviour kCells{.cell = NumberCell};
  Resource resource;
  resource.kind = resource.storage = resource.working = &kKinds[custom ? 1 : 0];
  resource.behaviour = &kCells;
  return resource;
}

// A selector as the text that Scale carries: a LabelSelector, a map of labels, or the text itself.
std::string SelectorText(const Value& selector) {
  if (selector.IsString()) return std::string(selector.AsString());
  if (!selector.IsObject()) return "";
  bool is_label_selector = selector.Get("matchLabels") || selector.Get("matchExpressions");
  if (!is_label_selector) return object::LabelSelector::FromMap(selector).ToString();
  auto parsed = object::LabelSelector::FromLabelSelector(selector);
  return parsed ? parsed->ToString() : "";
}

Value ScaleOf(object::Arena& arena, const schema::Subresource& sub, const Value& parent) {
  ScaleBuilder scale;
  auto metadata = scale.mutable_metadata();
  metadata.set_name(MetadataString(parent, "name"));
  metadata.set_namespace(MetadataString(parent, "namespace"));
  metadata.set_uid(MetadataString(parent, "uid"));
  metadata.set_resource_version(MetadataString(parent, "resourceVersion"));
  metadata.set_creation_timestamp(MetadataString(parent, "creationTimestamp"));
  scale.mutable_spec().set_replicas(static_cast<int32_t>(GetPath(parent, sub.spec_replicas_path).AsInt()));
  auto status = scale.mutable_status();
  status.set_replicas(static_cast<int32_t>(GetPath(parent, sub.status_replicas_path).AsInt()));
  if (!sub.selector_path.empty()) status.set_selector(SelectorText(GetPath(parent, sub.selector_path)));
  return scale.FreezeInto(arena);
}

// What a Scale may not be.
Result<void> CheckScale(const Value& scale) {
  schema::FieldErrors errors;
  ValidateObjectMeta(scale, true, nullptr, {.finalizer_owners = true}, errors);
  int64_t replicas = scale.Path({"spec", "replicas"}).AsInt();
  if (replicas < 0) {
    errors.Invalid(schema::FieldPath("spec").Child("replicas"), replicas, "must be greater than or equal to 0");
  }
  if (errors.empty()) return {};
  return Fail(errors.ToStatus("autoscaling", "Scale", MetadataString(scale, "name")));
}

struct ScaleWrite {
  Value body;             // PUT
  const PatchRequest* patch = nullptr;
  std::string manager;
  bool dry_run = false;
};

// Where each served version keeps the replicas. Texts live as long as the resources.
std::vector<patch::ReplicasPath> ReplicasPaths(RequestContext& context) {
  std::vector<patch::ReplicasPath> paths;
  for (const Resource* resource : context.parts.resources.All()) {
    const schema::Kind& kind = *resource->kind;
    if (kind.gvk.group != context.kind().gvk.group || kind.plural != context.kind().plural) continue;
    const schema::Subresource* scale = kind.FindSubresource("scale");
    patch::ReplicasPath path{context.arena().Copy(kind.gvk.ApiVersion()), {}};
    std::string_view rest = scale == nullptr ? std::string_view() : scale->spec_replicas_path;
    while (!rest.empty()) {
      size_t dot = rest.find('.');
      path.path.push_back(patch::PathElement::Field(rest.substr(0, dot)));
      rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

const schema::Type& EntryType() { return api::meta::v1::ManagedFieldsEntry::SchemaType(); }

// The Scale of an object with those of its managed fields that are about the replicas.
Result<Value> TrackedScale(RequestContext& context, const schema::Subresource& sub, const Value& parent) {
  object::Arena& arena = context.arena();
  Value entries = parent.Path({"metadata", "managedFields"});
  TRY_ASSIGN(Value shown, patch::ScaleManagedFields(arena, entries, ReplicasPaths(context), &EntryType(), patch::FieldsForm::kText));
  return SetMetadata(arena, *ScaleKind().type, ScaleOf(arena, sub, parent), "managedFields", shown);
}

patch::FieldManager ScaleManager() {
  patch::FieldManagerOptions options;
  options.kind = ScaleKind().gvk;
  options.type = ScaleKind().type;
  options.subresource = "scale";
  return patch::FieldManager(std::move(options));
}

// The Scale as written, with its managed fields.
Result<Value> WrittenScale(RequestContext& context, const ScaleWrite& write, const Value& live) {
  object::Arena& arena = context.arena();
  WallTime now = context.runtime().WallNow();
  bool named = !write.body.Get("kind").AsString().empty() && !write.body.Get("apiVersion").AsString().empty();
  if (write.patch == nullptr && !named && context.resource->custom) {
    // Upstream can't tell the fields of what doesn't say what it is: a number that such a body changes becomes nobody's.
    bool same = object::Equal(write.body.Path({"spec", "replicas"}), live.Path({"spec", "replicas"}));
    return SetMetadata(arena, *ScaleKind().type, write.body, "managedFields", same ? live.Path({"metadata", "managedFields"}) : Value());
  }
  if (write.patch == nullptr) return ScaleManager().Update(arena, live, write.body, write.manager, now, false);
  if (write.patch->kind != PatchKind::kApply) {
    TRY_ASSIGN(PatchedObject patched, ApplyPatch(context, *write.patch, ScaleKind(), live));
    return ScaleManager().Update(arena, live, patched.object, write.manager, now, patched.resets_managed_fields);
  }
  if (write.patch->fault) return Fail(*write.patch->fault);
  bool force = write.patch->query.force.value_or(false);
  TRY_ASSIGN(auto applied, ScaleManager().Apply(arena, live, write.patch->patch, write.manager, force, now));
  if (!applied.changed) return applied.object;
  if (context.resource->custom) {
    // Upstream looks for a Scale among the versions of the custom kind.
    return Fail(Status(500, "", "failed to convert new object (" + ScaleManager().Describe(write.patch->patch) +
                                    ") to proper version: request to convert CR to an invalid group/version: autoscaling/v1"));
  }
  schema::ConformReport report;
  report.collect = false;
  TRY_ASSIGN(Value typed, schema::FromUnstructured(arena, applied.object, *ScaleKind().type));
  return schema::Conform(arena, typed, *ScaleKind().type, report);
}

// Admission sees the Scale, not what it is of.
admission::Request AdmissionOf(RequestContext& context, kinds::RuleContext& rules, const Value& scale, const Value& live, bool dry_run) {
  return admission::Request{admission::Operation::kUpdate, context.working(), "scale", context.info.ns, context.info.name, scale, live,
                            WriteOptionsValue(context, admission::Operation::kUpdate, dry_run), rules};
}

Task<Result<Value>> AdmitChanges(RequestContext& context, Value scale, Value live, bool dry_run) {
  kinds::RuleContext rules = context.Rules(dry_run, "scale");
  admission::Request request = AdmissionOf(context, rules, scale, live, dry_run);
  auto mutate = context.parts.admission.Mutate(request);
  co_return co_await std::move(mutate);
}

// Of the parents before and after, in the working version.
Task<Result<void>> AdmitScale(RequestContext& context, const schema::Subresource& sub, kinds::RuleContext& rules, Value parent, Value old) {
  object::Arena& arena = context.arena();
  CO_TRY_ASSIGN(parent, FromWorking(arena, *context.resource, parent));
  CO_TRY_ASSIGN(old, FromWorking(arena, *context.resource, old));
  CO_TRY_ASSIGN(Value scale, TrackedScale(context, sub, parent));
  CO_TRY_ASSIGN(Value live, TrackedScale(context, sub, old));
  admission::Request request = AdmissionOf(context, rules, scale, live, rules.dry_run);
  auto validate = context.parts.admission.Validate(request);
  co_return co_await std::move(validate);
}

// The parent with the number that the written Scale asks for.
Task<Result<Value>> ComputeScaled(RequestContext& context, const schema::Subresource& sub, const ScaleWrite& write, Value current) {
  object::Arena& arena = context.arena();
  CO_TRY_ASSIGN(Value live, FromWorking(arena, *context.resource, current));
  CO_TRY_ASSIGN(Value live_scale, TrackedScale(context, sub, live));
  CO_TRY_ASSIGN(Value scale, WrittenScale(context, write, live_scale));
  CO_TRY_ASSIGN(scale, EnsureNamespace(context, Scale::SchemaType(), scale));
  auto change = AdmitChanges(context, scale, live_scale, write.dry_run);
  CO_TRY_ASSIGN(scale, co_await std::move(change));
  CO_TRY(CheckNameAndNamespace(context, scale, context.info.name));
  // The object of a custom kind is checked itself, by its schema.
  if (!context.resource->custom) CO_TRY(CheckScale(scale));
  std::string_view uid = MetadataString(scale, "uid");
  if (!uid.empty() && uid != MetadataString(live, "uid") && write.patch != nullptr && !context.resource->custom) {
    // Only the whole of a Scale that is put has been checked before.
    const schema::Kind& kind = context.kind();
    co_return Fail(ConflictError(kind.gvk.group, std::string(kind.plural) + "/scale", context.info.name,
                                 "Precondition failed: UID in precondition: " + std::string(uid) +
                                     ", UID in object meta: " + std::string(MetadataString(live, "uid"))));
  }
  if (!uid.empty() && uid != MetadataString(live, "uid")) {
    co_return Fail(PreconditionFailed(context, context.info.name, write.dry_run, "UID", uid, MetadataString(live, "uid")));
  }
  const schema::Type& type = *context.kind().type;
  Value next = SetPath(arena, type, live, sub.spec_replicas_path, Value::Int(scale.Path({"spec", "replicas"}).AsInt()));
  std::string_view version = MetadataString(scale, "resourceVersion");
  Value before = live.Path({"metadata", "managedFields"});
  patch::FieldsForm form = type.structural ? patch::FieldsForm::kTree : patch::FieldsForm::kText;
  CO_TRY_ASSIGN(Value after, patch::ParentManagedFields(arena, before, scale.Path({"metadata", "managedFields"}), ReplicasPaths(context),
                                                        context.kind().gvk.ApiVersion(), &EntryType(), form));
  // A Scale without a version is about any state; custom kinds can say so only by the state at hand.
  Value asked = !version.empty() ? Value::String(arena, version)
                : context.resource->custom ? live.Path({"metadata", "resourceVersion"})
                                           : Value();
  next = SetMetadata(arena, type, next, {{"resourceVersion", asked}, {"managedFields", after}});
  co_return ToWorking(arena, *context.resource, next);
}

Task<Result<http::Response>> AnswerScale(RequestContext& context, const schema::Subresource& sub, Answer parent) {
  Value object = parent.value;
  if (parent.kind == &context.storage()) {
    CO_TRY_ASSIGN(object, FromStorage(context.arena(), *context.resource, object));
  }
  context.arena().Keep(parent.document == context.work ? nullptr : parent.document);
  Value scale = ScaleOf(context.arena(), sub, object);
  if (context.output.transformation == Transformation::kTable) {
    Resource shown = TableResource(context.resource->custom);
    const Resource* own = std::exchange(context.resource, &shown);
    auto table = EncodeAnswer(context, Answer{200, context.work, scale, shown.kind, nullptr});
    context.resource = own;
    co_return table;
  }
  co_return EncodeAnswer(context, Answer{200, context.work, scale, &ScaleKind(), nullptr});
}

// A custom object need not have the number at all.
Result<void> CheckReplicasExist(const RequestContext& context, const schema::Subresource& sub, const Value& object) {
  if (!context.resource->custom || GetPath(object, sub.spec_replicas_path)) return {};
  return Fail(InternalError("the spec replicas field \"." + std::string(sub.spec_replicas_path) + "\" does not exist"));
}

Task<Result<http::Response>> GetScale(RequestContext& context, const schema::Subresource& sub) {
  CO_TRY(CheckKeyNamespace(context));
  auto view = ViewOf(context.parts, *context.resource, context.parts.cache.Get(StorageKey(context.storage(), context.info.ns, context.info.name)));
  CO_TRY_ASSIGN(cache::EntryPtr entry, co_await std::move(view));
  if (!entry) co_return Fail(context.NotFound(context.info.name));
  CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
  CO_TRY(CheckReplicasExist(context, sub, document->root()));
  auto answer = AnswerScale(context, sub, Answer{200, document, document->root(), &context.storage(), entry});
  co_return co_await std::move(answer);
}

Task<Result<http::Response>> WriteScale(RequestContext& context, const schema::Subresource& sub) {
  ScaleWrite write;
  PatchRequest patch;
  WriteQuery query;
  if (context.info.verb == "patch") {
    CO_TRY_ASSIGN(patch, ReadPatch(context));
    write.patch = &patch;
    query = patch.query;
  } else {
    CO_TRY_ASSIGN(query, ParseWriteQuery(context.query, WriteKind::kUpdate));
    auto body = DecodeBody(context, ScaleKind(), query.field_validation);
    // Upstream knows no Scale where it looks for the words for what can't be read.
    if (!body && context.resource->custom && body.error().code() == 400) {
      co_return Fail(BadRequestError("no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\""));
    }
    CO_TRY_ASSIGN(write.body, std::move(body));
    CO_TRY_ASSIGN(write.body, EnsureNamespace(context, Scale::SchemaType(), write.body));
    CO_TRY(CheckNameAndNamespace(context, write.body, context.info.name));
  }
  ChangeOptions options;
  options.ns = context.info.ns;
  options.name = context.info.name;
  options.subresource = "scale";
  options.field_manager = write.manager = context.FieldManager(query.field_manager);
  options.dry_run = write.dry_run = query.dry_run;
  options.admit = [&context, &sub](kinds::RuleContext& rules, Value parent, Value old) { return AdmitScale(context, sub, rules, parent, old); };
  Compute compute = [&context, &sub, &write](Value current) { return ComputeScaled(context, sub, write, current); };
  auto change = ChangeObject(context, options, compute);
  CO_TRY_ASSIGN(Answer parent, co_await std::move(change));
  auto answer = AnswerScale(context, sub, std::move(parent));
  co_return co_await std::move(answer);
}

Task<Result<http::Response>> HandleScale(RequestContext& context) {
  const schema::Subresource* sub = context.kind().FindSubresource("scale");
  auto handling = context.info.verb == "get" ? GetScale(context, *sub) : WriteScale(context, *sub);
  co_return co_await std::move(handling);
}

}  // namespace

void ServeScale(ApiServer& server) {
  for (std::string_view verb : {"get", "update", "patch"}) server.HandleResource("*", "*", "scale", std::string(verb), HandleScale);
}

}  // namespace homeostat::server
