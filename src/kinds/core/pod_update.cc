#include "kinds/core/pod_update.h"

#include <algorithm>
#include <limits>
#include <map>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/diff.h"
#include "kinds/core/containers.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/security.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kUpdatable =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

// False if containers came or went: then nothing else is looked at.
bool CheckImages(const Value& containers, const Value& old, const FieldPath& path, FieldErrors& errors) {
  if (containers.size() != old.size()) {
    errors.Forbidden(path, "pod updates may not add or remove containers");
    return false;
  }
  for (size_t i = 0; i < containers.size(); ++i) {
    RequireText(containers.At(i), "image", path.Index(i), errors);
    CheckImagePadding(containers.At(i), path.Index(i), errors);
  }
  return true;
}

// It may be set and shortened. False if it can't be told what else may have changed.
bool CheckDeadline(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  Value now = spec.Get("activeDeadlineSeconds"), before = old_spec.Get("activeDeadlineSeconds");
  if (!now) {
    if (before) errors.Invalid(path, BadValue::Null(), "must not update from a positive integer to nil value");
    return true;
  }
  if (now.AsInt() < 0 || now.AsInt() > kMost) {
    errors.Invalid(path, now, object::InclusiveRangeError(0, kMost));
    return false;
  }
  if (before && before.AsInt() < now.AsInt()) {
    errors.Invalid(path, now, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

bool IsSameToleration(const Value& a, const Value& b) {
  return std::ranges::all_of(std::initializer_list<std::string_view>{"key", "operator", "value", "effect"},
                             [&](std::string_view field) { return a.Get(field).AsString() == b.Get(field).AsString(); });
}

void CheckTolerationChange(const Value& spec, const Value& old_spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  auto now = spec.Get("tolerations").items();
  for (const Value& old : old_spec.Get("tolerations").items()) {
    bool kept = std::ranges::any_of(now, [&](const Value& toleration) { return IsSameToleration(toleration, old); });
    if (!kept) return errors.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds");
  }
  CheckTolerations(spec.Get("tolerations"), rules, path, errors);
}

void CheckGateRemoval(const Value& gates, const Value& old, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < gates.size(); ++i) {
    std::string_view name = gates.At(i).Get("name").AsString();
    bool known = std::ranges::any_of(old.items(), [&](const Value& gate) { return gate.Get("name").AsString() == name; });
    if (known) continue;
    errors.Forbidden(path.Index(i).Child("name"), "only deletion is allowed, but found new scheduling gate '" + std::string(name) + "'");
  }
}

// While gates hold a pod back, it may be bound to fewer nodes, never to others.
bool OnlyAdds(const Value& list, const Value& old, const schema::Type& type) {
  if (list.size() < old.size()) return false;
  for (size_t i = 0; i < old.size(); ++i) if (!schema::IsEqual(type, list.At(i), old.At(i))) return false;
  return true;
}

bool OnlyAddsToTerm(const Value& term, const Value& old) {
  if (old.empty() && !term.empty()) return false;
  return OnlyAdds(term.Get("matchExpressions"), old.Get("matchExpressions"), types::kNodeSelectorRequirement) &&
         OnlyAdds(term.Get("matchFields"), old.Get("matchFields"), types::kNodeSelectorRequirement);
}

void CheckNodeAffinityNarrows(const Value& affinity, const Value& old, const FieldPath& path, FieldErrors& errors) {
  static constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  Value terms = affinity.Get(kRequired).Get("nodeSelectorTerms"), old_terms = old.Get(kRequired).Get("nodeSelectorTerms");
  const schema::Type& list = *types::kNodeSelector.FindField("nodeSelectorTerms")->type;
  FieldPath at = path.Child(kRequired, "nodeSelectorTerms");
  if (!old.Get(kRequired)) return;
  if (!old_terms.empty() && old_terms.size() != terms.size()) {
    return errors.Invalid(at, InternalValue(list, terms), "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  }
  for (size_t i = 0; i < old_terms.size(); ++i) {
    if (OnlyAddsToTerm(terms.At(i), old_terms.At(i))) continue;
    errors.Invalid(at.Index(i), InternalValue(types::kNodeSelectorTerm, terms.At(i)), "only additions are allowed (no mutations or deletions)");
  }
}

// The spec with everything that may have changed as it was before.
class Neutralized {
 public:
  Neutralized(object::Arena& arena, const Value& spec, const Value& old) : old_(old), edit_(arena, types::kPodSpec, spec) {}

  void TakeOld(std::string_view field) { edit_.Set(field, old_.Get(field)); }

  void TakeImages(std::string_view list) {
    size_t i = 0;
    edit_.Each(list, [&](Edit& container) { container.Set("image", old_.Get(list).At(i++).Get("image")); });
  }

  // Narrowed selectors of a pod that is held back, once checked, count as unchanged.
  void TakeNodeSelection(const FieldPath& path, FieldErrors& errors) {
    Value selector = edit_.Get("nodeSelector"), old_selector = old_.Get("nodeSelector");
    if (!object::Equal(selector, old_selector)) {
      bool adds = std::ranges::all_of(old_selector.members(), [&](const object::Member& label) {
        Value now = selector.Get(label.name());
        return now && now.AsString() == label.value.AsString();
      });
      if (!adds) {
        errors.Invalid(path.Child("nodeSelector"), selector ? BadValue(selector) : BadValue::Null(),
                       "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
      }
      TakeOld("nodeSelector");
    }
    Value affinity = edit_.Get("affinity").Get("nodeAffinity"), old_affinity = old_.Get("affinity").Get("nodeAffinity");
    if (schema::IsEqual(types::kNodeAffinity, affinity, old_affinity)) return;
    CheckNodeAffinityNarrows(affinity, old_affinity, path.Child("affinity", "nodeAffinity"), errors);
    bool only_nodes = edit_.Get("affinity").size() <= 1;
    if (!old_.Get("affinity") && only_nodes) {
      edit_.Erase("affinity");
    } else {
      edit_.In("affinity", [&](Edit& edit) { edit.Set("nodeAffinity", old_affinity); });
    }
  }

  Value Build() const { return edit_.Build(); }

 private:
  const Value& old_;
  Edit edit_;
};

}  // namespace

void CheckPodMetadataAndSpec(const Value& pod, const PodRules& rules, FieldErrors& errors) {
  Value metadata = pod.Get("metadata"), spec = pod.Get("spec");
  FieldPath metadata_path("metadata"), path("spec");
  CheckPodAnnotations(metadata.Get("annotations"), spec, metadata_path.Child("annotations"), rules, errors);
  CheckPodSpec(spec, metadata, path, rules, errors);
  if (spec.Get("serviceAccountName").AsString().empty()) {
    Value volumes = spec.Get("volumes");
    for (size_t i = 0; i < volumes.size(); ++i) {
      Value sources = volumes.At(i).Get("projected").Get("sources");
      for (size_t j = 0; j < sources.size(); ++j) {
        if (!sources.At(j).Get("serviceAccountToken")) continue;
        errors.Forbidden(path.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
                         "must not be specified when serviceAccountName is not set");
      }
    }
  }
  for (std::string_view list : {"containers", "initContainers"}) {
    Value containers = spec.Get(list);
    for (size_t i = 0; i < containers.size(); ++i) CheckImagePadding(containers.At(i), path.Child(list).Index(i), errors);
  }
}

void CheckPodAnnotationUpdate(const Value& pod, const Value& old, FieldErrors& errors) {
  Value now = pod.Get("metadata").Get("annotations"), before = old.Get("metadata").Get("annotations");
  FieldPath metadata("metadata");
  FieldPath path = metadata.Child("annotations");
  for (const object::Member& entry : before.members()) {
    Value kept = now.Get(entry.name());
    if (kept && kept.AsString() == entry.value.AsString()) continue;
    if (entry.name().starts_with(kAppArmorAnnotation)) errors.Forbidden(path.Key(entry.name()), "may not remove or update AppArmor annotations");
    if (entry.name() == kMirror) errors.Forbidden(path.Key(entry.name()), "may not remove or update mirror pod annotation");
  }
  for (const object::Member& entry : now.members()) {
    if (before.Find(entry.name()) != nullptr) continue;
    if (entry.name().starts_with(kAppArmorAnnotation)) errors.Forbidden(path.Key(entry.name()), "may not add AppArmor annotations");
    if (entry.name() == kMirror) errors.Forbidden(path.Key(entry.name()), "may not add mirror pod annotation");
  }
  CheckPodAnnotations(now, pod.Get("spec"), path, PodRules::ForPod(old.Get("spec"), old.Get("metadata")), errors);
}

void CheckPodUpdate(RuleContext& context, const Value& pod, const Value& old, FieldErrors& errors) {
  Value spec = pod.Get("spec"), old_spec = old.Get("spec");
  PodRules rules = PodRules::ForPod(old_spec, old.Get("metadata"));
  FieldPath path("spec");
  CheckPodMetadataAndSpec(pod, rules, errors);
  CheckPodAnnotationUpdate(pod, old, errors);
  for (std::string_view list : {"containers", "initContainers"}) {
    if (!CheckImages(spec.Get(list), old_spec.Get(list), path.Child(list), errors)) return;
  }
  if (!CheckDeadline(spec, old_spec, path.Child("activeDeadlineSeconds"), errors)) return;
  CheckTolerationChange(spec, old_spec, path.Child("tolerations"), rules, errors);
  CheckGateRemoval(spec.Get("schedulingGates"), old_spec.Get("schedulingGates"), path.Child("schedulingGates"), errors);
  if (schema::IsEqual(types::kPodSpec, spec, old_spec)) return;

  Neutralized neutral(context.arena, spec, old_spec);
  neutral.TakeImages("containers");
  neutral.TakeImages("initContainers");
  for (std::string_view field : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) neutral.TakeOld(field);
  bool was_negative = old_spec.Get("terminationGracePeriodSeconds").AsInt() < 0;
  if (was_negative && spec.Get("terminationGracePeriodSeconds").AsInt() == 1) neutral.TakeOld("terminationGracePeriodSeconds");
  if (!old_spec.Get("schedulingGates").empty()) neutral.TakeNodeSelection(path, errors);
  Value rest = neutral.Build();
  if (schema::IsEqual(types::kPodSpec, rest, old_spec)) return;
  errors.Forbidden(path, std::string(kUpdatable) + InternalDiff(types::kPodSpec, old_spec, rest, {.came_empty = errors.empty_fields(), .path = "spec"}));
}

void CheckPodEphemeralContainersUpdate(const Value& pod, const Value& old, FieldErrors& errors) {
  if (old.Get("metadata").Get("annotations").Get(kMirror)) {
    errors.Forbidden(FieldPath(""), "static pods do not support ephemeral containers");
    return;
  }
  CheckPodMetadataAndSpec(pod, PodRules::ForPod(old.Get("spec"), old.Get("metadata")), errors);
  CheckPodAnnotationUpdate(pod, old, errors);
  FieldPath spec("spec");
  FieldPath path = spec.Child("ephemeralContainers");
  std::map<std::string_view, Value> now;
  for (const Value& container : pod.Get("spec").Get("ephemeralContainers").items()) now[container.Get("name").AsString()] = container;
  for (const Value& before : old.Get("spec").Get("ephemeralContainers").items()) {
    std::string_view name = before.Get("name").AsString();
    auto kept = now.find(name);
    if (kept == now.end()) {
      errors.Forbidden(path, "existing ephemeral containers " + GoQuote(name) + " may not be removed\n");
    } else if (!schema::IsEqual(types::kEphemeralContainer, kept->second, before)) {
      errors.Forbidden(path, "existing ephemeral containers " + GoQuote(name) + " may not be changed\n" +
                                 InternalDiff(types::kEphemeralContainer, before, kept->second));
    }
  }
}

}  // namespace homeostat::kinds
