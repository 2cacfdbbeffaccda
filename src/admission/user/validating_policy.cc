// ValidatingAdmissionPolicy: what policies and their bindings say of a write, with all their expressions may name.
// Source of the rules and texts: apiserver's admission/plugin/policy/validating.
#include <algorithm>

#include "admission/user/policies.h"
#include "homeostat/base/text.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr size_t kMaxMessageSize = 5 * 1024;

// What the policy asks for, compiled.
class ValidatingPolicy final : public CompiledPolicy {
 public:
  explicit ValidatingPolicy(object::DocumentPtr document) : CompiledPolicy(std::move(document)) {
    static const cel::Type kBool[] = {cel::Type::Bool()}, kText[] = {cel::Type::String()}, kNote[] = {cel::Type::String(), cel::Type::Null()};
    cel::PolicyEnvironment full = EnvironmentFor(true), plain = EnvironmentFor(false);
    for (const Value& validation : spec().Get("validations").items()) {
      std::string_view text = validation.Get("expression").AsString(), message = validation.Get("messageExpression").AsString();
      validations_.push_back({text, full.Compile(text, kBool), false});
      messages_.push_back(message.empty() ? TextExpression{{}, {}, true} : TextExpression{message, plain.Compile(message, kText), false});
    }
    for (const Value& note : spec().Get("auditAnnotations").items()) {
      std::string_view text = note.Get("valueExpression").AsString();
      notes_.push_back({text, full.Compile(text, kNote), false});
    }
  }

  std::span<const TextExpression> validations() const { return validations_; }
  std::span<const TextExpression> messages() const { return messages_; }
  std::span<const TextExpression> notes() const { return notes_; }

 private:
  std::vector<TextExpression> validations_, messages_, notes_;
};

// Why a write is not as the policy wants it.
struct Denial {
  std::string message;
  std::string_view reason;  // of the status; "" for what can't be evaluated
};

// What one policy says with one parameter.
struct Judgement {
  std::vector<Denial> denials;        // subject to the binding's actions
  std::vector<std::string> faults;    // of audit annotations: always refused
};

// The message of a validation that is not true: its messageExpression's, its own, or its expression.
std::string MessageFor(const Value& validation, const ExpressionOutcome* made) {
  std::string_view message;
  if (made != nullptr && !made->placeholder && made->error.empty() && made->value.IsString()) {
    message = TrimSpace(made->value.text());
    if (message.size() > kMaxMessageSize || message.find('\n') != message.npos) message = {};
  }
  if (message.empty()) message = TrimSpace(validation.Get("message").AsString());
  if (message.empty()) return "failed expression: " + std::string(TrimSpace(validation.Get("expression").AsString()));
  return std::string(message);
}

class Evaluator {
 public:
  Evaluator(const ValidatingPolicy& policy, const Attributes& attributes, const VersionedObjects& objects, const Value& params,
            const Value& ns, const cel::Authorizer& authorizer)
      : policy_(policy), attributes_(attributes), objects_(objects), params_(params), ns_(ns), authorizer_(authorizer) {}

  Judgement Judge() const {
    if (!policy_.conditions().empty()) {
      ExpressionInput input(attributes_, objects_, params_, Value(), &authorizer_);
      input.SetVariables(policy_.variables());
      MatchConditions::Answer answer = policy_.conditions().Match(input);
      if (!answer.fault.empty()) return Fault(answer.fault);
      if (!answer.matches) return {};
    }
    ExpressionOutcomes validations = Evaluate(policy_.validations(), &authorizer_, kExpressionBudget);
    if (!validations.fault.empty()) return Fault(validations.fault);
    ExpressionOutcomes messages = Evaluate(policy_.messages(), nullptr, validations.remaining);
    Judgement judgement;
    for (size_t i = 0; i < validations.outcomes.size(); ++i) Decide(i, validations, messages, judgement);
    ExpressionOutcomes notes = Evaluate(policy_.notes(), nullptr, kExpressionBudget);
    if (!notes.fault.empty()) return Fault(notes.fault);
    if (policy_.ignores_faults()) return judgement;
    for (const ExpressionOutcome& note : notes.outcomes) if (!note.error.empty()) judgement.faults.push_back(note.error);
    return judgement;
  }

 private:
  Judgement Fault(std::string message) const {
    Judgement judgement;
    if (!policy_.ignores_faults()) judgement.denials.push_back({std::move(message), {}});
    return judgement;
  }

  ExpressionOutcomes Evaluate(std::span<const TextExpression> expressions, const cel::Authorizer* authorizer, int64_t budget) const {
    // Most policies have no expressions of that sort.
    if (std::ranges::all_of(expressions, &TextExpression::placeholder)) return {{}, {}, budget};
    ExpressionInput input(attributes_, objects_, params_, ns_, authorizer);
    input.SetVariables(policy_.variables());
    return EvaluateAll(expressions, input, budget);
  }

  void Decide(size_t index, const ExpressionOutcomes& validations, const ExpressionOutcomes& messages, Judgement& judgement) const {
    const ExpressionOutcome& outcome = validations.outcomes[index];
    Value validation = policy_.spec().Get("validations").At(index);
    std::string fault = outcome.error;
    if (fault.empty() && !messages.fault.empty()) fault = "failed messageExpression: " + messages.fault;
    if (!fault.empty()) {
      if (!policy_.ignores_faults()) judgement.denials.push_back({std::move(fault), {}});
      return;
    }
    if (outcome.value.IsTrue()) return;
    const ExpressionOutcome* made = index < messages.outcomes.size() ? &messages.outcomes[index] : nullptr;
    judgement.denials.push_back({MessageFor(validation, made), validation.Get("reason").AsString("Invalid")});
  }

  const ValidatingPolicy& policy_;
  const Attributes& attributes_;
  const VersionedObjects& objects_;
  const Value& params_;
  const Value& ns_;
  const cel::Authorizer& authorizer_;
};

int CodeOf(std::string_view reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "Unauthorized") return 401;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

class ValidatingAdmissionPolicy final : public PlainPlugin {
 public:
  explicit ValidatingAdmissionPolicy(const PluginParts& parts)
      : parts_(parts),
        matcher_(parts_),
        source_(parts_, "validatingadmissionpolicies", "validatingadmissionpolicybindings",
                [](object::DocumentPtr document) { return std::make_shared<const ValidatingPolicy>(std::move(document)); }) {}
  std::string_view name() const override { return "ValidatingAdmissionPolicy"; }

  bool Handles(const Request& request) const override {
    return !IsHiddenFromPolicies(request) && !IsReviewOfRights(request) && !source_.Policies().empty();
  }

  Result<void> ValidateNow(const Request& request) override {
    const std::vector<BoundPolicy>& policies = source_.Policies();
    Attributes attributes(request, parts_.served);
    std::optional<Status> refusal;
    for (const BoundPolicy& bound : policies) TRY(Ask(bound, attributes, refusal));
    if (refusal) return Fail(*refusal);
    return {};
  }

 private:
  Result<void> Ask(const BoundPolicy& bound, Attributes& attributes, std::optional<Status>& refusal) const {
    const auto& policy = static_cast<const ValidatingPolicy&>(*bound.policy);
    PolicyMatcher::Match match = matcher_.MatchPolicy(attributes, policy);
    if (!match.fault.empty()) {
      if (!policy.ignores_faults()) Refuse(attributes, policy, nullptr, {match.fault, {}}, refusal);
      return {};
    }
    if (match.place == nullptr) return {};
    for (const PolicyBinding& binding : bound.bindings) TRY(AskFor(policy, binding, *match.place, attributes, refusal));
    return {};
  }

  Result<void> AskFor(const ValidatingPolicy& policy, const PolicyBinding& binding, const Place& place, Attributes& attributes,
                      std::optional<Status>& refusal) const {
    auto misconfigured = [&](const Status& error, std::string_view what) -> Result<void> {
      if (policy.ignores_faults()) return {};
      Refuse(attributes, policy, &binding, {"failed to configure binding: " + std::string(what) + error.message(), {}}, refusal);
      return {};
    };
    Result<bool> bound = matcher_.MatchBinding(attributes, binding);
    if (!bound) return misconfigured(bound.error(), "");
    if (!*bound) return {};
    auto parameters = matcher_.Parameters(attributes, policy, binding);
    if (!parameters) return misconfigured(parameters.error(), "");
    auto objects = attributes.In(place);
    if (!objects) return misconfigured(objects.error(), "failed to convert object version: ");
    TRY_ASSIGN(Value ns, matcher_.Namespace(attributes));
    ExpressionAuthorizer authorizer(parts_.authorizer, attributes.request().user());
    for (const PolicyParameter& parameter : *parameters) {
      Judgement judgement = Evaluator(policy, attributes, *objects, parameter.form, ns, authorizer).Judge();
      for (const Denial& denial : judgement.denials) Act(attributes, policy, binding, denial, refusal);
      for (const std::string& fault : judgement.faults) Refuse(attributes, policy, &binding, {fault, {}}, refusal);
    }
    return {};
  }

  // Does what the binding wants done. Audit: there is no audit log that could take a note of it.
  static void Act(const Attributes& attributes, const ValidatingPolicy& policy, const PolicyBinding& binding, const Denial& denial,
                  std::optional<Status>& refusal) {
    for (const Value& action : binding.spec.Get("validationActions").items()) {
      if (action.AsString() == "Deny") Refuse(attributes, policy, &binding, denial, refusal);
      std::vector<std::string>* warnings = attributes.request().context.warnings;
      if (action.AsString() != "Warn" || warnings == nullptr) continue;
      warnings->push_back("Validation failed for ValidatingAdmissionPolicy '" + std::string(policy.name()) + "' with binding '" +
                          std::string(binding.name) + "': " + denial.message);
    }
  }

  // The first refusal is the answer.
  static void Refuse(const Attributes& attributes, const ValidatingPolicy& policy, const PolicyBinding* binding, const Denial& denial,
                     std::optional<Status>& refusal) {
    if (refusal) return;
    std::string message = "ValidatingAdmissionPolicy '" + std::string(policy.name()) + "'" +
                          (binding == nullptr ? std::string() : " with binding '" + std::string(binding->name) + "'") +
                          " denied request: " + denial.message;
    Status forbidden = Forbid(attributes.request(), message);
    StatusDetails details = forbidden.details();
    details.causes.push_back({"", message, ""});
    std::string_view reason = denial.reason.empty() ? std::string_view("Invalid") : denial.reason;
    refusal = Status(CodeOf(reason), reason, forbidden.message()).WithDetails(details);
  }

  const PluginParts parts_;
  PolicyMatcher matcher_;
  mutable PolicySource source_;
};

}  // namespace

std::unique_ptr<Plugin> MakeValidatingAdmissionPolicy(const PluginParts& parts) { return std::make_unique<ValidatingAdmissionPolicy>(parts); }

}  // namespace homeostat::admission
