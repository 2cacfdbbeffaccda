#include "admission/user/expressions.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "homeostat/api/core/v1.h"
#include "homeostat/schema/json_encoder.h"

namespace homeostat::admission {
namespace {

using object::Value;

// The account of "system:serviceaccount:NAMESPACE:NAME".
User AccountUser(const std::string& name) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  User user;
  user.name = name;
  std::string_view rest = std::string_view(name).substr(kPrefix.size());
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + std::string(rest.substr(0, rest.find(':')))};
  return user;
}

auth::Attributes AskedOf(const cel::AuthorizationQuestion& question, const User& user) {
  auth::Attributes asked;
  asked.user = &user;
  asked.verb = question.verb;
  asked.resource_request = question.is_resource;
  if (!question.is_resource) {
    asked.path = question.path;
    return asked;
  }
  asked.group = question.group;
  asked.version = "*";
  asked.resource = question.resource;
  asked.subresource = question.subresource;
  asked.ns = question.namespace_name;
  asked.name = question.name;
  // A selector that can't be read narrows nothing.
  if (!question.field_selector.empty()) {
    if (auto parsed = object::FieldSelector::Parse(question.field_selector)) asked.field_selector = parsed->requirements();
  }
  if (!question.label_selector.empty()) {
    if (auto parsed = object::LabelSelector::Parse(question.label_selector)) asked.label_selector = parsed->requirements();
  }
  return asked;
}

constexpr std::string_view kOutOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

int64_t CostOf(const cel::Evaluation& evaluation) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(evaluation.cost, kMost));
}

}  // namespace

cel::AuthorizationAnswer ExpressionAuthorizer::Authorize(const cel::AuthorizationQuestion& question) const {
  User account;
  if (!question.service_account.empty()) account = AccountUser(question.service_account);
  auth::Verdict verdict = authorizer_.Authorize(AskedOf(question, question.service_account.empty() ? user_ : account));
  return {verdict.decision == auth::Decision::kAllow, verdict.reason, verdict.evaluation_error};
}

ExpressionInput::ExpressionInput(const Attributes& attributes, const VersionedObjects& objects, const Value& params,
                                 const Value& namespace_object, const cel::Authorizer* authorizer)
    : arena_(attributes.request().arena()),
      runtime_(attributes.request().context.runtime),
      object_(cel::FromJson(arena_, objects.object)),
      old_object_(cel::FromJson(arena_, objects.old_object)),
      params_(cel::FromJson(arena_, params)),
      request_(cel::FromJson(arena_, objects.request)),
      namespace_(cel::FromJson(arena_, namespace_object)) {
  if (authorizer == nullptr) return;
  authorizer_ = cel::AuthorizerValue(arena_, *authorizer);
  const Place& asked = attributes.place();
  cel::AuthorizationQuestion resource;
  resource.is_resource = true;
  resource.group = asked.resource.group;
  resource.resource = asked.resource.resource;
  resource.subresource = attributes.subresource();
  resource.namespace_name = attributes.ns();
  resource.name = attributes.name();
  request_resource_ = cel::ResourceCheckValue(arena_, *authorizer, resource);
}

void ExpressionInput::SetVariables(std::span<const PolicyVariable> variables) {
  for (const PolicyVariable& variable : variables) {
    variables_.Add(variable.name, [this, &variable] {
      const auto& [program, type, error] = variable.expression;
      std::string what = "composited variable \"" + variable.name + "\" fails to ";
      if (!program) return cel::MakeError(arena_, what + "compile: " + error);
      cel::Evaluation evaluation = program->Evaluate(arena_, *this);
      int64_t room = std::numeric_limits<int64_t>::max() - cost_;
      cost_ += std::min(room, CostOf(evaluation));
      if (evaluation.outcome == cel::Evaluation::Outcome::kValue) return evaluation.value;
      return cel::MakeError(arena_, what + "evaluate: " + std::string(evaluation.value.text()));
    });
  }
  variables_value_ = cel::Value::Of(static_cast<const cel::Map*>(&variables_));
}

std::optional<cel::Value> ExpressionInput::Find(std::string_view name) const {
  if (name == "object") return object_;
  if (name == "oldObject") return old_object_;
  if (name == "params") return params_;
  if (name == "request") return request_;
  if (name == "namespaceObject") return namespace_;
  if (name == "authorizer") return authorizer_;
  if (name == "authorizer.requestResource") return request_resource_;
  if (name == "variables") return variables_value_;
  return std::nullopt;
}

int64_t ExpressionInput::TakeCost() const { return std::exchange(cost_, 0); }

Task<ExpressionOutcomes> EvaluateAll(std::span<const TextExpression> expressions, const ExpressionInput& input, int64_t budget) {
  ExpressionOutcomes result;
  int64_t turn_ends_at = budget - kCostOfOneTurn;
  for (const TextExpression& one : expressions) {
    ExpressionOutcome& outcome = result.outcomes.emplace_back();
    outcome.placeholder = one.placeholder;
    if (one.placeholder) continue;
    if (!one.expression.program) {
      outcome.error = "compilation error: " + one.expression.error;
      continue;
    }
    cel::Evaluation evaluation = one.expression.program->Evaluate(input.arena(), input);
    for (int64_t cost : {input.TakeCost(), CostOf(evaluation)}) {
      if (cost > budget) co_return ExpressionOutcomes{{}, std::string(kOutOfBudget), -1};
      budget -= cost;
    }
    if (evaluation.outcome == cel::Evaluation::Outcome::kValue) {
      outcome.value = evaluation.value;
    } else {
      outcome.error = "expression '" + std::string(one.text) + "' resulted in error: " + std::string(evaluation.value.text());
    }
    if (budget < turn_ends_at) {
      auto yield = Yield(input.runtime());
      co_await std::move(yield);
      turn_ends_at = budget - kCostOfOneTurn;
    }
  }
  result.remaining = budget;
  co_return result;
}

Value NamespaceValue(object::Arena& arena, const Value& ns) {
  if (!ns) return {};
  const schema::Type& type = api::core::v1::Namespace::SchemaType();
  object::ObjectBuilder form(arena, schema::ToJsonForm(arena, type, ns));
  object::ObjectBuilder metadata(arena, form.Get("metadata"));
  for (std::string_view hidden : {"managedFields", "ownerReferences", "selfLink"}) metadata.Erase(hidden);
  form.Set("metadata", metadata.Build());
  // Upstream makes it anew from the parts that it shows.
  form.Erase("kind");
  form.Erase("apiVersion");
  return form.Build();
}

MatchConditions::MatchConditions(const Value& list, const cel::PolicyEnvironment& environment, bool ignores_faults)
    : ignores_faults_(ignores_faults) {
  static const cel::Type kResults[] = {cel::Type::Bool()};
  for (const Value& condition : list.items()) {
    std::string_view text = condition.Get("expression").AsString();
    conditions_.push_back({text, environment.Compile(text, kResults), false});
    names_.push_back(condition.Get("name").AsString());
  }
}

Task<MatchConditions::Answer> MatchConditions::Match(const ExpressionInput& input) const {
  if (conditions_.empty()) co_return Answer();
  auto evaluate = EvaluateAll(conditions_, input, kMatchConditionBudget);
  ExpressionOutcomes result = co_await std::move(evaluate);
  if (!result.fault.empty()) co_return Answer{false, {}, ignores_faults_ ? std::string() : result.fault};
  std::vector<std::string> faults;
  for (size_t i = 0; i < result.outcomes.size(); ++i) {
    const ExpressionOutcome& outcome = result.outcomes[i];
    if (!outcome.error.empty()) {
      faults.push_back(outcome.error);
    } else if (outcome.value.IsFalse()) {
      co_return Answer{false, names_[i], {}, faults.size()};  // decides, whatever the others say
    }
  }
  if (faults.empty()) co_return Answer();
  co_return Answer{false, {}, ignores_faults_ ? std::string() : JoinFaults(faults), faults.size()};
}

}  // namespace homeostat::admission
