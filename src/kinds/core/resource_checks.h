// Checks of resources: names, amounts, requests and limits.
// Source of the rules: pkg/apis/core/helper and pkg/apis/core/validation.
#pragma once

#include <span>
#include <string_view>

#include "kinds/checks.h"
#include "kinds/core/pod_rules.h"

namespace homeostat::kinds {

// Not of a vendor: no prefix, or Kubernetes' own.
bool IsNativeResource(std::string_view name);
// example.com/gpu: counted in whole numbers, requested as much as limited.
bool IsExtendedResource(std::string_view name);
bool IsOvercommitAllowed(std::string_view name);
bool IsIntegerResource(std::string_view name);
bool IsStandardResource(std::string_view name);
bool IsStandardContainerResource(std::string_view name);
bool IsStandardQuotaResource(std::string_view name);

// A qualified name, and a known one if it has no prefix.
void CheckResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckContainerResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// Not negative, and whole if the resource is counted.
void CheckResourceQuantity(std::string_view name, std::string_view quantity, const FieldPath& path, FieldErrors& errors);
// Not negative as a whole number.
void CheckBasicQuantity(std::string_view quantity, const FieldPath& path, FieldErrors& errors);

// Requests, limits and claims of a container, or of a whole pod. claims: names of the pod's resourceClaims.
enum class ResourceLevel : uint8_t { kContainer, kPod };
void CheckResourceRequirements(const Value& requirements, ResourceLevel level, std::span<const std::string_view> claims,
                               const FieldPath& path, const PodRules& rules, FieldErrors& errors);
// Pod-level resources against those of the containers.
void CheckPodResources(const Value& pod_spec, std::span<const std::string_view> claims, const FieldPath& spec_path,
                       const PodRules& rules, FieldErrors& errors);

// 2Mi of hugepages-2Mi in whole pages.
bool IsWholePages(std::string_view resource, std::string_view quantity);

}  // namespace homeostat::kinds
