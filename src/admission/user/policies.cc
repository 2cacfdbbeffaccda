#include "admission/user/policies.h"

#include <algorithm>

#include "admission/admission_metrics.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::admission {
namespace {

using object::DocumentPtr;
using object::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

std::string_view NameOf(const Value& object) { return object.Path({"metadata", "name"}).AsString(); }

}  // namespace

CompiledPolicy::CompiledPolicy(DocumentPtr document)
    : document_(std::move(document)),
      spec_(document_->root().Get("spec")),
      name_(NameOf(document_->root())),
      revision_(document_->root().Path({"metadata", "resourceVersion"}).AsString()),
      ignores_faults_(spec_.Get("failurePolicy").AsString() == "Ignore"),
      environment_({.params = static_cast<bool>(spec_.Get("paramKind")), .authorizer = true}, true),
      criteria_(MatchCriteria::OfPolicy(spec_.Get("matchConstraints"))) {
  for (const Value& variable : spec_.Get("variables").items()) {
    std::string name(variable.Get("name").AsString());
    cel::PolicyExpression expression = environment_.Compile(variable.Get("expression").AsString(), {});
    environment_.AddVariable(name, expression.type);
    variables_.push_back({std::move(name), std::move(expression)});
  }
  conditions_ = MatchConditions(spec_.Get("matchConditions"), environment_, ignores_faults_);
}

cel::PolicyEnvironment CompiledPolicy::EnvironmentFor(bool authorizer, bool patch_types) const {
  return environment_.WithNames({static_cast<bool>(spec_.Get("paramKind")), authorizer, patch_types});
}

PolicyBinding::PolicyBinding(DocumentPtr given)
    : document(std::move(given)),
      name(NameOf(document->root())),
      policy(document->root().Path({"spec", "policyName"}).AsString()),
      spec(document->root().Get("spec")) {
  if (Value match = spec.Get("matchResources")) criteria = MatchCriteria::OfPolicy(match);
}

PolicySource::PolicySource(const PluginParts& parts, std::string_view policies, std::string_view bindings, Compile compile)
    : objects_(parts.objects), policies_plural_(policies), bindings_plural_(bindings), compile_(std::move(compile)), changes_(parts, {policies, bindings}) {}

std::shared_ptr<const std::vector<BoundPolicy>> PolicySource::Policies() {
  if (changes_.Take()) Refresh();
  return policies_;
}

void PolicySource::Refresh() {
  auto policies = std::make_shared<std::vector<BoundPolicy>>();
  std::shared_ptr<const std::vector<BoundPolicy>> before = std::exchange(policies_, policies);
  std::vector<DocumentPtr> bindings = objects_.List(kGroup, bindings_plural_, "");
  if (bindings.empty()) return;
  for (const DocumentPtr& document : objects_.List(kGroup, policies_plural_, "")) {
    BoundPolicy bound;
    for (const DocumentPtr& binding : bindings) {
      if (binding->root().Path({"spec", "policyName"}).AsString() == NameOf(document->root())) bound.bindings.emplace_back(binding);
    }
    if (bound.bindings.empty()) continue;
    std::string_view revision = document->root().Path({"metadata", "resourceVersion"}).AsString();
    auto known = std::ranges::find_if(*before, [&](const BoundPolicy& old) {
      return !revision.empty() && old.policy->name() == NameOf(document->root()) && old.policy->revision() == revision;
    });
    bound.policy = known == before->end() ? compile_(document) : known->policy;
    policies->push_back(std::move(bound));
  }
  std::ranges::sort(*policies, {}, [](const BoundPolicy& bound) { return bound.policy->name(); });
  for (BoundPolicy& bound : *policies) std::ranges::sort(bound.bindings, {}, &PolicyBinding::name);
}

PolicyMatcher::Match PolicyMatcher::MatchPolicy(Attributes& attributes, const CompiledPolicy& policy) const {
  auto place = policy.criteria().Match(attributes, parts_.objects);
  if (!place) return {nullptr, "failed to configure policy: " + place.error().message()};
  Value kind = policy.spec().Get("paramKind");
  if (*place == nullptr || !kind || ParamKind(kind) != nullptr) return {*place, {}};
  auto [group, version] = schema::ParseApiVersion(kind.Get("apiVersion").AsString());
  return {*place, "failed to configure policy: failed to find resource referenced by paramKind: '" +
                      schema::KindText(group, version, kind.Get("kind").AsString()) + "'"};
}

Result<bool> PolicyMatcher::MatchBinding(Attributes& attributes, const PolicyBinding& binding) const {
  if (!binding.criteria) return true;
  TRY_ASSIGN(const Place* place, binding.criteria->Match(attributes, parts_.objects));
  return place != nullptr;
}

const schema::Kind* PolicyMatcher::ParamKind(const Value& kind) const {
  auto [group, version] = schema::ParseApiVersion(kind.Get("apiVersion").AsString());
  const schema::Kind* found = parts_.find_kind(group, version, kind.Get("kind").AsString());
  return found == nullptr || found->plural.empty() ? nullptr : found;
}

const schema::Kind& PolicyMatcher::StoredKind(const Attributes& attributes, const schema::Kind& kind) const {
  if (kind.gvk.version == kind.storage_version) return kind;
  const schema::Kind* stored = &kind;
  for (const schema::Kind* other : parts_.served.SharingStore(attributes.request().arena(), kind)) {
    if (other->gvk.version == kind.storage_version && other->gvk.group == kind.gvk.group) stored = other;
  }
  return *stored;
}

Task<MatchConditions::Answer> PolicyMatcher::Meets(const Attributes& attributes, const CompiledPolicy& policy, VersionedObjects objects,
                                                   Value params) const {
  ExpressionAuthorizer authorizer(parts_.authorizer, attributes.request().user());
  ExpressionInput input(attributes, objects, params, Value(), &authorizer);
  input.SetVariables(policy.variables());
  MonotonicTime start = parts_.runtime.Now();
  auto match = policy.conditions().Match(input);
  MatchConditions::Answer answer = co_await std::move(match);
  if (parts_.metrics != nullptr && !answer.matches) {
    parts_.metrics->ConditionsEvaluated({policy.name(), "policy", "validate", attributes.request().operation}, answer.faults,
                                        parts_.runtime.Now() - start);
  }
  co_return answer;
}

Task<Result<PolicyParameter>> PolicyMatcher::Parameter(const Attributes& attributes, const schema::Kind& stored, const schema::Kind& kind,
                                                       DocumentPtr found) const {
  object::Arena& arena = attributes.request().arena();
  arena.Keep(found);
  auto convert = parts_.served.ConvertElsewhere(arena, found->root(), stored, kind);
  CO_TRY_ASSIGN(Value value, co_await std::move(convert));
  Value metadata = value.Get("metadata");
  co_return PolicyParameter{JsonFormOf(arena, *kind.type, kind.gvk, value), metadata.Get("namespace").AsString(), metadata.Get("name").AsString()};
}

Task<Result<std::vector<PolicyParameter>>> PolicyMatcher::Parameters(const Attributes& attributes, const CompiledPolicy& policy,
                                                                     const PolicyBinding& binding) const {
  Value kind_name = policy.spec().Get("paramKind"), reference = binding.spec.Get("paramRef");
  if (!kind_name || !reference) co_return std::vector<PolicyParameter>(1);
  const schema::Kind* kind = ParamKind(kind_name);
  if (kind == nullptr) co_return Fail(InternalError("the kind of the parameters is gone"));  // MatchPolicy has looked
  std::string_view asked_ns = reference.Get("namespace").AsString(), ns = kind->namespaced ? asked_ns : std::string_view();
  if (kind->namespaced && ns.empty()) ns = attributes.ns();
  auto fault = [](std::string_view text) { return Fail(SystemError(text)); };
  if (kind->namespaced && ns.empty()) co_return fault("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  if (!kind->namespaced && !asked_ns.empty()) co_return fault("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  const schema::Kind& stored = StoredKind(attributes, *kind);
  std::vector<DocumentPtr> objects;
  std::string_view name = reference.Get("name").AsString();
  if (!name.empty()) {
    if (DocumentPtr found = parts_.objects.Get(kind->gvk.group, kind->plural, ns, name)) objects.push_back(std::move(found));
  } else {
    CO_TRY_ASSIGN(object::LabelSelector selector, object::LabelSelector::FromLabelSelector(reference.Get("selector")));
    objects = parts_.objects.List(kind->gvk.group, kind->plural, ns);
    std::erase_if(objects, [&](const DocumentPtr& found) { return !selector.Matches(found->root().Path({"metadata", "labels"})); });
  }
  if (objects.empty() && reference.Get("parameterNotFoundAction").AsString() == "Deny") {
    co_return fault("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  std::vector<PolicyParameter> parameters;
  for (DocumentPtr& found : objects) {
    auto make = Parameter(attributes, stored, *kind, std::move(found));
    CO_TRY_ASSIGN(PolicyParameter parameter, co_await std::move(make));
    parameters.push_back(parameter);
  }
  co_return parameters;
}

Result<Value> PolicyMatcher::Namespace(const Attributes& attributes) const {
  if (attributes.ns().empty() || attributes.is_namespace_object()) return Value();
  DocumentPtr ns = parts_.objects.Get("", "namespaces", "", attributes.ns());
  if (!ns) return Fail(NotFoundError("", "namespaces", attributes.ns()));
  attributes.request().arena().Keep(ns);
  return NamespaceValue(attributes.request().arena(), ns->root());
}

}  // namespace homeostat::admission
