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

// Warns of a name that only configurations from files may have.
void WarnOfStaticName(RuleContext& context, Value object, Value old);

}  // namespace homeostat::kinds
