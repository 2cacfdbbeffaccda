// ValidatingAdmissionWebhook: asks the webhooks of ValidatingWebhookConfigurations, all at once, whether a request may go on.
#include "admission/user/webhook_call.h"

namespace homeostat::admission {
namespace {

using Outcomes = std::vector<std::optional<WebhookOutcome>>;

bool IsIgnored(const Webhook& webhook, const WebhookOutcome& outcome) {
  return outcome.kind == WebhookOutcome::Kind::kFailed && webhook.ignores_failures;
}

Task<void> RunOne(const PluginParts* parts, const Request* request, WebhookCall call, std::optional<WebhookOutcome>* outcome) {
  const Webhook& webhook = *call.webhook;
  MonotonicTime start = parts->runtime.Now();
  auto calling = CallWebhook(*parts, std::move(call));
  *outcome = co_await std::move(calling);
  bool rejected = (*outcome)->error && !IsIgnored(webhook, **outcome);
  CountCall(*parts, *request, webhook, **outcome, rejected, parts->runtime.Now() - start);
}

class ValidatingWebhooks final : public Plugin {
 public:
  explicit ValidatingWebhooks(const PluginParts& parts) : parts_(parts), source_(parts, "validatingwebhookconfigurations") {}
  std::string_view name() const override { return "ValidatingAdmissionWebhook"; }
  bool Handles(const Request& request) const override { return !IsHiddenFromWebhooks(request) && !source_.Current()->webhooks.empty(); }

  Task<Result<void>> Validate(const Request& request) override {
    std::shared_ptr<const WebhookSet> set = source_.Current();
    std::vector<WebhookCall> calls;
    auto choose = Choose(*set, request, calls);
    CO_TRY(co_await std::move(choose));
    Outcomes outcomes(calls.size());
    TaskGroup group(parts_.runtime);
    // Of a call only its webhook is asked for afterwards, which moving leaves.
    for (size_t i = 0; i < calls.size(); ++i) group.Spawn(RunOne(&parts_, &request, std::move(calls[i]), &outcomes[i]));
    auto join = group.Join();
    co_await std::move(join);
    co_return Decide(calls, outcomes, request);
  }

 private:
  // The calls that the request needs.
  Task<Result<void>> Choose(const WebhookSet& set, const Request& request, std::vector<WebhookCall>& calls) const {
    Attributes attributes(request, parts_.served);
    for (const Webhook& webhook : set.webhooks) {
      auto match = PlaceToCall(parts_, webhook, attributes);
      CO_TRY_ASSIGN(const Place* place, co_await std::move(match));
      if (place == nullptr) continue;
      CO_TRY_ASSIGN(WebhookCall call, PrepareCall(parts_, webhook, attributes, *place));
      calls.push_back(std::move(call));
    }
    co_return Result<void>();
  }

  // The first refusal in the order of the webhooks.
  static Result<void> Decide(const std::vector<WebhookCall>& calls, const Outcomes& outcomes, const Request& request) {
    std::optional<Status> refusal;
    for (size_t i = 0; i < calls.size(); ++i) {
      const WebhookOutcome& outcome = *outcomes[i];
      const Webhook& webhook = *calls[i].webhook;
      PassOn(request, webhook, outcome);
      bool ignored = IsIgnored(webhook, outcome);
      if (ignored) NoteFailOpen(request, webhook, 0, i);
      if (!refusal && outcome.error && !ignored) refusal = outcome.error;
    }
    if (refusal) return Fail(*refusal);
    return {};
  }

  const PluginParts parts_;
  mutable WebhookSource source_;
};

}  // namespace

std::unique_ptr<Plugin> MakeValidatingAdmissionWebhook(const PluginParts& parts) { return std::make_unique<ValidatingWebhooks>(parts); }

}  // namespace homeostat::admission
