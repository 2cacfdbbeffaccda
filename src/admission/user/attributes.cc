#include "admission/user/attributes.h"

#include <algorithm>

#include "homeostat/api/registry.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::admission {
namespace {

using object::ObjectBuilder;
using object::Value;

Value TextOf(object::Arena& arena, std::string_view text) { return Value::String(arena, text); }

Value KindValue(object::Arena& arena, const schema::GroupVersionKind& kind) {
  ObjectBuilder builder(arena);
  builder.Append("group", TextOf(arena, kind.group));
  builder.Append("version", TextOf(arena, kind.version));
  builder.Append("kind", TextOf(arena, kind.kind));
  return builder.Build();
}

Value ResourceValue(object::Arena& arena, const ResourceName& resource) {
  ObjectBuilder builder(arena);
  builder.Append("group", TextOf(arena, resource.group));
  builder.Append("version", TextOf(arena, resource.version));
  builder.Append("resource", TextOf(arena, resource.resource));
  return builder.Build();
}

Value ListValue(object::Arena& arena, const std::vector<std::string>& texts) {
  object::ListBuilder list(arena);
  for (const std::string& text : texts) list.Append(TextOf(arena, text));
  return list.Build();
}

Value UserValue(object::Arena& arena, const User& user) {
  ObjectBuilder builder(arena);
  if (!user.name.empty()) builder.Append("username", TextOf(arena, user.name));
  if (!user.uid.empty()) builder.Append("uid", TextOf(arena, user.uid));
  if (!user.groups.empty()) builder.Append("groups", ListValue(arena, user.groups));
  if (!user.extra.empty()) {
    ObjectBuilder extra(arena);
    for (const auto& [key, values] : user.extra) extra.SetCopyName(key, ListValue(arena, values));
    builder.Append("extra", extra.Build());
  }
  return builder.Build();
}

}  // namespace

Attributes::Attributes(const Request& request, const ServedKinds& served) : request_(request), served_(served) {
  const schema::Kind* asked = request.context.requested != nullptr ? request.context.requested : &request.kind;
  // What is posted to a collection of its own for another resource (bindings of pods) is no subresource there.
  subresource_ = asked->plural == request.kind.plural ? request.subresource : std::string_view();
  place_ = PlaceAt(*asked);
  ns_ = request.ns;
  if (ns_.empty() && request.Is("", "namespaces")) {
    ns_ = request.name.empty() ? request.object.Path({"metadata", "name"}).AsString() : request.name;
  }
}

Place Attributes::PlaceAt(const schema::Kind& kind) const {
  Place place{{kind.gvk.group, kind.gvk.version, kind.plural}, kind.gvk, &kind, kind.type};
  const schema::Subresource* sub = subresource_.empty() ? nullptr : kind.FindSubresource(subresource_);
  if (sub == nullptr || sub->kind.kind.empty() || sub->kind == kind.gvk) return place;
  place.kind = sub->kind;
  place.type = api::FindTypeOfKind(sub->kind.group, sub->kind.version, sub->kind.kind);
  return place;
}

const std::deque<Place>& Attributes::equivalents() {
  if (equivalents_) return *equivalents_;
  equivalents_.emplace();
  for (const schema::Kind* kind : served_.SharingStore(request_.arena(), *place_.resource_kind)) {
    if (ResourceName{kind->gvk.group, kind->gvk.version, kind->plural} == place_.resource) continue;
    if (!subresource_.empty() && kind->FindSubresource(subresource_) == nullptr) continue;
    equivalents_->push_back(PlaceAt(*kind));
  }
  return *equivalents_;
}

bool Attributes::IsOfResource(const Place& place) const {
  return place.kind == place.resource_kind->gvk && place.resource_kind->plural == request_.kind.plural;
}

Value JsonFormOf(object::Arena& arena, const schema::Type& type, const schema::GroupVersionKind& kind, const Value& typed) {
  return schema::ToJsonForm(arena, type, schema::WithTypeMeta(arena, type, typed, kind.ApiVersion(), kind.kind));
}

Task<Result<void>> Attributes::Prepare(const Place& place) {
  for (const auto& known : versions_) if (known.first == &place) co_return Result<void>();
  bool elsewhere = place.type != nullptr && IsOfResource(place) && served_.IsConvertedElsewhere(request_.kind, *place.resource_kind);
  if (!elsewhere) co_return Result<void>();
  VersionedObjects objects;
  if (request_.object) {
    auto convert = served_.ConvertElsewhere(request_.arena(), request_.object, request_.kind, *place.resource_kind);
    CO_TRY_ASSIGN(Value converted, co_await std::move(convert));
    objects.object = JsonFormOf(request_.arena(), *place.type, place.kind, converted);
  }
  if (request_.old_object) {
    auto convert = served_.ConvertElsewhere(request_.arena(), request_.old_object, request_.kind, *place.resource_kind);
    CO_TRY_ASSIGN(Value converted, co_await std::move(convert));
    objects.old_object = JsonFormOf(request_.arena(), *place.type, place.kind, converted);
  }
  objects.request = RequestValue(place);
  versions_.emplace_back(&place, objects);
  co_return Result<void>();
}

Result<Value> Attributes::VersionOf(const Value& object, const Place& place) const {
  if (!object || place.type == nullptr) return Value();
  Value converted = object;
  object::Arena& arena = request_.arena();
  if (IsOfResource(place)) {
    TRY_ASSIGN(converted, served_.Convert(arena, object, request_.kind, *place.resource_kind));
  }
  return JsonFormOf(request_.arena(), *place.type, place.kind, converted);
}

Result<VersionedObjects> Attributes::In(const Place& place) {
  for (const auto& [known, objects] : versions_) if (known == &place) return objects;
  VersionedObjects objects;
  TRY_ASSIGN(objects.object, VersionOf(request_.object, place));
  TRY_ASSIGN(objects.old_object, VersionOf(request_.old_object, place));
  objects.request = RequestValue(place);
  versions_.emplace_back(&place, objects);
  return objects;
}

Value Attributes::RequestValue(const Place& place) const {
  object::Arena& arena = request_.arena();
  ObjectBuilder builder(arena);
  builder.Append("uid", Value::StringRef(""));
  builder.Append("kind", KindValue(arena, place.kind));
  builder.Append("resource", ResourceValue(arena, place.resource));
  if (!subresource_.empty()) builder.Append("subResource", TextOf(arena, subresource_));
  builder.Append("requestKind", KindValue(arena, place_.kind));
  builder.Append("requestResource", ResourceValue(arena, place_.resource));
  if (!subresource_.empty()) builder.Append("requestSubResource", TextOf(arena, subresource_));
  if (!name().empty()) builder.Append("name", TextOf(arena, name()));
  if (!ns_.empty()) builder.Append("namespace", TextOf(arena, ns_));
  builder.Append("operation", Value::StringRef(operation()));
  builder.Append("userInfo", UserValue(arena, request_.user()));
  builder.Append("object", Value::Null());
  builder.Append("oldObject", Value::Null());
  builder.Append("dryRun", Value::Bool(request_.context.dry_run));
  builder.Append("options", request_.options ? request_.options : Value::Null());
  return builder.Build();
}

void Attributes::SetObject(const Place& place, const Value& object) {
  for (auto& [known, objects] : versions_) if (known == &place) objects.object = object;
}

bool IsHiddenFromPolicies(const Request& request) {
  constexpr std::string_view kResources[] = {"validatingadmissionpolicies", "validatingadmissionpolicybindings",
                                             "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"};
  return request.kind.gvk.group == "admissionregistration.k8s.io" &&
         std::ranges::find(kResources, request.kind.plural) != std::end(kResources);
}

bool IsHiddenFromWebhooks(const Request& request) {
  return IsHiddenFromPolicies(request) || request.Is("admissionregistration.k8s.io", "validatingwebhookconfigurations") ||
         request.Is("admissionregistration.k8s.io", "mutatingwebhookconfigurations");
}

bool IsReviewOfRights(const Request& request) {
  constexpr std::pair<std::string_view, std::string_view> kResources[] = {
      {"authentication.k8s.io", "selfsubjectreviews"},      {"authentication.k8s.io", "tokenreviews"},
      {"authorization.k8s.io", "localsubjectaccessreviews"}, {"authorization.k8s.io", "selfsubjectaccessreviews"},
      {"authorization.k8s.io", "selfsubjectrulesreviews"},   {"authorization.k8s.io", "subjectaccessreviews"}};
  return std::ranges::any_of(kResources, [&](const auto& entry) { return request.Is(entry.first, entry.second); });
}

}  // namespace homeostat::admission
