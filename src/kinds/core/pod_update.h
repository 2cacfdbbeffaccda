// What may change in a pod, by the way it is written.
#pragma once

#include "kinds/behaviour.h"
#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

// Everything that a new pod's metadata and spec must satisfy, and again after each change of the spec.
void CheckPodMetadataAndSpec(const Value& pod, const PodRules& rules, FieldErrors& errors);

void CheckPodUpdate(RuleContext& context, const Value& pod, const Value& old, FieldErrors& errors);
void CheckPodStatusUpdate(const Value& pod, const Value& old, FieldErrors& errors);
void CheckPodEphemeralContainersUpdate(const Value& pod, const Value& old, FieldErrors& errors);
void CheckPodResize(RuleContext& context, const Value& pod, const Value& old, FieldErrors& errors);
void CheckPodAnnotationUpdate(const Value& pod, const Value& old, FieldErrors& errors);

}  // namespace homeostat::kinds
