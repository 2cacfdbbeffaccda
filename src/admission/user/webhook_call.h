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
  std::shared_ptr<object::Document> work;  // what the answer's values live in
};

// What a call needs of the request, made before it so that calls can run at once.
struct WebhookCall {
  const Webhook* webhook = nullptr;
  std::string uid, body;
  bool dry_run = false, mutates = false;
};
Result<WebhookCall> PrepareCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place, bool mutates);

// Hands the warnings of an answer on to the client.
void WarnClient(const Request& request, const WebhookOutcome& outcome);

// The webhook must be kept by whoever asks.
Task<WebhookOutcome> CallWebhook(const PluginParts& parts, WebhookCall call);

}  // namespace homeostat::admission
