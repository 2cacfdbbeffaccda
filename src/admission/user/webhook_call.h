// One call of an admission webhook, and what became of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "admission/user/webhook_review.h"
#include "admission/user/webhooks.h"

namespace homeostat::admission {

struct WebhookOutcome {
  enum class Kind : uint8_t {
    kAnswered,  // and allowed
    kRefused,   // the request ends with `error`, whatever the failure policy
    kFailed,    // no answer that can be used: the failure policy decides
  } kind = Kind::kAnswered;
  WebhookAnswer answer;
  std::optional<Status> error;             // kRefused, kFailed: for the client
  int code = 200;                          // as it is counted; 0: what refuses is not the webhook
  std::shared_ptr<object::Document> work;  // what the answer's values live in
};

// What a call needs of the request, made before it so that calls can run at once.
struct WebhookCall {
  const Webhook* webhook = nullptr;
  std::string uid, body;
  Duration left{};  // of the request's time
  bool dry_run = false;
};
Result<WebhookCall> PrepareCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place);

// Hands the warnings of an answer on to the client, and its annotations to the audit log.
void PassOn(const Request& request, const Webhook& webhook, const WebhookOutcome& outcome);
// Counts a call that took so long. rejected: it, or what came of its patch, ends the request.
void CountCall(const PluginParts& parts, const Request& request, const Webhook& webhook, const WebhookOutcome& outcome, bool rejected, Duration took);
// Notes for the audit log that the webhook's failure was passed over; index: which one it is of those asked in that round.
void NoteFailOpen(const Request& request, const Webhook& webhook, int round, size_t index);

// The webhook must be kept by whoever asks.
Task<WebhookOutcome> CallWebhook(const PluginParts& parts, WebhookCall call);

}  // namespace homeostat::admission
