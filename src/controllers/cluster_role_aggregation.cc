#include "controllers/cluster_role_aggregation.h"

#include <algorithm>
#include <utility>

#include "homeostat/api/rbac/v1_builders.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/diff.h"
#include "sdk/apply.h"

namespace homeostat::controllers {

using api::rbac::v1::ClusterRole;
using api::rbac::v1::ClusterRoleBuilder;
using api::rbac::v1::PolicyRule;
using object::Value;

namespace {

constexpr std::string_view kManager = "clusterrole-aggregation-controller";

bool SameRules(const std::vector<Value>& a, std::span<const Value> b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) { return schema::IsEqual(PolicyRule::SchemaType(), x, y); });
}

}  // namespace

ClusterRoleAggregationController::ClusterRoleAggregationController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                                   ClusterRoleAggregationOptions options)
    : client_(std::move(client)),
      roles_(informers.For<ClusterRole>()),
      controller_(runtime, {.name = "ClusterRoleAggregator", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  // Any role may be part of any that aggregates.
  controller_.WatchMapped(roles_, [this](const sdk::Change&) {
    std::vector<std::string> names;
    for (const object::DocumentPtr& role : roles_.List()) {
      if (ClusterRole(role->root()).has_aggregation_rule()) names.emplace_back(sdk::meta::Name(role->root()));
    }
    return names;
  });
}

Task<Result<sdk::ReconcileOutcome>> ClusterRoleAggregationController::Reconcile(std::string name) {
  sdk::Object<ClusterRole> role = sdk::Lister<ClusterRole>(roles_).GetByKey(name);
  if (!role || !role->has_aggregation_rule()) co_return sdk::ReconcileOutcome();
  std::vector<Value> rules;
  for (auto label_selector : role->aggregation_rule().cluster_role_selectors()) {
    CO_TRY_ASSIGN(object::LabelSelector selector, object::LabelSelector::FromLabelSelector(label_selector.Raw()));
    for (const object::DocumentPtr& part : roles_.List()) {
      if (sdk::meta::Name(part->root()) == name || !selector.Matches(sdk::meta::Labels(part->root()))) continue;
      for (PolicyRule rule : ClusterRole(part->root()).rules()) {
        bool known = std::ranges::any_of(rules, [&](const Value& other) { return schema::IsEqual(PolicyRule::SchemaType(), other, rule.Raw()); });
        if (!known) rules.push_back(rule.Raw());
      }
    }
  }
  if (SameRules(rules, role->rules().Raw().items())) co_return sdk::ReconcileOutcome();
  ClusterRoleBuilder wanted;
  wanted.mutable_metadata().set_name(name);
  for (const Value& rule : rules) wanted.add_rules(schema::Subtree(rule));
  auto apply = sdk::Apply(client_, ClusterRole::SchemaKind(), wanted.Freeze(), "", kManager);
  CO_TRY(co_await apply);
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
