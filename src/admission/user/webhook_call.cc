#include "admission/user/webhook_call.h"

#include "admission/admission_metrics.h"
#include "callout/caller.h"
#include "homeostat/base/ids.h"
#include "homeostat/base/text.h"
#include "kinds/audit_annotations.h"

namespace homeostat::admission {
namespace {

WebhookOutcome Failed(const Webhook& webhook, std::string_view why, int code) {
  WebhookOutcome outcome;
  outcome.code = code;
  outcome.kind = WebhookOutcome::Kind::kFailed;
  outcome.error = InternalError("failed calling webhook " + GoQuote(webhook.name) + ": " + std::string(why));
  return outcome;
}

WebhookOutcome Refused(Status error, int code) {
  WebhookOutcome outcome;
  outcome.code = code;
  outcome.kind = WebhookOutcome::Kind::kRefused;
  outcome.error = std::move(error);
  return outcome;
}

}  // namespace

Result<WebhookCall> PrepareCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place) {
  auto objects = attributes.In(place);
  if (!objects) return Fail(InternalError(objects.error().message()));
  const kinds::RuleContext& context = attributes.request().context;
  WebhookCall call{&webhook, NewUuid(parts.runtime), {}, context.deadline - parts.runtime.Now(), context.dry_run};
  call.body = AdmissionReviewBody(webhook.review_version, call.uid, *objects, attributes.request().arena());
  return call;
}

void PassOn(const Request& request, const Webhook& webhook, const WebhookOutcome& outcome) {
  std::vector<std::string>* warnings = request.context.warnings;
  if (warnings != nullptr) warnings->insert(warnings->end(), outcome.answer.warnings.begin(), outcome.answer.warnings.end());
  if (request.context.annotations == nullptr) return;
  for (const auto& [key, value] : outcome.answer.annotations) request.context.annotations->Add(webhook.name + "/" + key, value);
}

void CountCall(const PluginParts& parts, const Request& request, const Webhook& webhook, const WebhookOutcome& outcome, bool rejected, Duration took) {
  if (parts.metrics == nullptr) return;
  bool failed = outcome.kind == WebhookOutcome::Kind::kFailed;
  parts.metrics->WebhookCalled({webhook.name, webhook.mutates, request.operation, took, outcome.code, rejected, failed});
}

void NoteFailOpen(const Request& request, const Webhook& webhook, int round, size_t index) {
  if (request.context.annotations == nullptr) return;
  std::string key = std::string("failed-open.") + (webhook.mutates ? "mutation" : "validating") + ".webhook.admission.k8s.io/round_" +
                    std::to_string(round) + "_index_" + std::to_string(index);
  request.context.annotations->Add(key, webhook.name);
}

Task<WebhookOutcome> CallWebhook(const PluginParts& parts, WebhookCall call) {
  const Webhook& webhook = *call.webhook;
  if (call.dry_run && webhook.has_side_effects) {
    co_return Refused(BadRequestError("admission webhook " + GoQuote(webhook.name) + " does not support dry run"), 0);
  }
  if (webhook.review_version.empty()) {
    co_return Failed(webhook, "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)", 400);
  }
  if (!webhook.target) co_return Failed(webhook, "could not get REST client: " + webhook.target.error().message(), 500);
  if (parts.caller == nullptr) co_return Failed(webhook, "failed to call webhook: this server calls nobody", 500);
  callout::PostOptions options{.timeout = webhook.timeout, .left = call.left};
  auto post = parts.caller->Post(*webhook.target, Bytes(std::move(call.body)), options);
  Result<Bytes> body = co_await std::move(post);
  if (!body) co_return Failed(webhook, "failed to call webhook: " + body.error().message(), body.error().code());
  WebhookOutcome outcome;
  outcome.work = std::make_shared<object::Document>();
  auto answer = ReadAdmissionReview(outcome.work->arena(), *body, webhook.review_version, call.uid, webhook.mutates);
  if (!answer) co_return Failed(webhook, answer.error().message(), 503);
  outcome.answer = *std::move(answer);
  if (!outcome.answer.allowed) {
    outcome.kind = WebhookOutcome::Kind::kRefused;
    outcome.error = DeniedBy(webhook.name, outcome.answer.result);
    outcome.code = outcome.error->code();
  }
  co_return outcome;
}

}  // namespace homeostat::admission
