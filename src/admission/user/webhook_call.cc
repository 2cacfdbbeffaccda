#include "admission/user/webhook_call.h"

#include "callout/caller.h"
#include "homeostat/base/ids.h"
#include "homeostat/base/text.h"

namespace homeostat::admission {
namespace {

WebhookOutcome Failed(const Webhook& webhook, std::string_view why) {
  WebhookOutcome outcome;
  outcome.kind = WebhookOutcome::Kind::kFailed;
  outcome.error = InternalError("failed calling webhook " + GoQuote(webhook.name) + ": " + std::string(why));
  return outcome;
}

WebhookOutcome Refused(Status error) {
  WebhookOutcome outcome;
  outcome.kind = WebhookOutcome::Kind::kRefused;
  outcome.error = std::move(error);
  return outcome;
}

}  // namespace

Result<WebhookCall> PrepareCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place, bool mutates) {
  auto objects = attributes.In(place);
  if (!objects) return Fail(InternalError(objects.error().message()));
  WebhookCall call{&webhook, NewUuid(parts.runtime), {}, attributes.request().context.dry_run, mutates};
  call.body = AdmissionReviewBody(webhook.review_version, call.uid, *objects, attributes.request().arena());
  return call;
}

void WarnClient(const Request& request, const WebhookOutcome& outcome) {
  std::vector<std::string>* warnings = request.context.warnings;
  if (warnings != nullptr) warnings->insert(warnings->end(), outcome.answer.warnings.begin(), outcome.answer.warnings.end());
}

Task<WebhookOutcome> CallWebhook(const PluginParts& parts, WebhookCall call) {
  const Webhook& webhook = *call.webhook;
  if (call.dry_run && webhook.has_side_effects) {
    co_return Refused(BadRequestError("admission webhook " + GoQuote(webhook.name) + " does not support dry run"));
  }
  if (webhook.review_version.empty()) {
    co_return Failed(webhook, "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)");
  }
  if (!webhook.target) co_return Failed(webhook, "could not get REST client: " + webhook.target.error().message());
  if (parts.caller == nullptr) co_return Failed(webhook, "failed to call webhook: this server calls nobody");
  callout::PostOptions options{.timeout = webhook.timeout};
  auto post = parts.caller->Post(*webhook.target, Bytes(std::move(call.body)), options);
  Result<Bytes> body = co_await std::move(post);
  if (!body) co_return Failed(webhook, "failed to call webhook: " + body.error().message());
  WebhookOutcome outcome;
  outcome.work = std::make_shared<object::Document>();
  auto answer = ReadAdmissionReview(outcome.work->arena(), *body, webhook.review_version, call.uid, call.mutates);
  if (!answer) co_return Failed(webhook, answer.error().message());
  outcome.answer = *std::move(answer);
  if (!outcome.answer.allowed) {
    outcome.kind = WebhookOutcome::Kind::kRefused;
    outcome.error = DeniedBy(webhook.name, outcome.answer.result);
  }
  co_return outcome;
}

}  // namespace homeostat::admission
