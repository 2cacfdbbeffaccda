#include "admission/user/webhooks.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

const cel::PolicyEnvironment& ConditionEnvironment() {
  static const cel::PolicyEnvironment environment({.authorizer = true}, /*with_variables=*/false);
  return environment;
}

Webhook ReadWebhook(const Value& source, std::string id) {
  bool ignores = source.Get("failurePolicy").AsString() == "Ignore";
  std::string_view effects = source.Get("sideEffects").AsString();
  Webhook webhook{.name = std::string(source.Get("name").AsString()),
                  .id = std::move(id),
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
      set->webhooks.push_back(ReadWebhook(source, std::move(id)));
    }
  }
  return set;
}

namespace {

// Whether the conditions of a webhook hold.
Result<bool> Meets(const PluginParts& parts, const Webhook& webhook, Attributes& attributes, const Place& place) {
  if (webhook.conditions.empty()) return true;
  auto objects = attributes.In(place);
  if (!objects) return Fail(InternalError(objects.error().message()));
  ExpressionAuthorizer authorizer(parts.authorizer, attributes.request().user());
  ExpressionInput input(attributes, *objects, Value(), Value(), &authorizer);
  MatchConditions::Answer answer = webhook.conditions.Match(input);
  if (!answer.fault.empty()) {
    const ResourceName& resource = attributes.place().resource;
    return Fail(ForbiddenError(resource.group, resource.resource, attributes.name(), answer.fault));
  }
  return answer.matches;
}

}  // namespace

Task<Result<const Place*>> PlaceToCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes) {
  CO_TRY_ASSIGN(const Place* place, webhook.criteria.Match(attributes, parts.objects));
  if (place == nullptr) co_return place;
  auto prepare = attributes.Prepare(*place);
  auto prepared = co_await std::move(prepare);
  if (!prepared) co_return Fail(InternalError(prepared.error().message()));
  CO_TRY_ASSIGN(bool meets, Meets(parts, webhook, attributes, *place));
  co_return meets ? place : nullptr;
}

}  // namespace homeostat::admission
