// Kinds of the group admissionregistration.k8s.io.
#pragma once

#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

extern const Behaviour kValidatingWebhookConfiguration, kMutatingWebhookConfiguration;
extern const Behaviour kValidatingAdmissionPolicy, kMutatingAdmissionPolicy;
extern const Behaviour kValidatingAdmissionPolicyBinding, kMutatingAdmissionPolicyBinding;

// Operations on resources that a webhook or policy is about.
void CheckOperationRule(const Value& rule, const FieldPath& path, FieldErrors& errors);

// The matchConditions of a webhook or policy: their names, and that they compile. params: they may name `params`.
void CheckMatchConditions(const Value& conditions, bool params, const FieldPath& path, FieldErrors& errors);

// Variables, validations and audit annotations of a ValidatingAdmissionPolicy; variables and mutations of a mutating one.
void CheckValidatingExpressions(const Value& policy, FieldErrors& errors);
void CheckMutatingExpressions(const Value& policy, FieldErrors& errors);

// Whether the writer may read what the policy's paramKind (unless it stays as it was), or the binding's paramRef, makes it read.
// Nothing is asked about an object that has other faults.
void CheckMayUseParamKind(const RuleContext& context, const Value& policy, const Value& old, FieldErrors& errors);
void CheckMayUseParamRef(const RuleContext& context, const Value& binding, FieldErrors& errors);

// Warns of a name that only configurations from files may have.
void WarnOfStaticName(RuleContext& context, Value object, Value old);

}  // namespace homeostat::kinds
