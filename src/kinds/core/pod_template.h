// Checks of pods' specs and of templates that pods are made from: for Pod itself and for every kind that holds a template.
#pragma once

#include <string_view>
#include <vector>

#include "kinds/behaviour.h"
#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

// A spec. metadata: of the pod, or absent for a template (whose pods have no name yet).
void CheckPodSpec(const Value& spec, const Value& metadata, const FieldPath& path, const PodRules& rules, FieldErrors& errors);

// A template: its labels, annotations and spec. old: the template as it is stored, absent when new.
void CheckPodTemplateSpec(const Value& pod_template, const Value& old, const FieldPath& path, FieldErrors& errors);

// Annotations that have a meaning for pods.
void CheckPodAnnotations(const Value& annotations, const Value& spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors);

// A 32-bit integer, as the annotation that ranks pods for deletion holds it.
bool IsDeletionCost(std::string_view text);

// Warnings about a template, for kinds that hold one. old: absent when new.
void WarnOfPodTemplate(const Value& pod_template, const Value& old, const FieldPath& path, std::vector<std::string>& warnings);

}  // namespace homeostat::kinds
