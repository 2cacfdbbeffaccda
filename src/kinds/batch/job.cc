// Job. Source of the rules: pkg/apis/batch/validation, pkg/registry/batch/job.
#include <algorithm>
#include <string>

#include "homeostat/api/batch/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/diff.h"
#include "kinds/batch/batch.h"
#include "kinds/cells.h"
#include "kinds/core/pod_template.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::batch::v1;

constexpr std::string_view kUid = "batch.kubernetes.io/controller-uid", kName = "batch.kubernetes.io/job-name";
constexpr std::string_view kLegacyUid = "controller-uid", kLegacyName = "job-name";
constexpr int64_t kMaxIndexedParallelism = 100'000, kMaxFailedIndexes = 100'000, kManyCompletions = 100'000;
constexpr int64_t kMaxParallelismOfMany = 10'000, kMaxFailedIndexesOfMany = 10'000, kMaxManagedBy = 63;

const schema::Type& SelectorType() { return api::meta::v1::LabelSelector::SchemaType(); }

// Without a selector of its own a job gets one that finds its pods by its uid, and they get the labels.
Value PrepareNew(RuleContext& context, Value job) {
  if (job.Path({"spec", "manualSelector"}).AsBool()) return job;
  Value name = Value::StringRef(job.Path({"metadata", "name"}).AsString());  // "" where there is none, to be refused later
  Value uid = job.Path({"metadata", "uid"});
  // A job without labels of its own has its pods' by default, with one map for both; where they have none yet, once it is read from
  // the store.
  Value own = job.Path({"metadata", "labels"}), of_pods = job.Path({"spec", "template", "metadata", "labels"});
  bool shared = !own.empty() && own.members().data() == of_pods.members().data();
  job = Edited(context.arena, v1::Job::SchemaType(), job, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) {
      spec.In("template", [&](Edit& pods) {
        pods.In("metadata", [&](Edit& metadata) {
          for (auto [label, value] : {std::pair(kLegacyName, name), std::pair(kName, name), std::pair(kLegacyUid, uid), std::pair(kUid, uid)}) {
            if (!metadata.Get("labels").Find(label)) metadata.SetEntry("labels", label, value);
          }
        });
      });
      spec.In("selector", [&](Edit& selector) {
        if (!selector.Get("matchLabels").Find(kUid)) selector.SetEntry("matchLabels", kUid, uid);
      });
    });
  });
  if (!shared) return job;
  return Edited(context.arena, v1::Job::SchemaType(), job, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) { metadata.Set("labels", job.Path({"spec", "template", "metadata", "labels"})); });
  });
}

void CheckHasLabel(const Value& labels, std::string_view key, std::string_view expected, FieldErrors& errors) {
  FieldPath metadata = FieldPath("spec").Child("template", "metadata", "labels");
  FieldPath path = metadata.Key(key);
  std::string must = "must be '" + std::string(expected) + "'";
  const object::Member* label = labels.Find(key);
  if (label == nullptr) {
    errors.Required(path, must);
  } else if (label->value.AsString() != expected) {
    errors.Invalid(path, labels, must);
  }
}

// prefixed: the labels that begin with batch.kubernetes.io/ must be there as well; jobs from before there were any do without.
void CheckGeneratedSelector(RuleContext& context, const Value& job, bool prefixed, FieldErrors& errors) {
  Value spec = job.Get("spec"), selector = spec.Get("selector");
  if (spec.Get("manualSelector").AsBool() || !selector) return;
  std::string_view uid = job.Path({"metadata", "uid"}).AsString(), name = job.Path({"metadata", "name"}).AsString();
  Value labels = spec.Path({"template", "metadata", "labels"});
  CheckHasLabel(labels, kLegacyUid, uid, errors);
  CheckHasLabel(labels, kLegacyName, name, errors);
  object::ObjectBuilder expected(context.arena);
  if (prefixed) {
    CheckHasLabel(labels, kUid, uid, errors);
    CheckHasLabel(labels, kName, name, errors);
    for (auto [key, value] : {std::pair(kUid, uid), std::pair(kName, name)}) expected.Set(key, Value::StringRef(value));
  }
  for (auto [key, value] : {std::pair(kLegacyUid, uid), std::pair(kLegacyName, name)}) expected.Set(key, Value::StringRef(value));
  if (Selects(selector, expected.Build()) == std::optional(false)) {
    errors.Invalid(FieldPath("spec").Child("selector"), BadValue(SelectorType(), selector), "`selector` not auto-generated");
  }
}

void CheckAtMost(const Value& value, int64_t limit, const std::string& when, const FieldPath& path, FieldErrors& errors) {
  if (value && value.AsInt() > limit) errors.Invalid(path, value, "must be less than or equal to " + std::to_string(limit) + when);
}

void CheckIndexed(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value completions = spec.Get("completions"), parallelism = spec.Get("parallelism"), failed = spec.Get("maxFailedIndexes");
  FieldPath parallelism_path = path.Child("parallelism"), failed_path = path.Child("maxFailedIndexes");
  if (!completions) errors.Required(path.Child("completions"), "when completion mode is Indexed");
  CheckAtMost(parallelism, kMaxIndexedParallelism, " when completion mode is Indexed", parallelism_path, errors);
  if (completions && failed && failed.AsInt() > completions.AsInt()) {
    errors.Invalid(failed_path, failed, "must be less than or equal to completions");
  }
  CheckAtMost(failed, kMaxFailedIndexes, "", failed_path, errors);
  if (completions.AsInt() <= kManyCompletions || !spec.Get("backoffLimitPerIndex")) return;
  if (!failed) errors.Required(failed_path, "must be specified when completions is above 100000");
  constexpr auto kWhen = " when completions are above 100000 and used with backoff limit per index";
  CheckAtMost(parallelism, kMaxParallelismOfMany, kWhen, parallelism_path, errors);
  CheckAtMost(failed, kMaxFailedIndexesOfMany, kWhen, failed_path, errors);
}

void CheckCompletionMode(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value mode = spec.Get("completionMode");
  if (mode) CheckOneOf(mode.AsString(), {"NonIndexed", "Indexed"}, path.Child("completionMode"), errors);
  if (mode.AsString() == "Indexed") CheckIndexed(spec, path, errors);
  if (mode && mode.AsString() != "NonIndexed") return;
  for (std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
    if (spec.Get(field)) errors.Invalid(path.Child(field), spec.Get(field), "requires indexed completion mode");
  }
}

void CheckRestartPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::string_view policy = spec.Path({"template", "spec", "restartPolicy"}).AsString();
  FieldPath policy_path = path.Child("template", "spec", "restartPolicy");
  if (policy == "Always" || policy.empty()) {
    errors.Required(policy_path, "valid values: \"OnFailure\", \"Never\"");
  } else if (!IsOneOf(policy, {"OnFailure", "Never"})) {
    errors.NotSupported(policy_path, policy, {"OnFailure", "Never"});
  } else if (spec.Get("podFailurePolicy") && policy != "Never") {
    errors.Invalid(policy_path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
  }
}

void CheckManagedBy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value manager = spec.Get("managedBy");
  if (!manager) return;
  CheckDomainPrefixedPath(manager.AsString(), path.Child("managedBy"), errors);
  if (static_cast<int64_t>(manager.AsString().size()) > kMaxManagedBy) errors.TooLong(path.Child("managedBy"), kMaxManagedBy);
}

void CheckReplacementPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value policy = spec.Get("podReplacementPolicy");
  if (!policy) return;
  if (spec.Get("podFailurePolicy")) {
    CheckOneOf(policy.AsString(), {"Failed"}, path.Child("podReplacementPolicy"), errors);
  } else {
    CheckOneOf(policy.AsString(), {"Failed", "TerminatingOrFailed"}, path.Child("podReplacementPolicy"), errors);
  }
}

void CheckJobSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  CheckJobSpecBasics(spec, old_spec, path, errors);
  Value selector = spec.Get("selector"), labels = spec.Path({"template", "metadata", "labels"});
  if (!selector) {
    errors.Required(path.Child("selector"));
  } else {
    CheckLabelSelector(selector, path.Child("selector"), errors, {.allow_invalid_values = HasInvalidLabelValue(old_spec.Get("selector"))});
  }
  if (Selects(selector, labels) == std::optional(false)) {
    errors.Invalid(path.Child("template", "metadata", "labels"), labels, "`selector` does not match template `labels`");
  }
}

// What is checked of a job whether it is new or changed.
void CheckJob(RuleContext& context, const Value& job, const Value& old_spec, FieldErrors& errors) {
  Value old_labels = old_spec.Path({"template", "metadata", "labels"});
  bool prefixed = !old_spec || (old_labels.Find(kName) != nullptr && old_labels.Find(kUid) != nullptr);
  CheckGeneratedSelector(context, job, prefixed, errors);
  Value spec = job.Get("spec"), completions = spec.Get("completions");
  CheckJobSpec(spec, old_spec, errors);
  if (spec.Get("completionMode").AsString() != "Indexed" || completions.AsInt() <= 0) return;
  std::string_view name = job.Path({"metadata", "name"}).AsString();
  std::string hostname = std::string(name) + "-" + std::to_string(completions.AsInt() - 1);
  if (!object::IsDNS1123Label(hostname).empty()) {
    errors.Invalid(FieldPath("metadata").Child("name"), name, "will not able to create pod with invalid DNS label: " + hostname);
  }
}

void CheckNew(RuleContext& context, Value job, FieldErrors& errors) { CheckJob(context, job, Value(), errors); }

void CheckCompletions(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  Value now = spec.Get("completions");
  if (object::Equal(now, old_spec.Get("completions"))) return;
  if (spec.Get("completionMode").AsString() != "Indexed") {
    errors.Invalid(path.Child("completions"), now, kImmutable);
  } else if (now && now.AsInt() != spec.Get("parallelism").AsInt()) {
    errors.Invalid(path.Child("completions"), now, "can only be modified in tandem with spec.parallelism");
  }
}

bool TemplateMayChange(const Value& old) {
  if (!old.Path({"spec", "suspend"}).AsBool() || old.Path({"status", "active"}).AsInt() > 0) return false;
  return !old.Path({"status", "startTime"}) || IsTrue(old.Path({"status", "conditions"}), "Suspended");
}

// The old template with what a suspended job may change as it is now.
Value Tolerated(RuleContext& context, const Value& pods, const Value& old_pods) {
  return Edited(context.arena, api::core::v1::PodTemplateSpec::SchemaType(), old_pods, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) {
      metadata.Set("labels", pods.Path({"metadata", "labels"}));
      metadata.Set("annotations", pods.Path({"metadata", "annotations"}));
    });
    edit.In("spec", [&](Edit& pod) {
      Value now = pods.Get("spec");
      for (std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"}) pod.Set(field, now.Get(field));
      bool had_affinity = static_cast<bool>(pod.Get("affinity"));
      pod.In("affinity", [&](Edit& affinity) { affinity.Set("nodeAffinity", now.Path({"affinity", "nodeAffinity"})); });
      if (!now.Get("affinity") && had_affinity && pod.Get("affinity").empty()) pod.Erase("affinity");
      if (now.Get("affinity") && !pod.Get("affinity")) pod.Set("affinity", Value::EmptyObject());
      for (std::string_view list : {"containers", "initContainers"}) {
        if (pod.Get(list).size() != now.Get(list).size()) continue;
        size_t index = 0;
        pod.Each(list, [&](Edit& container) {
          Value other = now.Get(list).At(index++);
          if (other.Get("name").AsString() == container.Get("name").AsString()) container.Set("resources", other.Get("resources"));
        });
      }
    });
  });
}

void CheckTemplateUpdate(RuleContext& context, const Value& job, const Value& old, FieldErrors& errors) {
  Value pods = job.Path({"spec", "template"}), before = old.Path({"spec", "template"});
  FieldPath path("spec");
  const schema::Type& type = api::core::v1::PodTemplateSpec::SchemaType();
  if (!TemplateMayChange(old)) {
    if (!schema::IsEqual(type, pods, before)) errors.Invalid(path.Child("template"), InternalValue(type, pods), kImmutable);
    return;
  }
  const schema::Type& pod_type = api::core::v1::PodSpec::SchemaType();
  if (!schema::IsEqual(pod_type, pods.Get("spec"), Tolerated(context, pods, before).Get("spec"))) {
    errors.Invalid(path.Child("template.spec"), InternalValue(pod_type, pods.Get("spec")), kImmutable);
  }
}

void CheckUpdate(RuleContext& context, Value job, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckJobStatusUpdate(job, old, errors);
  Value spec = job.Get("spec"), old_spec = old.Get("spec");
  FieldPath path("spec");
  const schema::Type& type = v1::JobSpec::SchemaType();
  CheckJob(context, job, old_spec, errors);
  CheckRestOfMetadata(context, errors);
  CheckJobSpec(spec, old_spec, errors);  // upstream checks it twice, and says so twice
  CheckCompletions(spec, old_spec, path, errors);
  CheckImmutableField(type, "selector", spec, old_spec, path, errors);
  CheckTemplateUpdate(context, job, old, errors);
  for (std::string_view field : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
    CheckImmutableInternal(type, field, spec, old_spec, path, errors);
  }
}

void Warn(RuleContext& context, Value job, Value old) {
  if (context.subresource == "status" || (old && !GenerationChanged(job, old))) return;
  if (!old) WarnOfPodNames(job, *context.warnings);
  WarnOfJobSpec(job.Get("spec"), old.Get("spec"), FieldPath("spec"), *context.warnings);
}

std::string StatusText(const Value& job) {
  Value conditions = job.Path({"status", "conditions"});
  for (std::string_view done : {"Complete", "Failed"}) {
    if (IsTrue(conditions, done)) return std::string(done);
  }
  if (job.Path({"metadata", "deletionTimestamp"})) return "Terminating";
  for (std::string_view state : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (IsTrue(conditions, state)) return std::string(state);
  }
  return "Running";
}

std::string DurationText(const Value& status, WallTime now) {
  auto start = object::ParseTime(status.Get("startTime").AsString());
  if (!start) return "";
  auto end = object::ParseTime(status.Get("completionTime").AsString());
  return end ? HumanDuration(Between(start->ToClock(), end->ToClock())) : HumanDuration(Between(start->ToClock(), now));
}

std::string Unselectable(std::string_view label) { return "field label " + GoQuote(label) + " not supported for Job"; }

Value Cell(object::Arena& arena, std::string_view cell, Value job, WallTime now) {
  if (cell == "status") return TextCell(arena, StatusText(job));
  if (cell == "duration") return TextCell(arena, DurationText(job.Get("status"), now));
  Value completions = job.Path({"spec", "completions"});
  std::string text = std::to_string(job.Path({"status", "succeeded"}).AsInt()) + "/";
  int64_t parallelism = job.Path({"spec", "parallelism"}).AsInt();
  if (completions) {
    text += std::to_string(completions.AsInt());
  } else {
    text += parallelism > 1 ? "1 of " + std::to_string(parallelism) : "1";
  }
  return TextCell(arena, text);
}

}  // namespace

void CheckJobSpecBasics(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  CheckNonNegativeFields(spec, {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                                "backoffLimitPerIndex", "maxFailedIndexes"}, path, errors);
  if (spec.Get("maxFailedIndexes") && !spec.Get("backoffLimitPerIndex")) {
    errors.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
  }
  CheckManagedBy(spec, path, errors);
  CheckCompletionMode(spec, path, errors);
  if (spec.Get("podFailurePolicy")) CheckPodFailurePolicy(spec, path.Child("podFailurePolicy"), errors);
  if (Value policy = spec.Get("successPolicy")) {
    if (spec.Get("completionMode").AsString() == "Indexed") {
      CheckSuccessPolicy(spec, path.Child("successPolicy"), errors);
    } else {
      errors.Invalid(path.Child("successPolicy"), InternalValue(v1::SuccessPolicy::SchemaType(), policy), "requires indexed completion mode");
    }
  }
  CheckReplacementPolicy(spec, path, errors);
  CheckPodTemplateSpec(spec.Get("template"), old_spec.Get("template"), path.Child("template"), errors);
  CheckRestartPolicy(spec, path, errors);
}

void WarnOfJobSpec(const Value& spec, const Value& old_spec, const FieldPath& path, std::vector<std::string>& warnings) {
  if (spec.Get("completionMode").AsString() == "Indexed" && spec.Get("completions").AsInt() > kManyCompletions &&
      spec.Get("parallelism").AsInt() > kMaxParallelismOfMany) {
    warnings.push_back(path.String() +
                       ": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
                       "Kubernetes might not be able to track completedIndexes when a big number of indexes fail");
  }
  WarnOfPodTemplate(spec.Get("template"), old_spec.Get("template"), path.Child("template"), warnings);
}

const Behaviour kJob{.group = "batch", .kind = "Job", .prepare_create = PrepareNew, .validate_create = CheckNew,
                     .validate_update = CheckUpdate, .warn = Warn,
                     .warning_of_orphans = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
                                           "remove them or set propagationPolicy=Orphan to suppress this warning",
                     .cell = Cell, .unselectable = Unselectable};

}  // namespace homeostat::kinds
