#include "server/options.h"

#include <charconv>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/field_errors.h"
#include "patch/manager_name.h"

namespace homeostat::server {
namespace {

using schema::FieldErrors;
using schema::FieldPath;

// Text to number as Go's strconv.ParseInt words its errors.
Result<int64_t> ParseInt(std::string_view text) {
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Fail(BadRequestError("strconv.ParseInt: parsing " + GoQuote(text) + ": value out of range"));
  }
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
    return Fail(BadRequestError("strconv.ParseInt: parsing " + GoQuote(text) + ": invalid syntax"));
  }
  return number;
}

std::string QuotedList(const std::vector<std::string_view>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ",";
    object::AppendJsonString(text, values[i]);
  }
  return text + "]";
}

// dryRun may be given once, as All.
bool CheckDryRun(const std::vector<std::string_view>& values, FieldErrors& errors) {
  bool all_only = true;
  for (std::string_view value : values) all_only = all_only && value == "All";
  if (!all_only) errors.NotSupported(FieldPath("dryRun"), schema::BadValue::Json(QuotedList(values)), {"All"});
  return !values.empty();
}

std::vector<std::string_view> DryRunValues(const http::Query& query) { return query.GetAll("dryRun"); }

void CheckFieldManager(std::string_view manager, WriteKind kind, FieldErrors& errors) {
  FieldPath path("fieldManager");
  if (kind == WriteKind::kApply && manager.empty()) {
    errors.Required(path, "is required for apply patch");
    return;
  }
  patch::ValidateManagerName(manager, path, errors);
}

void CheckFieldValidation(std::string_view text, FieldErrors& errors, FieldValidation& out) {
  if (text.empty() || text == "Warn") out = FieldValidation::kWarn;
  else if (text == "Ignore") out = FieldValidation::kIgnore;
  else if (text == "Strict") out = FieldValidation::kStrict;
  else errors.NotSupportedText(FieldPath("fieldValidation"), text, {"", "Ignore", "Strict", "Warn"});
}

std::string_view OptionsKind(WriteKind kind) {
  switch (kind) {
    case WriteKind::kCreate: return "CreateOptions";
    case WriteKind::kUpdate: return "UpdateOptions";
    default: return "PatchOptions";
  }
}

void CheckWatchOptions(const ListQuery& list, FieldErrors& errors) {
  FieldPath match("resourceVersionMatch");
  const bool not_older = list.resource_version_match == "NotOlderThan";
  if (list.send_initial_events && !not_older) errors.Forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (list.resource_version_match.empty()) return;
  if (!list.send_initial_events) errors.Forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (!not_older) errors.NotSupported(match, list.resource_version_match, {"NotOlderThan"});
  if (!list.continue_token.empty()) errors.Forbidden(match, "resourceVersionMatch is forbidden when continue is provided");
}

void CheckResourceVersionMatch(const ListQuery& list, FieldErrors& errors) {
  if (list.resource_version_match.empty()) return;
  FieldPath match("resourceVersionMatch");
  if (list.resource_version.empty()) {
    errors.Forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (!list.continue_token.empty()) {
    errors.Forbidden(match, "resourceVersionMatch is forbidden when continue is provided");
  }
  if (list.resource_version_match != "Exact" && list.resource_version_match != "NotOlderThan") {
    errors.NotSupported(match, list.resource_version_match, {"Exact", "NotOlderThan", ""});
  } else if (list.resource_version_match == "Exact" && list.resource_version == "0") {
    errors.Forbidden(match, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
}

// A watch that names no version to go on from, in the way that was there before sendInitialEvents: upstream takes it for one that asks
// for them, so that a bookmark ends them, too.
bool StartsFromAnywhere(const ListQuery& list) {
  return list.watch && !list.send_initial_events && list.resource_version_match.empty() && (list.resource_version.empty() || list.resource_version == "0");
}

}  // namespace

bool ParseBool(std::string_view text) { return !EqualsIgnoreCase(text, "false") && text != "0"; }

Result<std::optional<int64_t>> OptionalInt(const http::Query& query, std::string_view name) {
  if (!query.Has(name)) return std::optional<int64_t>();
  TRY_ASSIGN(int64_t number, ParseInt(query.Get(name)));
  return std::optional<int64_t>(number);
}

Result<ListQuery> ParseListQuery(const http::Query& query) {
  ListQuery list;
  list.label_selector = query.Get("labelSelector");
  list.field_selector = query.Get("fieldSelector");
  list.resource_version = query.Get("resourceVersion");
  list.resource_version_match = query.Get("resourceVersionMatch");
  list.continue_token = query.Get("continue");
  list.watch = query.Has("watch") && ParseBool(query.Get("watch"));
  list.allow_watch_bookmarks = query.Has("allowWatchBookmarks") && ParseBool(query.Get("allowWatchBookmarks"));
  if (query.Has("sendInitialEvents")) list.send_initial_events = ParseBool(query.Get("sendInitialEvents"));
  if (StartsFromAnywhere(list)) {
    list.send_initial_events = true;
    list.resource_version_match = "NotOlderThan";
  }
  TRY_ASSIGN(list.timeout_seconds, OptionalInt(query, "timeoutSeconds"));
  TRY_ASSIGN(std::optional<int64_t> limit, OptionalInt(query, "limit"));
  list.limit = limit.value_or(0);
  // Selectors that can't be read are refused before options that don't fit together.
  TRY(object::LabelSelector::Parse(list.label_selector));
  TRY(object::FieldSelector::Parse(list.field_selector));
  FieldErrors errors;
  if (list.watch) {
    CheckWatchOptions(list, errors);
  } else {
    CheckResourceVersionMatch(list, errors);
    if (list.send_initial_events) errors.Forbidden(FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list");
  }
  if (!errors.empty()) return Fail(errors.ToStatus("meta.k8s.io", "ListOptions", ""));
  return list;
}

Result<WriteQuery> ParseWriteQuery(const http::Query& query, WriteKind kind) {
  WriteQuery write;
  FieldErrors errors;
  write.field_manager = query.Get("fieldManager");
  if (query.Has("force")) {
    write.force = ParseBool(query.Get("force"));
    if (kind == WriteKind::kPatch) errors.Forbidden(FieldPath("force"), "may not be specified for non-apply patch");
  }
  CheckFieldManager(write.field_manager, kind, errors);
  write.dry_run = CheckDryRun(DryRunValues(query), errors);
  CheckFieldValidation(query.Get("fieldValidation"), errors, write.field_validation);
  if (!errors.empty()) return Fail(errors.ToStatus("meta.k8s.io", OptionsKind(kind), ""));
  return write;
}

namespace {

// What a deletion's options may not be.
std::optional<Status> FinishDeleteOptions(const std::vector<std::string_view>& dry_run, DeleteQuery& options) {
  FieldErrors errors;
  if (options.propagation_policy && options.orphan_dependents) {
    errors.Invalid(FieldPath("propagationPolicy"), *options.propagation_policy,
                   "orphanDependents and deletionPropagation cannot be both set");
  }
  if (options.propagation_policy && *options.propagation_policy != "Foreground" && *options.propagation_policy != "Background" &&
      *options.propagation_policy != "Orphan") {
    errors.NotSupported(FieldPath("propagationPolicy"), *options.propagation_policy,
                        {"Foreground", "Background", "Orphan", "nil"});
  }
  options.dry_run = CheckDryRun(dry_run, errors);
  // A negative period means at once, as near as the API can say it.
  if (options.grace_period_seconds && *options.grace_period_seconds < 0) options.grace_period_seconds = 1;
  if (errors.empty()) return std::nullopt;
  return errors.ToStatus("meta.k8s.io", "DeleteOptions", "");
}

}  // namespace

DeleteQuery DeleteOptionsOf(const object::Value& body, std::optional<Status>& fault) {
  DeleteQuery options;
  std::vector<std::string_view> dry_run;
  for (const object::Value& item : body.Get("dryRun").items()) dry_run.push_back(item.AsString());
  if (object::Value grace = body.Get("gracePeriodSeconds")) options.grace_period_seconds = grace.AsInt();
  if (object::Value policy = body.Get("propagationPolicy")) options.propagation_policy = policy.AsString();
  if (object::Value orphan = body.Get("orphanDependents")) options.orphan_dependents = orphan.AsBool();
  object::Value preconditions = body.Get("preconditions");
  if (object::Value uid = preconditions.Get("uid")) options.precondition_uid = uid.AsString();
  if (object::Value version = preconditions.Get("resourceVersion")) options.precondition_resource_version = version.AsString();
  fault = FinishDeleteOptions(dry_run, options);
  return options;
}

Result<DeleteQuery> ParseDeleteQuery(const http::Query& query, const object::Value& body) {
  DeleteQuery options;
  std::optional<Status> fault;
  if (body) {
    options = DeleteOptionsOf(body, fault);
  } else {
    TRY_ASSIGN(options.grace_period_seconds, OptionalInt(query, "gracePeriodSeconds"));
    if (query.Has("propagationPolicy")) options.propagation_policy = query.Get("propagationPolicy");
    if (query.Has("orphanDependents")) options.orphan_dependents = ParseBool(query.Get("orphanDependents"));
    if (std::string_view uid = query.Get("uid"); !uid.empty()) options.precondition_uid = uid;
    if (std::string_view version = query.Get("resourceVersion"); !version.empty()) options.precondition_resource_version = version;
    fault = FinishDeleteOptions(DryRunValues(query), options);
  }
  if (fault) return Fail(*std::move(fault));
  return options;
}

Result<uint64_t> ParseNumber(std::string_view text) {
  if (text.empty()) return 0;
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return Fail(BadRequestError("strconv.ParseUint: parsing " + GoQuote(text) + ": " +
                              (error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax")));
}

Result<uint64_t> ParseListVersion(std::string_view text) {
  auto version = ParseResourceVersion(text);
  if (!version) return Fail(BadRequestError("invalid resource version: " + version.error().message()));
  return version;
}

Result<uint64_t> ParseResourceVersion(std::string_view text) {
  auto number = ParseNumber(text);
  if (number) return *number;
  FieldErrors errors;
  errors.Invalid(FieldPath("resourceVersion"), text, number.error().message());
  return Fail(BadRequestError("resourceVersion: " + errors.causes()[0].message));
}

}  // namespace homeostat::server
