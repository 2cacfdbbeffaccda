// ValidatingAdmissionPolicy: what policies and their bindings say of a write, with all their expressions may name.
// Source of the rules and texts: apiserver's admission/plugin/policy/validating.
#include <algorithm>

#include "admission/admission_metrics.h"
#include "admission/user/policies.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "kinds/audit_annotations.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr size_t kMaxMessageSize = 5 * 1024, kMaxNoteSize = 10 * 1024;

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
  std::string_view reason;   // of the status; "" for what can't be evaluated
  size_t index = 0;          // of the validation
  bool let_through = false;  // a fault that the policy passes over
};

// What one policy says with one parameter.
struct Judgement {
  std::vector<Denial> denials;        // subject to the binding's actions
  std::vector<std::string> faults;    // of audit annotations: always refused
  std::vector<std::pair<std::string_view, std::string>> notes;  // audit annotations, with the keys that the policy gives them
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

// Everything it is given outlives it and its tasks.
class Evaluator {
 public:
  Evaluator(const PolicyMatcher& matcher, const ValidatingPolicy& policy, const Attributes& attributes, const VersionedObjects& objects,
            const Value& params, const Value& ns, const cel::Authorizer& authorizer)
      : matcher_(matcher), policy_(policy), attributes_(attributes), objects_(objects), params_(params), ns_(ns), authorizer_(authorizer) {}

  Task<Judgement> Judge() const {
    if (!policy_.conditions().empty()) {
      auto check = matcher_.Meets(attributes_, policy_, objects_, params_);
      MatchConditions::Answer answer = co_await std::move(check);
      if (!answer.fault.empty()) co_return Fault(answer.fault);
      if (!answer.matches) co_return Judgement();
    }
    auto validate = Evaluate(policy_.validations(), &authorizer_, kExpressionBudget);
    ExpressionOutcomes validations = co_await std::move(validate);
    if (!validations.fault.empty()) co_return Fault(validations.fault);
    auto word = Evaluate(policy_.messages(), nullptr, validations.remaining);
    ExpressionOutcomes messages = co_await std::move(word);
    Judgement judgement;
    for (size_t i = 0; i < validations.outcomes.size(); ++i) Decide(i, validations, messages, judgement);
    auto annotate = Evaluate(policy_.notes(), nullptr, kExpressionBudget);
    ExpressionOutcomes notes = co_await std::move(annotate);
    if (!notes.fault.empty()) co_return Fault(notes.fault);
    for (size_t i = 0; i < notes.outcomes.size(); ++i) Note(i, notes.outcomes[i], judgement);
    co_return judgement;
  }

 private:
  Judgement Fault(std::string message) const {
    Judgement judgement;
    judgement.denials.push_back({std::move(message), {}, 0, policy_.ignores_faults()});
    return judgement;
  }

  Task<ExpressionOutcomes> Evaluate(std::span<const TextExpression> expressions, const cel::Authorizer* authorizer, int64_t budget) const {
    // Most policies have no expressions of that sort.
    if (std::ranges::all_of(expressions, &TextExpression::placeholder)) co_return ExpressionOutcomes{{}, {}, budget};
    ExpressionInput input(attributes_, objects_, params_, ns_, authorizer);
    input.SetVariables(policy_.variables());
    auto evaluate = EvaluateAll(expressions, input, budget);
    co_return co_await std::move(evaluate);
  }

  void Decide(size_t index, const ExpressionOutcomes& validations, const ExpressionOutcomes& messages, Judgement& judgement) const {
    const ExpressionOutcome& outcome = validations.outcomes[index];
    Value validation = policy_.spec().Get("validations").At(index);
    std::string fault = outcome.error;
    if (fault.empty() && !messages.fault.empty()) fault = "failed messageExpression: " + messages.fault;
    if (!fault.empty()) {
      judgement.denials.push_back({std::move(fault), {}, index, policy_.ignores_faults()});
      return;
    }
    if (outcome.value.IsTrue()) return;
    const ExpressionOutcome* made = index < messages.outcomes.size() ? &messages.outcomes[index] : nullptr;
    judgement.denials.push_back({MessageFor(validation, made), validation.Get("reason").AsString("Invalid"), index});
  }

  void Note(size_t index, const ExpressionOutcome& outcome, Judgement& judgement) const {
    if (!outcome.error.empty()) {
      if (!policy_.ignores_faults()) judgement.faults.push_back(outcome.error);
      return;
    }
    std::string_view text = outcome.value.IsString() ? TrimSpace(outcome.value.text()) : std::string_view();
    if (text.empty()) return;
    judgement.notes.emplace_back(policy_.spec().Get("auditAnnotations").At(index).Get("key").AsString(), text.substr(0, kMaxNoteSize));
  }

  const PolicyMatcher& matcher_;
  const ValidatingPolicy& policy_;
  const Attributes& attributes_;
  const VersionedObjects& objects_;
  const Value& params_;
  const Value& ns_;
  const cel::Authorizer& authorizer_;
};

// The audit annotations of one policy for one request: what its bindings and parameters make of a key stands side by side.
class Notes {
 public:
  void Add(std::string_view key, std::string value) {
    std::vector<std::string>& values = by_key_[key];
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  }
  void WriteTo(kinds::AuditAnnotations* annotations, std::string_view policy) const {
    if (annotations == nullptr) return;
    for (const auto& [key, values] : by_key_) {
      std::string joined;
      for (const std::string& value : values) joined.append(joined.empty() ? "" : ", ").append(value);
      annotations->Add(std::string(policy) + "/" + std::string(key), joined);
    }
  }

 private:
  std::map<std::string_view, std::vector<std::string>> by_key_;
};

int CodeOf(std::string_view reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "Unauthorized") return 401;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

class ValidatingAdmissionPolicy final : public Plugin {
 public:
  explicit ValidatingAdmissionPolicy(const PluginParts& parts)
      : parts_(parts),
        matcher_(parts_),
        source_(parts_, "validatingadmissionpolicies", "validatingadmissionpolicybindings",
                [](object::DocumentPtr document) { return std::make_shared<const ValidatingPolicy>(std::move(document)); }) {}
  std::string_view name() const override { return "ValidatingAdmissionPolicy"; }

  bool Handles(const Request& request) const override {
    return !IsHiddenFromPolicies(request) && !IsReviewOfRights(request) && !source_.Policies()->empty();
  }

  Task<Result<void>> Validate(const Request& request) override {
    auto policies = source_.Policies();
    Attributes attributes(request, parts_.served);
    std::optional<Status> refusal;
    std::optional<Value> ns;  // as PolicyMatcher gives it, once a binding needs it
    for (const BoundPolicy& bound : *policies) {
      const auto& policy = static_cast<const ValidatingPolicy&>(*bound.policy);
      PolicyMatcher::Match match = matcher_.MatchPolicy(attributes, policy);
      if (!match.fault.empty()) {
        if (!policy.ignores_faults()) Refuse(attributes, policy, nullptr, {match.fault, {}}, refusal);
      } else if (match.place != nullptr) {
        auto ask = Ask(policy, bound.bindings, *match.place, attributes, ns, refusal);
        CO_TRY(co_await std::move(ask));
      }
    }
    if (refusal) co_return Fail(*refusal);
    co_return Done();
  }

 private:
  Task<Result<void>> Ask(const ValidatingPolicy& policy, std::span<const PolicyBinding> bindings, const Place& place, Attributes& attributes,
                         std::optional<Value>& ns, std::optional<Status>& refusal) const {
    Notes notes;
    for (const PolicyBinding& binding : bindings) {
      auto misconfigured = [&](const Status& error, std::string_view what) {
        if (policy.ignores_faults()) return;
        Refuse(attributes, policy, &binding, {"failed to configure binding: " + std::string(what) + error.message(), {}}, refusal);
      };
      Result<bool> bound = matcher_.MatchBinding(attributes, binding);
      if (!bound) misconfigured(bound.error(), "");
      if (!bound || !*bound) continue;
      auto find = matcher_.Parameters(attributes, policy, binding);
      auto parameters = co_await std::move(find);
      if (!parameters) {
        misconfigured(parameters.error(), "");
        continue;
      }
      auto prepare = attributes.Prepare(place);
      auto prepared = co_await std::move(prepare);
      auto objects = prepared ? attributes.In(place) : Result<VersionedObjects>(Fail(prepared.error()));
      if (!objects) {
        misconfigured(objects.error(), "failed to convert object version: ");
        continue;
      }
      if (!ns) {
        CO_TRY_ASSIGN(ns, matcher_.Namespace(attributes));
      }
      ExpressionAuthorizer authorizer(parts_.authorizer, attributes.request().user());
      for (const PolicyParameter& parameter : *parameters) {
        MonotonicTime start = parts_.runtime.Now();
        Evaluator evaluator(matcher_, policy, attributes, *objects, parameter.form, *ns, authorizer);
        auto judge = evaluator.Judge();
        Judgement judgement = co_await std::move(judge);
        Duration took = parts_.runtime.Now() - start;
        for (const Denial& denial : judgement.denials) Act(attributes, policy, binding, denial, took, refusal);
        for (auto& [key, value] : judgement.notes) notes.Add(key, std::move(value));
        for (const std::string& fault : judgement.faults) {
          Count(policy, binding, ErrorTypeOf(fault), "deny", took);
          Refuse(attributes, policy, &binding, {fault, {}}, refusal);
        }
      }
    }
    notes.WriteTo(attributes.request().context.annotations, policy.name());
    co_return Done();
  }

  void Count(const ValidatingPolicy& policy, const PolicyBinding& binding, std::string_view error, std::string_view action, Duration took) const {
    if (parts_.metrics != nullptr) parts_.metrics->ValidatingPolicyDecided(policy.name(), binding.name, error, action, took);
  }

  // Does what the binding wants done.
  void Act(const Attributes& attributes, const ValidatingPolicy& policy, const PolicyBinding& binding, const Denial& denial, Duration took,
           std::optional<Status>& refusal) const {
    std::string_view error = ErrorTypeOf(denial.reason.empty() ? std::string_view(denial.message) : std::string_view());
    if (denial.let_through) return Count(policy, binding, error, "allow", took);
    const kinds::RuleContext& context = attributes.request().context;
    for (const Value& action : binding.spec.Get("validationActions").items()) {
      if (action.AsString() == "Deny") {
        Refuse(attributes, policy, &binding, denial, refusal);
        Count(policy, binding, error, "deny", took);
      } else if (action.AsString() == "Audit") {
        if (context.annotations != nullptr) {
          context.annotations->Add("validation.policy.admission.k8s.io/validation_failure", FailureText(policy, binding, denial));
        }
        Count(policy, binding, error, "audit", took);
      } else if (action.AsString() == "Warn") {
        if (context.warnings != nullptr) {
          context.warnings->push_back("Validation failed for ValidatingAdmissionPolicy '" + std::string(policy.name()) + "' with binding '" +
                                      std::string(binding.name) + "': " + denial.message);
        }
        Count(policy, binding, error, "warn", took);
      }
    }
  }

  // What the audit log says of a validation that failed.
  static std::string FailureText(const ValidatingPolicy& policy, const PolicyBinding& binding, const Denial& denial) {
    object::Arena arena;
    object::ObjectBuilder failure(arena);
    failure.Append("message", Value::StringRef(denial.message));
    failure.Append("policy", Value::StringRef(policy.name()));
    failure.Append("binding", Value::StringRef(binding.name));
    failure.Append("expressionIndex", Value::Int(static_cast<int64_t>(denial.index)));
    failure.Append("validationActions", binding.spec.Get("validationActions"));
    return "[" + object::JsonText(failure.Build()) + "]";
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
