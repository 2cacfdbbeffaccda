// MutatingAdmissionWebhook: has the webhooks of MutatingWebhookConfigurations change an object, one after the other.
//
// Each sees what those before it made. A change has the whole chain run once more; webhooks that ask for it are then called again if
// the object has changed since they saw it. Source of the rules: apiserver's admission/plugin/webhook/mutating.
#include "admission/user/webhook_call.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
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
    for (const Webhook& webhook : set->webhooks) {
      auto ask = Ask(webhook, current, reinvocation, repetition);
      CO_TRY_ASSIGN(current.object, co_await std::move(ask));
    }
    repetition.last_output = current.object;
    co_return current.object;
  }

 private:
  // The object after the webhook.
  Task<Result<Value>> Ask(const Webhook& webhook, const Request& current, Reinvocation& reinvocation,
                          Reinvocation::Repetition& repetition) {
    Attributes attributes(current, parts_.served);
    auto match = PlaceToCall(parts_, webhook, attributes);
    CO_TRY_ASSIGN(const Place* place, co_await std::move(match));
    if (place == nullptr || (reinvocation.is_repeated && !repetition.again.contains(webhook.id))) co_return current.object;
    CO_TRY_ASSIGN(WebhookCall call, PrepareCall(parts_, webhook, attributes, *place, /*mutates=*/true));
    auto calling = CallWebhook(parts_, std::move(call));
    WebhookOutcome outcome = co_await std::move(calling);
    WarnClient(current, outcome);
    Result<Patched> patched = Patched{current.object};
    if (outcome.kind == WebhookOutcome::Kind::kAnswered && outcome.answer.patch) {
      current.arena().Keep(outcome.work);
      CO_TRY_ASSIGN(VersionedObjects objects, attributes.In(*place));
      patched = ApplyPatch(current, webhook, *place, objects.object, outcome.answer.patch);
      if (patched) {
        auto convert = FromPlace(parts_, attributes, *place, patched->object);
        auto back = co_await std::move(convert);
        if (!back) co_return Fail(InternalError(back.error().message()));
        patched->object = *back;
      }
    }
    if (patched && patched->changed) {
      repetition.Require();
      reinvocation.asked_for = true;
    }
    if (webhook.called_again) repetition.asked.insert(webhook.id);
    bool ignored = outcome.kind == WebhookOutcome::Kind::kFailed && webhook.ignores_failures;
    if (outcome.error && !ignored) co_return Fail(*outcome.error);
    if (!patched) co_return Fail(patched.error());
    co_return patched->object;
  }

  const PluginParts parts_;
  mutable WebhookSource source_;
};

}  // namespace

std::unique_ptr<Plugin> MakeMutatingAdmissionWebhook(const PluginParts& parts) { return std::make_unique<MutatingWebhooks>(parts); }

}  // namespace homeostat::admission
