// LimitRange: bounds and defaults for what objects of a namespace may use.
// Source of the rules: ValidateLimitRange of pkg/apis/core/validation.
#include <fmt/format.h>

#include <limits>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/ids.h"
#include "homeostat/object/quantity.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/resource_checks.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

using object::Quantity;

constexpr int64_t kMaxMilliValue = std::numeric_limits<int64_t>::max() / 1000;

bool IsContainerLike(std::string_view type) { return type == "Pod" || type == "Container"; }

void CheckType(std::string_view type, const FieldPath& path, FieldErrors& errors) {
  Messages messages = object::IsQualifiedName(type);
  for (const std::string& message : messages) errors.InvalidNamed(path, type, message);
  if (messages.empty() && type.find('/') == type.npos && !IsOneOf(type, {"Pod", "Container", "PersistentVolumeClaim"})) {
    errors.InvalidNamed(path, type, "must be a standard limit type or fully qualified");
  }
}

class LimitCheck {
 public:
  LimitCheck(const Value& limit, const FieldPath& path, FieldErrors& errors)
      : limit_(limit), type_(limit.Get("type").AsString()), path_(path), errors_(errors) {}

  void Check() {
    Names("max");
    Names("min");
    for (std::string_view list : {"default", "defaultRequest"}) {
      if (type_ != "Pod") Names(list);
      else if (!limit_.Get(list).empty()) errors_.Forbidden(path_.Child(list), "may not be specified when `type` is 'Pod'");
    }
    if (type_ == "PersistentVolumeClaim" && !limit_.Get("min").Get("storage") && !limit_.Get("max").Get("storage")) {
      errors_.Required(path_.Child("limits"), "either minimum or maximum storage value is required, but neither was provided");
    }
    Names("maxLimitRequestRatio");
    for (std::string_view resource : resources_) Compare(resource);
  }

 private:
  void Names(std::string_view list) {
    for (const object::Member& entry : limit_.Get(list).members()) {
      FieldPath at = path_.Child(list).Key(entry.name());
      if (IsContainerLike(type_)) CheckContainerResourceName(entry.name(), at, errors_);
      else CheckResourceName(entry.name(), at, errors_);
      resources_.insert(entry.name());
    }
  }

  std::optional<Quantity> Find(std::string_view list, std::string_view resource) const {
    Value text = (type_ == "Pod" && list.starts_with("default")) ? Value() : limit_.Get(list).Get(resource);
    if (!text) return std::nullopt;
    return Quantity::Parse(text.AsString()).value_or(Quantity());
  }

  // `shown` under `list` is wrong because `low` is greater than `high`.
  void InOrder(std::string_view list, std::string_view resource, const Quantity& shown, std::string_view low_name, const std::optional<Quantity>& low,
               std::string_view high_name, const std::optional<Quantity>& high) {
    if (!low || !high || *low <= *high) return;
    errors_.Invalid(path_.Child(list).Key(resource), shown.ToString(),
                    fmt::format("{} value {} is greater than {} value {}", low_name, low->ToString(), high_name, high->ToString()));
  }

  void Compare(std::string_view resource) {
    auto min = Find("min", resource), max = Find("max", resource);
    auto limit = Find("default", resource), request = Find("defaultRequest", resource), ratio = Find("maxLimitRequestRatio", resource);
    InOrder("min", resource, min.value_or(Quantity()), "min", min, "max", max);
    InOrder("defaultRequest", resource, request.value_or(Quantity()), "min", min, "default request", request);
    InOrder("defaultRequest", resource, request.value_or(Quantity()), "default request", request, "max", max);
    InOrder("defaultRequest", resource, request.value_or(Quantity()), "default request", request, "default limit", limit);
    InOrder("default", resource, min.value_or(Quantity()), "min", min, "default", limit);
    InOrder("default", resource, max.value_or(Quantity()), "default", limit, "max", max);
    if (ratio) CheckRatio(resource, *ratio, min, max);
    if (!IsOvercommitAllowed(resource) && limit && request && *limit != *request) {
      errors_.Invalid(path_.Child("defaultRequest").Key(resource), request->ToString(),
                      fmt::format("default value {} must equal to defaultRequest value {} in {}", limit->ToString(), request->ToString(), resource));
    }
  }

  void CheckRatio(std::string_view resource, const Quantity& ratio, const std::optional<Quantity>& min, const std::optional<Quantity>& max) {
    FieldPath at = path_.Child("maxLimitRequestRatio").Key(resource);
    if (ratio < Quantity::Of(1)) errors_.Invalid(at, ratio.ToString(), "ratio " + ratio.ToString() + " is less than 1");
    if (!min || !max) return;
    double asked = static_cast<double>(ratio.Value()), low = static_cast<double>(min->Value()), high = static_cast<double>(max->Value());
    if (ratio.Value() < kMaxMilliValue && min->Value() < kMaxMilliValue && max->Value() < kMaxMilliValue) {
      asked = static_cast<double>(ratio.MilliValue()) / 1000;
      low = static_cast<double>(min->MilliValue());
      high = static_cast<double>(max->MilliValue());
    }
    if (asked > high / low) {
      errors_.Invalid(at, ratio.ToString(), fmt::format("ratio {} is greater than max/min = {:f}", ratio.ToString(), high / low));
    }
  }

  const Value& limit_;
  std::string_view type_;
  const FieldPath& path_;
  FieldErrors& errors_;
  std::set<std::string_view> resources_;
};

Value PrepareCreate(RuleContext& context, Value range) {
  if (range.Get("metadata").Get("name")) return range;
  return Edited(context.arena, api::core::v1::types::kLimitRange, range, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) { metadata.SetText("name", NewUuid(context.runtime)); });
  });
}

void ValidateCreate(RuleContext&, Value range, FieldErrors& errors) {
  FieldPath spec("spec");
  std::set<std::string_view> kinds;
  Value limits = range.Get("spec").Get("limits");
  for (size_t i = 0; i < limits.size(); ++i) {
    FieldPath at = spec.Child("limits").Index(i);
    Value limit = limits.At(i);
    std::string_view type = limit.Get("type").AsString();
    CheckType(type, at.Child("type"), errors);
    if (!kinds.insert(type).second) errors.Duplicate(at.Child("type"), type);
    LimitCheck(limit, at, errors).Check();
  }
}

void ValidateUpdate(RuleContext& context, Value range, Value, FieldErrors& errors) { ValidateCreate(context, range, errors); }

}  // namespace

const Behaviour kLimitRangeBehaviour = {
    .group = "",
    .kind = "LimitRange",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = PrepareCreate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
};

}  // namespace homeostat::kinds
