// What may become of a job's status. A fault that was there before is let pass unless what it is about changes now.
// Source of the rules: pkg/apis/batch/validation and getStatusValidationOptions of pkg/registry/batch/job.
#include <set>
#include <string>

#include "homeostat/api/batch/v1.h"
#include "homeostat/object/time.h"
#include "kinds/batch/batch.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

struct State {
  explicit State(const Value& job) : spec(job.Get("spec")), status(job.Get("status")), conditions(status.Get("conditions")) {}

  bool Is(std::string_view type) const { return IsTrue(conditions, type); }
  bool finished() const { return Is("Complete") || Is("Failed"); }

  Value spec, status, conditions;
};

class StatusCheck {
 public:
  StatusCheck(const Value& job, const Value& old, FieldErrors& errors) : now_(job), old_(old), errors_(errors) {}

  void Run() {
    CheckCounts();
    CheckTerminalConditions();
    CheckFinished();
    CheckIndexes();
    if (now_.status.Get("ready").AsInt() > now_.status.Get("active").AsInt() && (Changed("ready") || Changed("active"))) {
      errors_.Invalid(path_.Child("ready"), now_.status.Get("ready"), "cannot set more ready pods than active");
    }
    CheckSuccessCriteria();
    CheckAgainstOld();
  }

 private:
  bool Changed(std::string_view field) const { return !object::Equal(now_.status.Get(field), old_.status.Get(field)); }
  bool ConditionChanged(std::string_view type) const { return now_.Is(type) != old_.Is(type); }
  bool FinishedChanged() const { return now_.finished() != old_.finished(); }
  void ConditionsFault(const std::string& detail) { errors_.Invalid(path_.Child("conditions"), BadValue::Omitted(), detail); }

  void CheckCounts() {
    CheckNonNegativeFields(now_.status, {"active", "succeeded", "failed", "ready", "terminating"}, path_, errors_);
    std::set<std::string_view> seen;
    for (std::string_view list : {"succeeded", "failed"}) {
      Value uids = now_.status.Path({"uncountedTerminatedPods", list});
      for (size_t i = 0; i < uids.size(); ++i) {
        FieldPath at = path_.Child("uncountedTerminatedPods").Child(list).Index(i);
        std::string_view uid = uids.At(i).AsString();
        if (uid.empty()) {
          errors_.Invalid(at, uid, "must not be empty");
        } else if (!seen.insert(uid).second) {
          errors_.Duplicate(at, uid);
        }
      }
    }
  }

  void CheckTerminalConditions() {
    bool complete = now_.Is("Complete"), complete_changed = ConditionChanged("Complete");
    Value start = now_.status.Get("startTime"), end = now_.status.Get("completionTime");
    bool end_matters = complete_changed || Changed("completionTime");
    if (complete && now_.Is("Failed") && (complete_changed || ConditionChanged("Failed"))) {
      ConditionsFault("cannot set Complete=True and Failed=true conditions");
    }
    if (complete && now_.Is("FailureTarget") && (complete_changed || ConditionChanged("FailureTarget"))) {
      ConditionsFault("cannot set Complete=True and FailureTarget=true conditions");
    }
    if (end && !complete && end_matters) {
      errors_.Invalid(path_.Child("completionTime"), end, "cannot set completionTime when there is no Complete=True condition");
    }
    if (!end && complete && end_matters) errors_.Required(path_.Child("completionTime"), "completionTime is required for Complete jobs");
    if (start && end && (Changed("startTime") || Changed("completionTime"))) {
      auto from = object::ParseTime(start.AsString()), to = object::ParseTime(end.AsString());
      if (from && to && *to < *from) errors_.Invalid(path_.Child("completionTime"), end, "must be equal to or after `startTime`");
    }
    if (now_.Is("Failed") && !now_.Is("FailureTarget") && (ConditionChanged("Failed") || Changed("failedIndexes"))) {
      ConditionsFault("cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if (complete && !now_.Is("SuccessCriteriaMet") && (complete_changed || ConditionChanged("SuccessCriteriaMet"))) {
      ConditionsFault("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
  }

  void CheckFinished() {
    if (!now_.finished()) return;
    Value active = now_.status.Get("active"), uncounted = now_.status.Get("uncountedTerminatedPods");
    if (active.AsInt() > 0 && (FinishedChanged() || Changed("active"))) {
      errors_.Invalid(path_.Child("active"), active, "active>0 is invalid for finished job");
    }
    Value completions = now_.spec.Get("completions");
    bool never_ran = now_.spec.Get("suspend").AsBool() && completions && completions.AsInt() == 0;
    if (!now_.status.Get("startTime") && (FinishedChanged() || Changed("startTime")) && !never_ran) {
      errors_.Required(path_.Child("startTime"), "startTime is required for finished job");
    }
    if (uncounted.Get("failed").size() + uncounted.Get("succeeded").size() > 0 &&
        (FinishedChanged() || Changed("uncountedTerminatedPods"))) {
      errors_.Invalid(path_.Child("uncountedTerminatedPods"),
                      InternalValue(api::batch::v1::UncountedTerminatedPods::SchemaType(), uncounted), "must be empty for finished job");
    }
  }

  void CheckIndexText(std::string_view field, FieldErrors& errors) {
    Value text = now_.status.Get(field);
    if (!text || !Changed(field)) return;
    IndexCount counted = CountIndexes(text.AsString(), now_.spec.Get("completions").AsInt());
    if (!counted.error.empty()) {
      errors.Invalid(path_.Child(field), text, "error parsing " + std::string(field) + ": " + counted.error);
    }
  }

  void CheckIndexes() {
    Value completions = now_.spec.Get("completions"), completed = now_.status.Get("completedIndexes");
    Value failed = now_.status.Get("failedIndexes"), backoff = now_.spec.Get("backoffLimitPerIndex");
    if (completions) CheckIndexText("completedIndexes", errors_);
    if (completions && backoff) CheckIndexText("failedIndexes", errors_);
    bool indexed = now_.spec.Get("completionMode").AsString() == "Indexed";
    if (!completed.AsString().empty() && !indexed && Changed("completedIndexes")) {
      errors_.Invalid(path_.Child("completedIndexes"), completed, "cannot set non-empty completedIndexes when non-indexed completion mode");
    }
    if (!backoff && failed && Changed("failedIndexes")) {
      errors_.Invalid(path_.Child("failedIndexes"), failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if (completions && failed && (Changed("failedIndexes") || Changed("completedIndexes"))) {
      std::string overlap = IndexOverlap(completed.AsString(), failed.AsString(), completions.AsInt());
      if (!overlap.empty()) errors_.Invalid(path_.Child("failedIndexes"), failed, overlap);
    }
    Value terminating = now_.status.Get("terminating");
    if (terminating.AsInt() > 0 && now_.finished() && (FinishedChanged() || Changed("terminating"))) {
      errors_.Invalid(path_.Child("terminating"), terminating, "terminating>0 is invalid for finished job");
    }
  }

  void CheckSuccessCriteria() {
    bool met = now_.Is("SuccessCriteriaMet");
    if (met && now_.Is("Failed")) ConditionsFault("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (met && now_.Is("FailureTarget")) ConditionsFault("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    if (now_.spec.Get("successPolicy") && !met && now_.Is("Complete")) {
      ConditionsFault("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
    }
  }

  void CheckNotDecreased(std::string_view field) {
    Value value = now_.status.Get(field);
    if (value.AsInt() < old_.status.Get(field).AsInt()) {
      errors_.Invalid(path_.Child(field), value.AsInt(), "cannot decrease the " + std::string(field) + " counter");
    }
  }

  void CheckAgainstOld() {
    for (std::string_view type : {"Failed", "Complete", "FailureTarget"}) {
      if (old_.Is(type) && !now_.Is(type)) ConditionsFault("cannot disable the terminal " + std::string(type) + "=True condition");
    }
    CheckNotDecreased("failed");
    bool elastic = now_.spec.Get("completionMode").AsString() == "Indexed" &&
                   object::Equal(now_.spec.Get("completions"), now_.spec.Get("parallelism"));
    if (!elastic) CheckNotDecreased("succeeded");
    Value end = now_.status.Get("completionTime"), start = now_.status.Get("startTime");
    if (end && old_.status.Get("completionTime") && Changed("completionTime")) errors_.Invalid(path_.Child("completionTime"), end, kImmutable);
    bool resuming = old_.Is("Suspended") && HasCondition(now_.conditions, "Suspended", "False");
    if (old_.status.Get("startTime") && Changed("startTime") && !resuming && !now_.spec.Get("suspend").AsBool()) {
      errors_.Invalid(path_.Child("startTime"), start, "field is immutable for unsuspended job once set");
    }
    bool met = now_.Is("SuccessCriteriaMet"), was_met = old_.Is("SuccessCriteriaMet");
    if (was_met && !met) ConditionsFault("cannot disable the SuccessCriteriaMet=True condition");
    if (old_.Is("Complete") && !was_met && met) {
      ConditionsFault("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
    }
  }

  State now_, old_;
  FieldErrors& errors_;
  const FieldPath path_{FieldPath("status")};
};

}  // namespace

void CheckJobStatusUpdate(const Value& job, const Value& old, FieldErrors& errors) { StatusCheck(job, old, errors).Run(); }

}  // namespace homeostat::kinds
