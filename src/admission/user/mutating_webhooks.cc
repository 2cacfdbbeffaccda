// MutatingAdmissionWebhook: has the webhooks of MutatingWebhookConfigurations change an object, one after the other.
//
// Each sees what those before it made. A change has the whole chain run once more; webhooks that ask for it are then called again if
// the object has changed since they saw it. Source of the rules: apiserver's admission/plugin/webhook/mutating.
#include "admission/user/webhook_call.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/audit_annotations.h"
#include "patch/json_patch.h"
#include "patch/managed_fields.h"

namespace homeostat::admission {
namespace {

using object::Value;

// The object in the version of a place, typed, brought back to the version of the request's chain.
Task<Result<Value>> FromPlace(const PluginParts& parts, const Attributes& attributes, const Place& place, Value typed) {
  const Request& request = attributes.request();
  if (!attributes.IsOfResource(place)) co_return typed;
  CO_TRY_ASSIGN(typed, parts.served.Default(request.arena(), typed, *place.resource_kind));
  auto convert = parts.served.ConvertElsewhere(request.arena(), typed, *place.resource_kind, request.kind);
  co_return co_await std::move(convert);
}

struct Patched {
  Value object;
  bool changed = false;
};

// The object of the place's type with the patch applied to its form.
Result<Patched> ApplyPatch(const Request& request, const Webhook& webhook, const Place& place, const Value& form,
                           const Value& patch) {
  if (!form) {
    return Fail(InternalError("admission webhook " + GoQuote(webhook.name) +
                              " attempted to modify the object, which is not supported for this operation"));
  }
  patch::JsonPatchFault fault;
  auto patched = patch::ApplyJsonPatch(request.arena(), form, patch, {.fault = &fault});
  if (!patched) return Fail(InternalError(fault.text.empty() ? patched.error().message() : fault.text));
  if (patched->Get("kind").AsString() != place.kind.kind || patched->Get("apiVersion").AsString() != place.kind.ApiVersion()) {
    return Fail(InternalError("admission webhook " + GoQuote(webhook.name) + " made the object another kind's"));
  }
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(request.arena(), *patched, *place.type, report);
  if (!typed) return Fail(InternalError(typed.error().message()));
  return Patched{*typed, !object::Equal(schema::ToJsonForm(request.arena(), *place.type, *typed), form)};
}

class MutatingWebhooks final : public Plugin {
 public:
  explicit MutatingWebhooks(const PluginParts& parts) : parts_(parts), source_(parts, "mutatingwebhookconfigurations") {}
  std::string_view name() const override { return "MutatingAdmissionWebhook"; }
  bool Handles(const Request& request) const override { return !IsHiddenFromWebhooks(request) && !source_.Current()->webhooks.empty(); }

  Task<Result<Value>> Mutate(const Request& request) override {
    std::shared_ptr<const WebhookSet> set = source_.Current();
    Reinvocation alone;
    Reinvocation& reinvocation = request.reinvocation != nullptr ? *request.reinvocation : alone;
    Reinvocation::Repetition& repetition = reinvocation.of_plugins[name()];
    if (reinvocation.is_repeated && !object::Equal(repetition.last_output, request.object)) repetition.Require();
    Request current = request;
    std::optional<Attributes> attributes;  // of the object as it is now
    for (size_t i = 0; i < set->webhooks.size(); ++i) {
      if (!attributes) attributes.emplace(current, parts_.served);
      auto ask = Ask(set->webhooks[i], i, *attributes, reinvocation, repetition);
      CO_TRY_ASSIGN(std::optional<Value> changed, co_await std::move(ask));
      if (!changed) continue;
      attributes.reset();
      current.object = *changed;
    }
    repetition.last_output = current.object;
    co_return current.object;
  }

 private:
  // The object after the webhook, which is that one of its set; if that has changed it.
  Task<Result<std::optional<Value>>> Ask(const Webhook& webhook, size_t index, Attributes& attributes, Reinvocation& reinvocation,
                                         Reinvocation::Repetition& repetition) {
    const Request& current = attributes.request();
    auto match = PlaceToCall(parts_, webhook, attributes);
    CO_TRY_ASSIGN(const Place* place, co_await std::move(match));
    if (place == nullptr || (reinvocation.is_repeated && !repetition.again.contains(webhook.id))) co_return std::nullopt;
    CO_TRY_ASSIGN(WebhookCall call, PrepareCall(parts_, webhook, attributes, *place));
    MonotonicTime start = parts_.runtime.Now();
    auto calling = CallWebhook(parts_, std::move(call));
    WebhookOutcome outcome = co_await std::move(calling);
    PassOn(current, webhook, outcome);
    int round = reinvocation.is_repeated ? 1 : 0;
    auto patch = Patch(webhook, outcome, attributes, *place);
    Result<Patched> patched = co_await std::move(patch);
    NoteMutation(current, webhook, outcome, round, index, patched);
    if (patched && patched->changed) {
      repetition.Require();
      reinvocation.asked_for = true;
    }
    if (webhook.called_again) repetition.asked.insert(webhook.id);
    bool ignored = outcome.kind == WebhookOutcome::Kind::kFailed && webhook.ignores_failures;
    if (ignored) NoteFailOpen(current, webhook, round, index);
    if (!patched) outcome.code = 0;
    CountCall(parts_, current, webhook, outcome, !patched || (outcome.error && !ignored), parts_.runtime.Now() - start);
    if (outcome.error && !ignored) co_return Fail(*outcome.error);
    if (!patched) co_return Fail(patched.error());
    co_return patched->changed ? std::optional(patched->object) : std::nullopt;
  }

  // The object with the patch of an answer, in the version of the request's chain; as it is without one.
  Task<Result<Patched>> Patch(const Webhook& webhook, const WebhookOutcome& outcome, Attributes& attributes, const Place& place) const {
    const Request& request = attributes.request();
    if (outcome.kind != WebhookOutcome::Kind::kAnswered || !outcome.answer.patch) co_return Patched{request.object};
    request.arena().Keep(outcome.work);
    CO_TRY_ASSIGN(VersionedObjects objects, attributes.In(place));
    CO_TRY_ASSIGN(Patched patched, ApplyPatch(request, webhook, place, objects.object, outcome.answer.patch));
    auto convert = FromPlace(parts_, attributes, place, patched.object);
    auto back = co_await std::move(convert);
    if (!back) co_return Fail(InternalError(back.error().message()));
    patched.object = *back;
    co_return patched;
  }

  // For the audit log: that the webhook was asked, and what it wanted changed.
  static void NoteMutation(const Request& request, const Webhook& webhook, const WebhookOutcome& outcome, int round, size_t index,
                           const Result<Patched>& patched) {
    kinds::AuditAnnotations* annotations = request.context.annotations;
    if (annotations == nullptr) return;
    object::Arena arena;
    object::ObjectBuilder note(arena);
    note.Append("configuration", Value::StringRef(webhook.configuration));
    note.Append("webhook", Value::StringRef(webhook.name));
    std::string place = "webhook.admission.k8s.io/round_" + std::to_string(round) + "_index_" + std::to_string(index);
    if (patched && outcome.answer.patch && annotations->Has(kinds::AuditLevel::kRequest)) {
      object::ObjectBuilder whole(arena, note.Build());
      whole.Append("patch", outcome.answer.patch);
      whole.Append("patchType", Value::StringRef("JSONPatch"));
      annotations->Add("patch." + place, object::JsonText(whole.Build()), kinds::AuditLevel::kRequest);
    }
    note.Append("mutated", Value::Bool(patched && patched->changed));
    annotations->Add("mutation." + place, object::JsonText(note.Build()));
  }

  const PluginParts parts_;
  mutable WebhookSource source_;
};

}  // namespace

std::unique_ptr<Plugin> MakeMutatingAdmissionWebhook(const PluginParts& parts) { return std::make_unique<MutatingWebhooks>(parts); }

}  // namespace homeostat::admission
