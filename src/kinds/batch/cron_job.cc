// CronJob. Source of the rules: pkg/apis/batch/validation, pkg/registry/batch/cronjob.
#include <algorithm>

#include "homeostat/api/batch/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/cron_schedule.h"
#include "kinds/batch/batch.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxName = object::kDNS1035LabelMaxLength - 11;  // jobs get a suffix of eleven

void CheckSchedule(const Value& spec, const Value& old_spec, const FieldPath& path, FieldErrors& errors) {
  std::string_view schedule = spec.Get("schedule").AsString();
  if (schedule.empty()) return errors.Required(path);
  auto parsed = object::CronSchedule::Parse(schedule);
  if (!parsed) errors.Invalid(path, schedule, parsed.error().message());
  if (schedule.find("TZ") == schedule.npos) return;
  bool allowed = old_spec.Get("schedule").AsString().find("TZ") != std::string_view::npos;
  if (!allowed) {
    errors.Invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  } else if (spec.Get("timeZone")) {
    errors.Invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
  }
}

bool IsZonePart(std::string_view part) {
  if (part.empty() || part.size() > 14 || part == "." || part.starts_with('-')) return false;
  return std::ranges::all_of(part, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == '+';
  });
}

void CheckTimeZone(const Value& zone, const FieldPath& path, FieldErrors& errors) {
  if (!zone) return;
  std::string_view name = zone.AsString();
  auto refuse = [&](std::string_view why) { errors.InvalidNamed(path, name, why); };
  if (name.empty()) return refuse("timeZone must be nil or non-empty string");
  std::string unknown = "unknown time zone " + std::string(name);
  for (std::string_view rest = name;;) {
    size_t slash = rest.find('/');
    if (!IsZonePart(rest.substr(0, slash))) return refuse(unknown);
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (EqualsIgnoreCase(name, "local")) {
    refuse("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  }
  if (name.contains("..")) return refuse("time: invalid location name");
  if (!object::TimeZone::IsKnown(name)) refuse(unknown);
}

void CheckJobTemplate(const Value& job_template, const Value& old, const FieldPath& path, FieldErrors& errors) {
  Value spec = job_template.Get("spec");
  FieldPath spec_path = path.Child("spec");
  CheckJobSpecBasics(spec, old.Get("spec"), spec_path, errors);
  if (Value selector = spec.Get("selector")) {
    errors.Invalid(spec_path.Child("selector"), BadValue(api::meta::v1::LabelSelector::SchemaType(), selector),
                   "`selector` will be auto-generated");
  }
  if (spec.Get("manualSelector").AsBool()) errors.NotSupported(spec_path.Child("manualSelector"), true, {"nil", "false"});
}

void CheckSpec(const Value& spec, const Value& old_spec, FieldErrors& errors) {
  FieldPath path("spec");
  CheckSchedule(spec, old_spec, path.Child("schedule"), errors);
  CheckNonNegativeFields(spec, {"startingDeadlineSeconds"}, path, errors);
  Value zone = spec.Get("timeZone");
  if (!old_spec || !object::Equal(zone, old_spec.Get("timeZone"))) CheckTimeZone(zone, path.Child("timeZone"), errors);
  RequireOneOf(spec.Get("concurrencyPolicy").AsString(), {"Allow", "Forbid", "Replace"}, path.Child("concurrencyPolicy"), errors);
  CheckJobTemplate(spec.Get("jobTemplate"), old_spec.Get("jobTemplate"), path.Child("jobTemplate"), errors);
  CheckNonNegativeFields(spec, {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}, path, errors);
}

void CheckNew(RuleContext&, Value job, FieldErrors& errors) {
  CheckSpec(job.Get("spec"), Value(), errors);
  std::string_view name = job.Path({"metadata", "name"}).AsString();
  if (name.size() > kMaxName) errors.Invalid(FieldPath("metadata").Child("name"), name, "must be no more than 52 characters");
}

void CheckUpdate(RuleContext& context, Value job, Value old, FieldErrors& errors) {
  if (context.subresource != "status") CheckSpec(job.Get("spec"), old.Get("spec"), errors);
}

void Warn(RuleContext& context, Value job, Value old) {
  if (context.subresource == "status") return;
  if (!old) WarnOfPodNames(job, *context.warnings);
  if (!old || GenerationChanged(job, old)) {
    WarnOfJobSpec(job.Path({"spec", "jobTemplate", "spec"}), old.Path({"spec", "jobTemplate", "spec"}),
                  FieldPath("spec").Child("jobTemplate", "spec"), *context.warnings);
  }
  if (old && job.Path({"spec", "schedule"}).AsString().find("TZ") != std::string_view::npos) {
    context.warnings->push_back(
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
  }
}

}  // namespace

const Behaviour kCronJob{.group = "batch", .kind = "CronJob", .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = Warn};

}  // namespace homeostat::kinds
