// Webhooks: those of all configurations of one kind, made ready once and again when a configuration changes.
//
// Source of the rules: apiserver's admission/configuration and admission/plugin/webhook (accessors.go).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugins.h"
#include "admission/user/change_mark.h"
#include "admission/user/expressions.h"
#include "admission/user/matching.h"
#include "callout/target.h"

namespace homeostat::admission {

struct Webhook {
  std::string name;            // as messages show it
  std::string configuration;   // the name of the object it stands in
  std::string id;              // CONFIGURATION/NAME/N: tells apart what has one name in one configuration
  bool mutates = false;        // it is of a MutatingWebhookConfiguration
  MatchCriteria criteria;
  MatchConditions conditions;
  Result<callout::Target> target;
  std::string review_version;  // the first that both sides know; empty: there is none
  Duration timeout;
  bool ignores_failures = false;
  bool has_side_effects = false;  // even in a dry run
  bool called_again = false;      // reinvocationPolicy IfNeeded
};

// In the order of the configurations' names. Keeps what the webhooks refer to.
struct WebhookSet {
  std::vector<object::DocumentPtr> configurations;
  std::vector<Webhook> webhooks;
};

// Loop only.
class WebhookSource {
 public:
  // plural: mutatingwebhookconfigurations or validatingwebhookconfigurations.
  WebhookSource(const PluginParts& parts, std::string_view plural);
  // As stored at this moment. Never null.
  std::shared_ptr<const WebhookSet> Current();

 private:
  std::shared_ptr<const WebhookSet> Make() const;

  const kinds::ObjectReader& objects_;
  const std::string_view plural_;
  ChangeMark changes_;
  std::shared_ptr<const WebhookSet> set_;
};

// The place at which a webhook is to be called, one of the attributes'; null: it is none of its business. The error refuses
// the request.
Task<Result<const Place*>> PlaceToCall(const PluginParts& parts, const Webhook& webhook, Attributes& attributes);

}  // namespace homeostat::admission
