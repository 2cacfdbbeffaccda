#include "admission/user/webhooks.h"

#include "admission/admission_metrics.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io", kMutatingConfigurations = "mutatingwebhookconfigurations";

const cel::PolicyEnvironment& ConditionEnvironment() {
  static const cel::PolicyEnvironment environment({.authorizer = true}, /*with_variables=*/false);
  return environment;
}

Webhook ReadWebhook(const Value& source, std::string_view configuration, std::string id, bool mutates) {
  bool ignores = source.Get("failurePolicy").AsString() == "Ignore";
  std::string_view effects = source.Get("sideEffects").AsString();
  Webhook webhook{.name = std::string(source.Get("name").AsString()),
                  .configuration = std::string(configuration),
                  .id = std::move(id),
                  .mutates = mutates,
                  .criteria = MatchCriteria::OfWebhook(source),
                  .conditions = MatchConditions(source.Get("matchConditions"), ConditionEnvironment(), ignores),
                  .target = callout::ReadClientConfig(source.Get("clientConfig")),
                  .review_version = {},
                  .timeout = std::chrono::seconds(source.Get("timeoutSeconds").AsInt(10)),
                  .ignores_failures = ignores,
                  .has_side_effects = effects != "None" && effects != "NoneOnDryRun",
                  .called_again = source.Get("reinvocationPolicy").AsString() == "IfNeeded"};
  for (const Value& version : source.Get("admissionReviewVersions").items()) {
    bool known = version.AsString() == "v1" || version.AsString() == "v1beta1";
    if (known && webhook.review_version.empty()) webhook.review_version = version.AsString();
  }
  return webhook;
}

}  // namespace

WebhookSource::WebhookSource(const PluginParts& parts, std::string_view plural)
    : objects_(parts.objects), plural_(plural), changes_(parts, {plural}) {}

std::shared_ptr<const WebhookSet> WebhookSource::Current() {
  if (changes_.Take()) set_ = Make();
  return set_;
}

std::shared_ptr<const WebhookSet> WebhookSource::Make() const {
  auto set = std::make_shared<WebhookSet>();
  set->configurations = objects_.List(kGroup, plural_, "");
  for (const object::DocumentPtr& configuration : set->configurations) {
    std::string owner(configuration->root().Path({"metadata", "name"}).AsString());
    std::map<std::string_view, int> seen;
    for (const Value& source : configuration->root().Get("webhooks").items()) {
      std::string_view name = source.Get("name").AsString();
      std::string id = owner + "/" + std::string(name) + "/" + std::to_string(seen[name]++);
      set->webhooks.push_back(ReadWebhook(source, owner, std::move(id), plural_ == kMutatingConfigurations));
    }
  }
  return set;
}

namespace {

// Whether the conditions of a webhook hold.
Task<Result<bool>> Meets(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place) {
  auto objects = attributes.In(place);
  if (!objects) co_return Fail(InternalError(objects.error().message()));
  ExpressionAuthorizer authorizer(parts.authorizer, attributes.request().user());
  ExpressionInput input(attributes, *objects, Value(), Value(), &authorizer);
  MonotonicTime start = parts.runtime.Now();
  auto match = webhook.conditions.Match(input);
  MatchConditions::Answer answer = co_await std::move(match);
  AdmissionMetrics::Conditions counted{webhook.name, "webhook", webhook.mutates ? "admit" : "validating", attributes.request().operation};
  if (parts.metrics != nullptr && !answer.matches) {
    parts.metrics->ConditionsEvaluated(counted, answer.faults, parts.runtime.Now() - start);
    if (answer.fault.empty()) parts.metrics->ConditionsExcluded(counted);
  }
  if (!answer.fault.empty()) {
    const ResourceName& resource = attributes.place().resource;
    co_return Fail(ForbiddenError(resource.group, resource.resource, attributes.name(), answer.fault));
  }
  co_return answer.matches;
}

}  // namespace

Task<Result<const Place*>> PlaceToCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes) {
  CO_TRY_ASSIGN(const Place* place, webhook.criteria.Match(attributes, parts.objects));
  if (place == nullptr) co_return place;
  auto prepare = attributes.Prepare(*place);
  auto prepared = co_await std::move(prepare);
  if (!prepared) co_return Fail(InternalError(prepared.error().message()));
  if (webhook.conditions.empty()) co_return place;
  auto check = Meets(parts, webhook, attributes, *place);
  CO_TRY_ASSIGN(bool meets, co_await std::move(check));
  co_return meets ? place : nullptr;
}

}  // namespace homeostat::admission
