// MutatingAdmissionPolicy: what policies and their bindings make of a write.
// Source of the rules and texts: apiserver's admission/plugin/policy/{generic,mutating}.
#include "admission/admission_metrics.h"
#include "admission/user/mutations.h"
#include "admission/user/policies.h"

namespace homeostat::admission {
namespace {

using object::Value;

class MutatingPolicy final : public CompiledPolicy {
 public:
  explicit MutatingPolicy(object::DocumentPtr document) : CompiledPolicy(std::move(document)) {
    static const cel::Type kObject[] = {cel::Type::Struct("Object")}, kPatches[] = {cel::Type::List(cel::Type::Struct("JSONPatch"))};
    cel::PolicyEnvironment environment = EnvironmentFor(true, true);
    for (const Value& mutation : spec().Get("mutations").items()) {
      bool json_patch = mutation.Get("patchType").AsString() == "JSONPatch";
      std::string_view text = mutation.Get(json_patch ? "jsonPatch" : "applyConfiguration").Get("expression").AsString();
      mutations_.push_back({json_patch, {text, environment.Compile(text, json_patch ? kPatches : kObject), false}});
    }
  }

  const std::vector<Mutation>& mutations() const { return mutations_; }
  bool may_be_repeated() const { return spec().Get("reinvocationPolicy").AsString() == "IfNeeded"; }

 private:
  std::vector<Mutation> mutations_;
};

// One policy with one binding and one parameter, for one request.
struct Invocation {
  const MutatingPolicy& policy;
  const PolicyBinding& binding;
  const Place& place;
  PolicyParameter parameter;

  std::string Key() const {
    auto text = [](std::string_view view) { return std::string(view); };
    return text(policy.name()) + "/" + text(binding.name) + "/" + text(parameter.ns) + "/" + text(parameter.name);
  }
};

// What is wrong, in the order in which it was found; the first is the answer, all are its causes.
class Faults {
 public:
  explicit Faults(const Request& request) : request_(request) {}

  void Add(const MutatingPolicy& policy, const PolicyBinding* binding, std::string_view why, std::string_view reason) {
    if (policy.ignores_faults()) return;
    std::string message = binding == nullptr ? "policy \"" + std::string(policy.name()) + "\""
                                             : "policy '" + std::string(policy.name()) + "' with binding '" + std::string(binding->name) + "'";
    message += " denied request: " + std::string(why);
    if (messages_.empty()) reason_ = reason;
    messages_.push_back(std::move(message));
  }

  Result<void> Answer() const {
    if (messages_.empty()) return {};
    Status forbidden = Forbid(request_, "admission request denied by policy");
    StatusDetails details = forbidden.details();
    for (const std::string& message : messages_) details.causes.push_back({"", message, ""});
    return Fail(Status(forbidden.code(), reason_.empty() ? forbidden.reason() : reason_, messages_.front()).WithDetails(details));
  }

 private:
  const Request& request_;
  std::vector<std::string> messages_;
  std::string reason_;
};

class MutatingAdmissionPolicy final : public Plugin {
 public:
  explicit MutatingAdmissionPolicy(const PluginParts& parts)
      : parts_(parts),
        matcher_(parts_),
        source_(parts_, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
                [](object::DocumentPtr document) { return std::make_shared<const MutatingPolicy>(std::move(document)); }) {}
  std::string_view name() const override { return "MutatingAdmissionPolicy"; }

  // There is nothing to change in what is deleted.
  bool Handles(const Request& request) const override {
    return request.operation != Operation::kDelete && !IsHiddenFromPolicies(request) && !IsReviewOfRights(request) &&
           !source_.Policies()->empty();
  }

  Task<Result<Value>> Mutate(const Request& request) override {
    auto policies = source_.Policies();
    Attributes attributes(request, parts_.served);
    Faults faults(request);
    std::vector<Invocation> invocations;
    for (const BoundPolicy& bound : *policies) {
      const auto& policy = static_cast<const MutatingPolicy&>(*bound.policy);
      PolicyMatcher::Match match = matcher_.MatchPolicy(attributes, policy);
      if (!match.fault.empty()) {
        faults.Add(policy, nullptr, match.fault, "");
      } else if (match.place != nullptr) {
        auto collect = Collect(policy, bound.bindings, *match.place, attributes, faults, invocations);
        co_await std::move(collect);
      }
    }
    Value object = request.object;
    if (!invocations.empty()) {
      auto run = Run(attributes, invocations, faults);
      CO_TRY_ASSIGN(object, co_await std::move(run));
    }
    CO_TRY(faults.Answer());
    co_return object;
  }

 private:
  Task<void> Collect(const MutatingPolicy& policy, std::span<const PolicyBinding> bindings, const Place& place, Attributes& attributes,
                     Faults& faults, std::vector<Invocation>& invocations) const {
    for (const PolicyBinding& binding : bindings) {
      auto misconfigured = [&](const Status& error) { faults.Add(policy, &binding, "failed to configure binding: " + error.message(), ""); };
      Result<bool> about = matcher_.MatchBinding(attributes, binding);
      if (!about) misconfigured(about.error());
      if (!about || !*about) continue;
      auto prepare = attributes.Prepare(place);
      auto prepared = co_await std::move(prepare);
      auto objects = prepared ? attributes.In(place) : Result<VersionedObjects>(Fail(prepared.error()));
      if (!objects) {
        faults.Add(policy, nullptr, "failed to configure policy: " + objects.error().message(), "");
        continue;
      }
      auto find = matcher_.Parameters(attributes, policy, binding);
      auto parameters = co_await std::move(find);
      if (!parameters) {
        misconfigured(parameters.error());
        continue;
      }
      for (const PolicyParameter& parameter : *parameters) invocations.push_back({policy, binding, place, parameter});
    }
  }

  // Runs them in order; the object as the last one left it.
  Task<Result<Value>> Run(Attributes& attributes, std::span<const Invocation> invocations, Faults& faults) const {
    const Request& request = attributes.request();
    Reinvocation alone;
    Reinvocation& reinvocation = request.reinvocation != nullptr ? *request.reinvocation : alone;
    Reinvocation::Repetition& repetition = reinvocation.of_plugins[name()];
    // What others changed since, all policies that may be repeated have not seen.
    if (reinvocation.is_repeated && !object::Equal(repetition.last_output, request.object)) repetition.Require();
    CO_TRY_ASSIGN(Value ns, matcher_.Namespace(attributes));
    const Place* last = nullptr;
    bool changed = false;
    for (const Invocation& invocation : invocations) {
      auto invoke = Invoke(attributes, invocation, ns, reinvocation, repetition, faults, changed);
      CO_TRY_ASSIGN(bool ran, co_await std::move(invoke));
      if (ran) last = &invocation.place;
    }
    Value object = request.object;
    if (changed && last != nullptr) {
      CO_TRY_ASSIGN(VersionedObjects objects, attributes.In(*last));
      auto convert = FromPlace(attributes, *last, objects.object);
      auto typed = co_await std::move(convert);
      if (!typed) co_return Fail(InternalError("failed to convert object: " + typed.error().message()));
      object = *typed;
      repetition.Require();
      reinvocation.asked_for = true;
    }
    repetition.last_output = object;
    co_return object;
  }

  // False: its conditions don't hold, or it is not to be repeated.
  Task<Result<bool>> Invoke(Attributes& attributes, const Invocation& invocation, Value ns, Reinvocation& reinvocation,
                            Reinvocation::Repetition& repetition, Faults& faults, bool& changed) const {
    const MutatingPolicy& policy = invocation.policy;
    CO_TRY_ASSIGN(VersionedObjects before, attributes.In(invocation.place));
    if (!policy.conditions().empty()) {
      auto check = matcher_.Meets(attributes, policy, before, invocation.parameter.form);
      MatchConditions::Answer answer = co_await std::move(check);
      if (!answer.fault.empty()) faults.Add(policy, &invocation.binding, answer.fault, "Invalid");
      if (!answer.matches) co_return false;
    }
    std::string key = invocation.Key();
    if (reinvocation.is_repeated && !repetition.again.contains(key)) co_return false;
    for (const Mutation& mutation : policy.mutations()) {
      auto apply = Apply(attributes, invocation, ns, mutation, faults);
      CO_TRY_ASSIGN(bool applied, co_await std::move(apply));
      changed = changed || applied;
    }
    CO_TRY_ASSIGN(VersionedObjects after, attributes.In(invocation.place));
    if (!object::Equal(before.object, after.object)) {
      repetition.Require();
      reinvocation.asked_for = true;
    }
    if (policy.may_be_repeated()) repetition.asked.insert(std::move(key));
    co_return true;
  }

  // Whether the mutation made an object.
  Task<Result<bool>> Apply(Attributes& attributes, const Invocation& invocation, Value ns, const Mutation& mutation, Faults& faults) const {
    CO_TRY_ASSIGN(VersionedObjects objects, attributes.In(invocation.place));
    if (!objects.object) co_return false;
    MonotonicTime start = parts_.runtime.Now();
    ExpressionAuthorizer authorizer(parts_.authorizer, attributes.request().user());
    ExpressionInput input(attributes, objects, invocation.parameter.form, ns, &authorizer);
    input.SetVariables(invocation.policy.variables());
    auto mutate = ApplyMutation(mutation, attributes, invocation.place, objects.object, input);
    auto mutated = co_await std::move(mutate);
    if (parts_.metrics != nullptr) {
      std::string_view error = ErrorTypeOf(mutated ? std::string_view() : std::string_view(mutated.error().status.message()));
      parts_.metrics->MutatingPolicyApplied(invocation.policy.name(), invocation.binding.name, error, parts_.runtime.Now() - start);
    }
    if (!mutated && mutated.error().final) co_return Fail(mutated.error().status);
    if (!mutated) {
      faults.Add(invocation.policy, &invocation.binding, mutated.error().status.message(), "Invalid");
      co_return false;
    }
    attributes.SetObject(invocation.place, *mutated);
    co_return true;
  }

  const PluginParts parts_;
  PolicyMatcher matcher_;
  mutable PolicySource source_;
};

}  // namespace

std::unique_ptr<Plugin> MakeMutatingAdmissionPolicy(const PluginParts& parts) { return std::make_unique<MutatingAdmissionPolicy>(parts); }

}  // namespace homeostat::admission
