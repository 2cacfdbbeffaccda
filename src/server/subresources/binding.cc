#include "server/subresources/subresources.h"

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/time.h"
#include "server/admission_requests.h"
#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/object_store.h"
#include "server/options.h"

namespace homeostat::server {
namespace {

using api::core::v1::Binding;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;

// A binding's faults are answered as one plain error, as upstream does.
Result<void> CheckTarget(const Binding& binding) {
  std::string_view kind = binding.target().kind();
  if (!kind.empty() && kind != "Node") {
    return Fail(Status(500, "", "target.kind: Unsupported value: " + GoQuote(kind) + ": supported values: \"Node\", \"<empty>\""));
  }
  if (binding.target().name().empty()) return Fail(Status(500, "", "target.name: Required value"));
  return {};
}

Result<void> CheckBindable(const Pod& pod, std::string_view name) {
  auto conflict = [&](const std::string& why) { return Fail(ConflictError("", "pods/binding", name, why)); };
  std::string text(name);
  if (!pod.metadata().deletion_timestamp().empty()) {
    return conflict("pod " + text + " is being deleted, cannot be assigned to a host");
  }
  if (!pod.spec().node_name().empty()) {
    return conflict("pod " + text + " is already assigned to node " + GoQuote(pod.spec().node_name()));
  }
  if (!pod.spec().scheduling_gates().empty()) return conflict("pod " + text + " has non-empty .spec.schedulingGates");
  return {};
}

void SetScheduled(PodBuilder& pod, const Pod& before, std::string_view now) {
  auto status = pod.mutable_status();
  size_t index = 0;
  for (const auto& condition : before.status().conditions()) {
    if (condition.type() == "PodScheduled") {
      auto changed = status.mutable_conditions(index);
      if (condition.status() != "True") changed.set_last_transition_time(now);
      changed.set_status("True").clear_reason().clear_message();
      return;
    }
    ++index;
  }
  status.add_conditions().set_type("PodScheduled").set_status("True").set_last_transition_time(now);
}

Value Bound(RequestContext& context, const Pod& before, const Binding& binding) {
  PodBuilder pod{schema::Subtree(before)};
  pod.mutable_spec().set_node_name(binding.target().name());
  auto metadata = pod.mutable_metadata();
  for (auto [key, value] : binding.metadata().annotations()) metadata.set_annotations(key, value);
  for (auto [key, value] : binding.metadata().labels()) metadata.set_labels(key, value);
  if (!before.status().nominated_node_name().empty()) pod.mutable_status().clear_nominated_node_name();
  SetScheduled(pod, before, FormatNow(context.runtime()));
  return pod.FreezeInto(context.arena());
}

Task<Result<UpdateDecision>> Bind(RequestContext& context, Binding binding, bool dry_run, Value current) {
  std::string_view name = binding.metadata().name();
  if (!current) co_return Fail(NotFoundError("", "pods", name));
  Pod pod(current);
  std::string_view uid = binding.metadata().uid(), version = binding.metadata().resource_version();
  if (!uid.empty() && uid != pod.metadata().uid()) {
    co_return Fail(PreconditionFailed(context, name, dry_run, "UID", uid, pod.metadata().uid()));
  }
  if (!version.empty() && version != pod.metadata().resource_version()) {
    co_return Fail(PreconditionFailed(context, name, dry_run, "ResourceVersion", version, pod.metadata().resource_version()));
  }
  CO_TRY(CheckBindable(pod, name));
  co_return UpdateDecision{UpdateDecision::Action::kStore, Bound(context, pod, binding)};
}

Task<Result<http::Response>> HandleBinding(RequestContext& context) {
  const Resource* pods = context.parts.resources.Find("", "v1", "pods");
  bool subresource = context.info.subresource == "binding";
  CO_TRY_ASSIGN(WriteQuery query, ReadCreateQuery(context));
  CO_TRY_ASSIGN(Value body, DecodeBody(context, Binding::SchemaKind(), query.field_validation));
  // Only a part of a pod says which pod is meant; elsewhere it is an object that is made, whose uid is the server's to give.
  if (!subresource) body = SetMetadata(context.arena(), Binding::SchemaType(), body, "uid", Value());
  CO_TRY_ASSIGN(body, EnsureNamespace(context, Binding::SchemaType(), body));
  Binding binding(body);
  std::string name(binding.metadata().name());
  if (subresource && name != context.info.name) {
    co_return Fail(BadRequestError("name in URL does not match name in Binding object"));
  }
  CO_TRY(CheckTarget(binding));
  kinds::RuleContext rules = context.Rules(query.dry_run, "binding");
  admission::Request admit{admission::Operation::kCreate, *pods->storage, "binding", context.info.ns, name, body, Value(),
                           WriteOptionsValue(context, admission::Operation::kCreate, query.dry_run), rules};
  auto mutate = context.parts.admission.Mutate(admit);
  CO_TRY_ASSIGN(admit.object, co_await std::move(mutate));
  auto validate = context.parts.admission.Validate(admit);
  CO_TRY(co_await std::move(validate));
  binding = Binding(admit.object);

  context.resource = pods;
  UpdateFunction bind = [&context, binding, dry_run = query.dry_run](object::DocumentPtr, Value current) {
    return Bind(context, binding, dry_run, current);
  };
  auto update = StoreUpdate(context, context.info.ns, name, MakeWriteInfo(context, context.FieldManager(query.field_manager)),
                            query.dry_run, bind);
  CO_TRY(co_await std::move(update));
  co_return EncodePlainSuccess(201, context.output);
}

}  // namespace

void ServeBinding(ApiServer& server) {
  server.HandleResource("", "pods", "binding", "create", HandleBinding);
  server.HandleResource("", "bindings", "", "create", HandleBinding);
}

}  // namespace homeostat::server
