// Annotations of pods that have a meaning, and profiles of security that were once given by them.
#include <charconv>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/api/core/v1.h"
#include "kinds/core/containers.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/security.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kTolerations = "scheduler.alpha.kubernetes.io/tolerations";
constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kLocalhost = "localhost/";

void CheckSeccompAnnotation(std::string_view profile, const FieldPath& path, FieldErrors& errors) {
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined") return;
  if (profile.starts_with(kLocalhost)) return CheckDescendingPath(profile.substr(kLocalhost.size()), path, errors);
  errors.Invalid(path, profile, "must be a valid seccomp profile");
}

bool HasContainer(const Value& spec, std::string_view name) {
  bool found = false;
  ForEachContainer(spec, FieldPath(), [&](const Value& container, const FieldPath&) { found = found || container.Get("name").AsString() == name; });
  return found;
}

void CheckTolerationsAnnotation(std::string_view text, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  object::Arena arena;
  auto parsed = object::ParseJson(arena, text);
  if (!parsed) return errors.Invalid(path, kTolerations, parsed.error().message());
  schema::ConformReport report;
  auto typed = schema::Conform(arena, *parsed, *types::kPodSpec.FindField("tolerations")->type, report);
  if (!typed) return errors.Invalid(path, kTolerations, typed.error().message());
  CheckTolerations(*typed, rules, path.Child(kTolerations), errors);
}

// What differs between an annotation and the field that says the same; reported at the field.
void CheckMatch(std::string_view annotation, const Value& profile, std::string_view what, bool docker_too, const FieldPath& path, FieldErrors& errors) {
  std::string_view type = profile.Get("type").AsString();
  bool same = true;
  if (type == "Unconfined") same = annotation == "unconfined";
  if (type == "RuntimeDefault") same = annotation == "runtime/default" || (docker_too && annotation == "docker/default");
  if (type == "Localhost") same = annotation.starts_with(kLocalhost);
  if (!same) return errors.Forbidden(path.Child("type"), std::string(what) + " type in annotation and field must match");
  if (type != "Localhost") return;
  Value name = profile.Get("localhostProfile");
  if (!name || name.AsString() != annotation.substr(kLocalhost.size())) {
    errors.Forbidden(path.Child("localhostProfile"), std::string(what) + " profile in annotation and field must match");
  }
}

}  // namespace

bool IsDeletionCost(std::string_view text) {
  int32_t cost = 0;
  if (text.empty()) return false;
  // No sign but a minus, no zero in front.
  if (text[0] == '+' || (text[0] == '0' && text.size() > 1)) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return error == std::errc() && end == text.data() + text.size();
}

void CheckPodAnnotations(const Value& annotations, const Value& spec, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  if (Value mirror = annotations.Get(kMirror); mirror && spec.Get("nodeName").AsString().empty()) {
    errors.Invalid(path.Key(kMirror), mirror, "must set spec.nodeName if mirror pod annotation is set");
  }
  if (std::string_view text = annotations.Get(kTolerations).AsString(); !text.empty()) {
    CheckTolerationsAnnotation(text, rules, path, errors);
  }
  if (Value cost = annotations.Get(kDeletionCost); cost && !rules.allow_invalid_deletion_cost && !IsDeletionCost(cost.AsString())) {
    errors.Invalid(path.Key(kDeletionCost), cost, "must be a 32bit integer");
  }
  CheckSecurityAnnotations(annotations, spec, path, errors);
}

void CheckSecurityAnnotations(const Value& annotations, const Value& pod_spec, const FieldPath& path, FieldErrors& errors) {
  if (Value profile = annotations.Get(kSeccompPod)) CheckSeccompAnnotation(profile.AsString(), path.Child(kSeccompPod), errors);
  for (const object::Member& entry : annotations.members()) {
    if (entry.name().starts_with(kSeccompContainer)) CheckSeccompAnnotation(entry.value.AsString(), path.Child(entry.name()), errors);
  }
  for (const object::Member& entry : annotations.members()) {
    if (!entry.name().starts_with(kAppArmorAnnotation)) continue;
    std::string_view container = entry.name().substr(kAppArmorAnnotation.size()), profile = entry.value.AsString();
    if (!HasContainer(pod_spec, container)) errors.Invalid(path.Key(entry.name()), container, "container not found");
    if (profile.empty() || profile == "runtime/default" || profile == "unconfined" || profile.starts_with(kLocalhost)) continue;
    errors.Invalid(path.Key(entry.name()), profile, "invalid AppArmor profile name: " + GoQuote(profile));
  }
}

void CheckAnnotationsMatchFields(const Value& annotations, const Value& pod_spec, const FieldPath& spec_path, FieldErrors& errors) {
  Value of_pod = pod_spec.Get("securityContext");
  Value annotation = annotations.Get(kSeccompPod);
  if (annotation && of_pod.Get("seccompProfile")) {
    CheckMatch(annotation.AsString(), of_pod.Get("seccompProfile"), "seccomp", true, spec_path.Child("securityContext", "seccompProfile"), errors);
  }
  ForEachContainer(pod_spec, spec_path, [&](const Value& container, const FieldPath& path) {
    Value profile = container.Get("securityContext").Get("seccompProfile");
    Value said = AnnotationOfContainer(annotations, kSeccompContainer, container.Get("name").AsString());
    if (profile && said) CheckMatch(said.AsString(), profile, "seccomp", true, path.Child("securityContext", "seccompProfile"), errors);
  });
  if (pod_spec.Get("os").Get("name").AsString() == "windows") return;
  ForEachContainer(pod_spec, spec_path, [&](const Value& container, const FieldPath& path) {
    Value own = container.Get("securityContext").Get("appArmorProfile");
    Value profile = own ? own : of_pod.Get("appArmorProfile");
    Value said = AnnotationOfContainer(annotations, kAppArmorAnnotation, container.Get("name").AsString());
    if (profile && said) CheckMatch(said.AsString(), profile, "apparmor", false, path.Child("securityContext", "appArmorProfile"), errors);
  });
}

Value AppArmorProfileOf(object::Arena& arena, std::string_view annotation) {
  Edit profile(arena, types::kAppArmorProfile, Value());
  if (annotation == "unconfined") {
    profile.Set("type", Value::StringRef("Unconfined"));
  } else if (annotation == "runtime/default") {
    profile.Set("type", Value::StringRef("RuntimeDefault"));
  } else if (annotation.starts_with(kLocalhost) && annotation.size() > kLocalhost.size()) {
    profile.Set("type", Value::StringRef("Localhost"));
    profile.SetText("localhostProfile", annotation.substr(kLocalhost.size()));
  } else {
    return {};
  }
  return profile.Build();
}

}  // namespace homeostat::kinds
