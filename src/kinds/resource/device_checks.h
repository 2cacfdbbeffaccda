// Checks that the kinds of resource.k8s.io share: names of drivers, pools and devices, requests, configurations, taints.
// Source of the rules: pkg/apis/resource/validation.
#pragma once

#include <set>
#include <string_view>

#include "kinds/group_checks.h"

namespace homeostat::kinds {

// The longest lists; upstream looks no further into a list that is longer.
inline constexpr size_t kMaxDeviceRequests = 32, kMaxDeviceConstraints = 32, kMaxDeviceConfigs = 32;

// TooMany if the list is too long, else the check of each item.
template <class CheckItem>
void CheckItems(const Value& list, size_t limit, const FieldPath& path, FieldErrors& errors, CheckItem check) {
  if (list.size() > limit) return errors.TooMany(path, list.size(), static_cast<int64_t>(limit));
  for (size_t i = 0; i < list.size(); ++i) check(list.At(i), path.Index(i));
}

// The same of a list whose items have keys (texts), which must differ.
template <class CheckItem, class KeyOf>
void CheckKeyedItems(const Value& list, size_t limit, const FieldPath& path, FieldErrors& errors, CheckItem check, KeyOf key_of) {
  CheckItems(list, limit, path, errors, check);
  if (list.size() > limit) return;
  std::set<std::string_view> keys;
  for (size_t i = 0; i < list.size(); ++i) {
    std::string_view key = key_of(list.At(i));
    if (!keys.insert(key).second) errors.Duplicate(path.Index(i), key);
  }
}

void CheckPoolName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckUid(std::string_view uid, const FieldPath& path, FieldErrors& errors);
// A C identifier that a domain may stand before: example.com/memory.
void CheckDeviceQualifiedName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckDeviceSelectors(const Value& selectors, const FieldPath& path, FieldErrors& errors);
// The part of a configuration that classes and claims have alike.
void CheckDeviceConfiguration(const Value& config, const FieldPath& path, FieldErrors& errors);
// A JSON object of at most so many bytes.
void CheckRawObject(const Value& raw, size_t limit, const FieldPath& path, FieldErrors& errors);
void CheckDeviceTaint(const Value& taint, const FieldPath& path, FieldErrors& errors);
void CheckDeviceToleration(const Value& toleration, const FieldPath& path, FieldErrors& errors);
void CheckBindingConditions(const Value& holder, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
