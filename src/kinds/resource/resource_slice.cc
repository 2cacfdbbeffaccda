// ResourceSlice: the devices that a driver offers. Source of the rules: pkg/apis/resource/validation.
#include <algorithm>
#include <string>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/resource/v1.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/diff.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/volumes.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"
#include "kinds/resource/device_checks.h"
#include "kinds/resource/resource.h"
#include "kinds/write_helpers.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::resource::v1;
using object::Quantity;

constexpr size_t kMaxDevices = 128, kMaxAdvancedDevices = 64, kMaxCounterSets = 8, kMaxCounters = 32, kMaxConsumptions = 2;
constexpr size_t kMaxAttributes = 32, kMaxAttributeValues = 48, kMaxTaints = 16, kMaxOptions = 10, kMaxKey = 63 + 1 + 32, kMaxCounterKey = 63;
constexpr int64_t kMaxAttributeText = 64;

// Long keys are shown without their middle.
std::string ShownKey(std::string_view key, size_t limit) {
  if (key.size() <= limit) return std::string(key);
  size_t left = limit - 3;
  return std::string(key.substr(0, (left + 1) / 2)) + "..." + std::string(key.substr(key.size() - left / 2));
}

bool IsNumeric(std::string_view text) {
  bool digits = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits && (text.size() == 1 || text[0] != '0');
}

// Identifiers with dots between them, none empty; numbers among those of a pre-release have no leading zeros.
bool AreIdentifiers(std::string_view text, bool pre_release) {
  while (true) {
    size_t dot = text.find('.');
    std::string_view one = text.substr(0, dot);
    auto allowed = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; };
    if (one.empty() || !std::ranges::all_of(one, allowed)) return false;
    bool digits = std::ranges::all_of(one, [](char c) { return c >= '0' && c <= '9'; });
    if (pre_release && digits && !IsNumeric(one)) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// semver.org 2.0.0.
bool IsSemanticVersion(std::string_view text) {
  size_t plus = text.find('+');
  if (plus != text.npos) {
    if (!AreIdentifiers(text.substr(plus + 1), false)) return false;
    text = text.substr(0, plus);
  }
  size_t dash = text.find('-');
  if (dash != text.npos) {
    if (!AreIdentifiers(text.substr(dash + 1), true)) return false;
    text = text.substr(0, dash);
  }
  size_t first = text.find('.'), second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos) return false;
  return IsNumeric(text.substr(0, first)) && IsNumeric(text.substr(first + 1, second - first - 1)) && IsNumeric(text.substr(second + 1));
}

void CheckAttribute(const Value& attribute, const FieldPath& path, FieldErrors& errors) {
  int set = 0;
  for (std::string_view field : {"bool", "int", "string", "version"}) set += attribute.Get(field) ? 1 : 0;
  for (std::string_view field : {"string", "version"}) {
    Value value = attribute.Get(field);
    if (!value) continue;
    if (field == "version" && !IsSemanticVersion(value.AsString())) {
      errors.Invalid(path.Child(field), value, "must be a string compatible with semver.org spec 2.0.0");
    }
    if (static_cast<int64_t>(value.AsString().size()) > kMaxAttributeText) errors.TooLong(path.Child(field), kMaxAttributeText);
  }
  if (set == 1) return;
  BadValue shown = set == 0 ? BadValue("") : InternalValue(v1::DeviceAttribute::SchemaType(), attribute);
  errors.Invalid(path, shown, "exactly one value must be specified");
}

Quantity Amount(const Value& value) { return Quantity::Parse(value.AsString("0")).value_or(Quantity()); }

void CheckValidValues(const Value& values, const Quantity& standard, const Quantity& capacity, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (Amount(values.At(i - 1)) > Amount(values.At(i))) errors.Invalid(path.Index(i), values.At(i), "values must be sorted in ascending order");
  }
  bool found = false;
  std::vector<std::string> keys;
  for (const Value& value : values.items()) keys.push_back(std::to_string(Amount(value).Value()));
  auto check = [&](const Value& value, const FieldPath& at) {
    if (Amount(value) > capacity) errors.Invalid(at, value, "option is larger than capacity value: " + capacity.ToString());
    found = found || Amount(value) == standard;
  };
  size_t next = 0;
  CheckKeyedItems(values, kMaxOptions, path, errors, check, [&](const Value&) { return std::string_view(keys[next++]); });
  if (!found) errors.Invalid(path, standard.ToString(), "default value is not valid according to the requestPolicy");
}

void CheckStep(const Quantity& value, const Quantity& least, const Quantity& step, const FieldPath& path, FieldErrors& errors) {
  int64_t size = step.Value();
  if (size == 0 || (value.Value() - least.Value()) % size == 0) return;
  errors.Invalid(path, value.ToString(), "value is not a multiple of a given step (" + step.ToString() + ") from (" + least.ToString() + ")");
}

void CheckValidRange(const Value& range, const Quantity& standard, const Quantity& capacity, const FieldPath& path, FieldErrors& errors) {
  if (!range.Get("min")) return errors.Required(path.Child("min"), "required when validRange is defined");
  Quantity least = Amount(range.Get("min"));
  if (least > capacity) errors.Invalid(path.Child("min"), least.ToString(), "min is larger than capacity value: " + capacity.ToString());
  if (standard < least) errors.Invalid(path.Child("min"), standard.ToString(), "default is less than min: " + least.ToString());
  Quantity most = Amount(range.Get("max"));
  if (range.Get("max")) {
    FieldPath at = path.Child("max");
    if (least > most) errors.Invalid(at, least.ToString(), "min is larger than max: " + most.ToString());
    if (most > capacity) errors.Invalid(at, most.ToString(), "max is larger than capacity value: " + capacity.ToString());
    if (standard > most) errors.Invalid(at, standard.ToString(), "default is more than max: " + most.ToString());
  }
  if (!range.Get("step")) return;
  Quantity step = Amount(range.Get("step")), first = least;
  first.Add(step);
  FieldPath at = path.Child("step");
  if (first > capacity) {
    errors.Invalid(at, step.ToString(), "one step " + first.ToString() + " is larger than capacity value: " + capacity.ToString());
  }
  CheckStep(standard, least, step, at, errors);
  if (range.Get("max")) CheckStep(most, least, step, at, errors);
}

void CheckRequestPolicy(const Value& policy, const Quantity& capacity, const FieldPath& path, FieldErrors& errors) {
  Value values = policy.Get("validValues"), range = policy.Get("validRange"), standard = policy.Get("default");
  if (!values.empty() && range) {
    return errors.Forbidden(path, "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time");
  }
  if (values.empty() && !range) return;
  if (!standard) {
    return errors.Required(path.Child("default"), std::string("required when ") + (range ? "validRange" : "validValues") + " is defined");
  }
  if (range) return CheckValidRange(range, Amount(standard), capacity, path.Child("validRange"), errors);
  CheckValidValues(values, Amount(standard), capacity, path.Child("validValues"), errors);
}

void CheckCounters(const Value& counters, const FieldPath& path, FieldErrors& errors) {
  if (counters.empty()) return errors.Required(path);
  if (counters.size() > kMaxCounters) return errors.TooMany(path, counters.size(), kMaxCounters);
  for (const object::Member& counter : counters.members()) CheckDns1123Label(counter.name(), path, errors);
}

void CheckNamedCounters(const Value& holder, std::string_view name_field, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = holder.Get(name_field).AsString();
  if (name.empty()) {
    errors.Required(path.Child(name_field));
  } else {
    CheckDns1123Label(name, path.Child(name_field), errors);
  }
  CheckCounters(holder.Get("counters"), path.Child("counters"), errors);
}

void CheckNodeName(const Value& name, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, name, object::IsDNS1123Subdomain(name.AsString()));
}

// Which nodes reach something: the fields that say so, of which one must.
struct NodeChoice {
  std::string fields;
  int count = 0;

  void Add(std::string_view field) {
    fields += (count++ > 0 ? ", `" : "`") + std::string(field) + "`";
  }
};

void CheckTrue(const Value& holder, std::string_view field, NodeChoice& choice, const FieldPath& path, FieldErrors& errors) {
  Value value = holder.Get(field);
  if (!value) return;
  if (value.AsBool()) return choice.Add(field);
  errors.Invalid(path.Child(field), false, "must be either unset or set to true");
}

NodeChoice CheckNodes(const Value& holder, bool of_device, const FieldPath& path, FieldErrors& errors) {
  NodeChoice choice;
  Value name = holder.Get("nodeName"), selector = holder.Get("nodeSelector");
  if (name && !name.AsString().empty()) {
    choice.Add("nodeName");
    CheckNodeName(name, path.Child("nodeName"), errors);
  } else if (name) {
    errors.Invalid(path.Child("nodeName"), "", of_device ? "must not be empty" : "must be either unset or set to a non-empty string");
  }
  if (selector) {
    choice.Add("nodeSelector");
    CheckNodeSelector(selector, false, path.Child("nodeSelector"), errors);
    Value terms = selector.Get("nodeSelectorTerms");
    if (!of_device && terms.size() != 1) {
      BadValue shown = terms ? InternalValue(*api::core::v1::NodeSelector::SchemaType().FindField("nodeSelectorTerms")->type, terms) : BadValue::Null();
      errors.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"), shown, "must have exactly one node selector term");
    }
  }
  CheckTrue(holder, "allNodes", choice, path, errors);
  return choice;
}

void CheckNodesOfDevice(const Value& device, bool allowed, const FieldPath& path, FieldErrors& errors) {
  if (!allowed) {
    if (!device.Get("nodeName") && !device.Get("nodeSelector") && !device.Get("allNodes")) return;
    return errors.Invalid(path, BadValue::Null(),
                          "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
                          "ResourceSlice spec");
  }
  NodeChoice choice = CheckNodes(device, true, path, errors);
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (choice.count == 0) errors.Required(path, kOne);
  if (choice.count > 1) errors.Invalid(path, "{" + choice.fields + "}", kOne);
}

void CheckDevice(const Value& device, const Value& old, bool nodes_allowed, const FieldPath& path, FieldErrors& errors) {
  Value attributes = device.Get("attributes"), capacity = device.Get("capacity"), taints = device.Get("taints");
  CheckDns1123Label(device.Get("name").AsString(), path.Child("name"), errors);
  size_t total = attributes.size() + capacity.size();
  if (total > kMaxAttributes) errors.Invalid(path, total, "the total number of attributes and capacities must not exceed 32");
  if (attributes.size() > kMaxAttributeValues) {
    errors.Invalid(path, attributes.size(), "the total number of attribute values must not exceed 48");
  }
  for (const object::Member& attribute : attributes.members()) {
    std::string key = ShownKey(attribute.name(), kMaxKey);
    CheckDeviceQualifiedName(attribute.name(), path.Child("attributes"), errors);
    CheckAttribute(attribute.value, path.Child("attributes").Key(key), errors);
  }
  for (const object::Member& entry : capacity.members()) {
    std::string key = ShownKey(entry.name(), kMaxKey);
    FieldPath policy_path = path.Child("capacity").Key(key).Child("requestPolicy");
    CheckDeviceQualifiedName(entry.name(), path.Child("capacity"), errors);
    Value policy = entry.value.Get("requestPolicy");
    if (!policy) continue;
    if (device.Get("allowMultipleAllocations").AsBool()) {
      CheckRequestPolicy(policy, Amount(entry.value.Get("value")), policy_path, errors);
    } else {
      errors.Forbidden(policy_path, "allowMultipleAllocations must be true");
    }
  }
  if (!old || !object::Equal(old.Get("taints"), taints)) {
    CheckItems(taints, kMaxTaints, path.Child("taints"), errors,
               [&](const Value& taint, const FieldPath& at) { CheckDeviceTaint(taint, at, errors); });
  }
  CheckKeyedItems(device.Get("consumesCounters"), kMaxConsumptions, path.Child("consumesCounters"), errors,
                  [&](const Value& counters, const FieldPath& at) { CheckNamedCounters(counters, "counterSet", at, errors); },
                  [](const Value& counters) { return counters.Get("counterSet").AsString(); });
  CheckNodesOfDevice(device, nodes_allowed, path, errors);
  CheckBindingConditions(device, path, errors);
}

Value FindDevice(const Value& devices, std::string_view name) {
  for (const Value& device : devices.items()) {
    if (device.Get("name").AsString() == name) return device;
  }
  return {};
}

void CheckPool(const Value& pool, const FieldPath& path, FieldErrors& errors) {
  int64_t slices = pool.Get("resourceSliceCount").AsInt(), generation = pool.Get("generation").AsInt();
  CheckPoolName(pool.Get("name").AsString(), path.Child("name"), errors);
  if (slices <= 0) errors.Invalid(path.Child("resourceSliceCount"), slices, "must be greater than zero");
  if (generation < 0) errors.Invalid(path.Child("generation"), generation, "must be greater than or equal to zero");
}

void CheckSlice(const Value& slice, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = slice.Get("spec"), before = old.Get("spec"), devices = spec.Get("devices"), sets = spec.Get("sharedCounters");
  CheckCsiDriverName(spec.Get("driver").AsString(), path.Child("driver"), errors);
  CheckPool(spec.Get("pool"), path.Child("pool"), errors);
  if (old) {
    CheckImmutableField(v1::ResourcePool::SchemaType(), "name", spec.Get("pool"), before.Get("pool"), path.Child("pool"), errors);
    for (std::string_view field : {"driver", "nodeName"}) {
      CheckImmutableField(v1::ResourceSliceSpec::SchemaType(), field, spec, before, path, errors);
    }
  }
  NodeChoice choice = CheckNodes(spec, false, path, errors);
  CheckTrue(spec, "perDeviceNodeSelection", choice, path, errors);
  constexpr std::string_view kOne = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (choice.count == 0) errors.Required(path, kOne);
  if (choice.count > 1) errors.Invalid(path, "{" + choice.fields + "}", std::string(kOne) + ", but multiple fields are set");
  auto given = [&](const Value& list, std::string_view field) { return !list.empty() || errors.CameEmpty(path.Child(field)); };
  if (given(sets, "sharedCounters") && given(devices, "devices")) errors.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed");
  bool advanced = std::ranges::any_of(devices.items(), [](const Value& device) {
    return !device.Get("taints").empty() || !device.Get("consumesCounters").empty();
  });
  bool nodes_allowed = spec.Get("perDeviceNodeSelection").AsBool();
  CheckKeyedItems(devices, advanced ? kMaxAdvancedDevices : kMaxDevices, path.Child("devices"), errors,
                  [&](const Value& device, const FieldPath& at) {
                    CheckDevice(device, FindDevice(before.Get("devices"), device.Get("name").AsString()), nodes_allowed, at, errors);
                  },
                  [](const Value& device) { return device.Get("name").AsString(); });
  CheckKeyedItems(sets, kMaxCounterSets, path.Child("sharedCounters"), errors,
                  [&](const Value& set, const FieldPath& at) { CheckNamedCounters(set, "name", at, errors); },
                  [](const Value& set) { return set.Get("name").AsString(); });
}

void CheckNew(RuleContext&, Value slice, FieldErrors& errors) { CheckSlice(slice, Value(), errors); }
void CheckUpdate(RuleContext&, Value slice, Value old, FieldErrors& errors) { CheckSlice(slice, old, errors); }

// A taint without a time begins now.
Value Prepare(RuleContext& context, Value slice) {
  auto lacks_time = [](const Value& device) {
    return std::ranges::any_of(device.Get("taints").items(), [](const Value& taint) { return !taint.Get("timeAdded"); });
  };
  if (std::ranges::none_of(slice.Path({"spec", "devices"}).items(), lacks_time)) return slice;
  return Edited(context.arena, v1::ResourceSlice::SchemaType(), slice, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) {
      spec.Each("devices", [&](Edit& device) {
        device.Each("taints", [&](Edit& taint) { taint.Fill("timeAdded", Now(context)); });
      });
    });
  });
}

Value PrepareUpdate(RuleContext& context, Value slice, Value) { return Prepare(context, slice); }

void Warn(RuleContext& context, Value slice, Value) {
  std::string_view driver = slice.Path({"spec", "driver"}).AsString();
  if (std::ranges::none_of(driver, [](char c) { return c >= 'A' && c <= 'Z'; })) return;
  std::string text = "spec.driver: driver names should be lowercase; " + GoQuote(driver) + " contains uppercase characters";
  context.warnings->push_back(std::move(text));
}

std::string Unselectable(std::string_view label) { return "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: " + std::string(label); }

}  // namespace

const Behaviour kResourceSlice{.group = "resource.k8s.io", .kind = "ResourceSlice", .prepare_create = Prepare, .prepare_update = PrepareUpdate,
                               .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = Warn,
                               .unselectable = Unselectable};

}  // namespace homeostat::kinds
