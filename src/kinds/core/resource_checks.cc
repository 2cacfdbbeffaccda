#include "kinds/core/resource_checks.h"

#include <algorithm>
#include <set>

#include "homeostat/object/quantity.h"
#include "kinds/core/resources.h"

namespace homeostat::kinds {
namespace {

using object::Quantity;

constexpr std::string_view kRequestsPrefix = "requests.";

Quantity Parse(std::string_view text) { return Quantity::Parse(text).value_or(Quantity()); }

bool HasPrefix(std::string_view name) { return name.find('/') != name.npos; }

void CheckPodResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  size_t before = errors.size();
  CheckResourceName(name, path, errors);
  if (errors.size() != before) return;
  if (!IsPodLevelResource(name)) errors.NotSupported(path, name, {"cpu", "hugepages-", "memory"});
}

class Requirements {
 public:
  Requirements(const Value& requirements, ResourceLevel level, const FieldPath& path, const PodRules& rules, FieldErrors& errors)
      : limits_(requirements.Get("limits")), requests_(requirements.Get("requests")), level_(level), path_(path), rules_(rules), errors_(errors) {}

  void Check() {
    FieldPath limits_path = path_.Child("limits"), requests_path = path_.Child("requests");
    for (const object::Member& limit : limits_.members()) Entry(limit, limits_path.Key(limit.name()));
    for (const object::Member& request : requests_.members()) {
      FieldPath at = requests_path.Key(request.name());
      NameAndAmount(request, at);
      AgainstLimit(request, limits_path, requests_path);
      Pages(request, at);
      Note(request.name());
    }
    if (huge_pages_ && !compute_) errors_.Forbidden(path_, "HugePages require cpu or memory");
  }

 private:
  void Entry(const object::Member& entry, const FieldPath& at) {
    NameAndAmount(entry, at);
    Pages(entry, at);
    Note(entry.name());
  }

  void NameAndAmount(const object::Member& entry, const FieldPath& at) {
    if (level_ == ResourceLevel::kContainer) {
      CheckContainerResourceName(entry.name(), at, errors_);
    } else {
      CheckPodResourceName(entry.name(), at, errors_);
    }
    CheckResourceQuantity(entry.name(), entry.value.AsString(), at, errors_);
  }

  void AgainstLimit(const object::Member& request, const FieldPath& limits_path, const FieldPath& requests_path) {
    std::string_view name = request.name();
    Value limit = limits_.Get(name);
    if (!limit) {
      if (!IsOvercommitAllowed(name)) errors_.Required(limits_path, "Limit must be set for non overcommitable resources");
      return;
    }
    Quantity asked = Parse(request.value.AsString()), most = Parse(limit.AsString());
    std::string_view relation;
    if (asked != most && !IsOvercommitAllowed(name)) {
      relation = "must be equal to ";
    } else if (asked > most) {
      relation = "must be less than or equal to ";
    }
    if (relation.empty()) return;
    errors_.Invalid(requests_path, asked.ToString(), std::string(relation) + std::string(name) + " limit of " + most.ToString());
  }

  void Pages(const object::Member& entry, const FieldPath& at) {
    if (!IsHugePages(entry.name()) || rules_.allow_indivisible_huge_pages) return;
    if (IsWholePages(entry.name(), entry.value.AsString())) return;
    std::string text = Parse(entry.value.AsString()).ToString();
    errors_.Invalid(at, text, text + " is not positive integer multiple of " + std::string(entry.name()));
  }

  void Note(std::string_view name) {
    huge_pages_ = huge_pages_ || IsHugePages(name);
    compute_ = compute_ || name == "cpu" || name == "memory";
  }

  Value limits_, requests_;
  ResourceLevel level_;
  const FieldPath& path_;
  const PodRules& rules_;
  FieldErrors& errors_;
  bool huge_pages_ = false, compute_ = false;
};

std::string UnknownClaim(std::span<const std::string_view> claims) {
  std::string text = "must be one of the names in pod.spec.resourceClaims";
  if (claims.empty()) return text + " which is empty";
  std::set<std::string_view> sorted(claims.begin(), claims.end());
  std::string joined;
  for (std::string_view claim : sorted) joined += (joined.empty() ? "" : ", ") + std::string(claim);
  return text + ": " + joined;
}

// Each claim once, or several of its requests once each.
void CheckClaims(const Value& list, std::span<const std::string_view> claims, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string> used;
  for (size_t i = 0; i < list.size(); ++i) {
    std::string name(list.At(i).Get("name").AsString()), request(list.At(i).Get("request").AsString());
    FieldPath at = path.Index(i);
    if (name.empty()) {
      errors.Required(at);
      continue;
    }
    if (used.contains(name)) {
      errors.Duplicate(at, name);
    } else {
      if (!request.empty()) CheckDns1123Label(request, at.Child("request"), errors);
      std::string key = request.empty() ? name : name + "/" + request;
      if (used.contains(key)) {
        errors.Duplicate(at, key);
      } else if (request.empty()) {
        for (const std::string& other : used) {
          if (other.starts_with(name + "/")) errors.Duplicate(at, name);
        }
      }
      used.insert(key);
    }
    if (std::ranges::find(claims, name) == claims.end()) {
      errors.Add({"FieldValueNotFound", "Not found: " + BadValue(name).text() + ": " + UnknownClaim(claims), at.String()});
    }
  }
}

void CheckAgainstContainers(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value resources = spec.Get("resources");
  for (const auto& [name, amount] : AggregateContainers(spec, "requests")) {
    Value own = resources.Get("requests").Get(name);
    if (!own || amount <= Parse(own.AsString())) continue;
    errors.Invalid(path.Child("requests").Key(name), own, "must be greater than or equal to aggregate container requests of " + amount.ToString());
  }
  for (const auto& [name, amount] : AggregateContainers(spec, "limits")) {
    Value own = resources.Get("limits").Get(name);
    if (!own || !IsHugePages(name) || amount <= Parse(own.AsString())) continue;
    errors.Invalid(path.Child("limits").Key(name), own, "must be greater than or equal to aggregate container limits of " + amount.ToString());
  }
  Value containers = spec.Get("containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    for (const object::Member& limit : containers.At(i).Get("resources").Get("limits").members()) {
      Value own = resources.Get("limits").Get(limit.name());
      if (!own || Parse(limit.value.AsString()) <= Parse(own.AsString())) continue;
      errors.Invalid(path.Child("containers").Index(i).Key(limit.name()).Child("limits"), limit.value,
                     "must be less than or equal to pod limits of " + std::string(own.AsString()));
    }
  }
}

}  // namespace

bool IsNativeResource(std::string_view name) { return !HasPrefix(name) || name.find("kubernetes.io/") != name.npos; }

bool IsExtendedResource(std::string_view name) {
  if (IsNativeResource(name) || name.starts_with(kRequestsPrefix)) return false;
  return object::IsQualifiedName(std::string(kRequestsPrefix) + std::string(name)).empty();
}

bool IsOvercommitAllowed(std::string_view name) { return IsNativeResource(name) && !IsHugePages(name); }

bool IsIntegerResource(std::string_view name) {
  static constexpr std::string_view kCounted[] = {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
                                "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
  return IsOneOf(name, kCounted) || IsExtendedResource(name);
}

bool IsStandardContainerResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || IsHugePages(name);
}

bool IsStandardQuotaResource(std::string_view name) {
  static constexpr std::string_view kStandard[] = {
      "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
      "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers",
      "secrets", "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers"};
  return IsOneOf(name, kStandard) || IsHugePages(name) || name.starts_with("requests.hugepages-");
}

bool IsStandardResource(std::string_view name) { return name == "storage" || IsStandardQuotaResource(name); }

void CheckResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  Messages messages = object::IsQualifiedName(name);
  AddInvalid(errors, path, name, messages);
  if (messages.empty() && !HasPrefix(name) && !IsStandardResource(name)) {
    errors.Invalid(path, name, "must be a standard resource type or fully qualified");
  }
}

void CheckContainerResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckResourceName(name, path, errors);
  if (!HasPrefix(name)) {
    if (!IsStandardContainerResource(name)) errors.Invalid(path, name, "must be a standard resource for containers");
  } else if (!IsNativeResource(name) && !IsExtendedResource(name)) {
    errors.Invalid(path, name, "doesn't follow extended resource name standard");
  }
}

void CheckResourceQuantity(std::string_view name, std::string_view quantity, const FieldPath& path, FieldErrors& errors) {
  Quantity amount = Parse(quantity);
  if (amount.Sign() < 0) errors.Invalid(path, amount.ToString(), kIsNegative);
  if (IsIntegerResource(name) && amount.MilliValue() % 1000 != 0) errors.Invalid(path, amount.ToString(), "must be an integer");
}

void CheckBasicQuantity(std::string_view quantity, const FieldPath& path, FieldErrors& errors) {
  int64_t value = Parse(quantity).Value();
  if (value < 0) errors.Invalid(path, value, "must be a valid resource quantity");
}

bool IsWholePages(std::string_view resource, std::string_view quantity) {
  auto page = Quantity::Parse(resource.substr(std::string_view("hugepages-").size()));
  if (!page || page->Sign() <= 0 || page->MilliValue() % 1000 != 0 || page->Value() == 0) return false;
  return Parse(quantity).Value() % page->Value() == 0;
}

void CheckResourceRequirements(const Value& requirements, ResourceLevel level, std::span<const std::string_view> claims,
                               const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  Requirements(requirements, level, path, rules, errors).Check();
  CheckClaims(requirements.Get("claims"), claims, path.Child("claims"), errors);
}

void CheckPodResources(const Value& pod_spec, std::span<const std::string_view> claims, const FieldPath& spec_path,
                       const PodRules& rules, FieldErrors& errors) {
  Value resources = pod_spec.Get("resources");
  if (!resources) return;
  FieldPath path = spec_path.Child("resources");
  if (pod_spec.Get("os").Get("name").AsString() == "windows") return errors.Forbidden(path, "may not be set for a windows pod");
  if (resources.Get("claims")) errors.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level");
  CheckResourceRequirements(resources, ResourceLevel::kPod, claims, path, rules, errors);
  CheckAgainstContainers(pod_spec, path, errors);
}

}  // namespace homeostat::kinds
