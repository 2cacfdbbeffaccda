// When a job has failed or succeeded: its policies, and texts that list indexes.
// Source of the rules: pkg/apis/batch/validation.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "homeostat/base/text.h"
#include "kinds/batch/batch.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxRules = 20, kMaxExitCodes = 255, kMaxPatterns = 20, kMaxIndexesText = 64 * 1024;

void CheckCount(const Value& list, int64_t limit, const FieldPath& path, FieldErrors& errors) {
  if (list.size() > limit) errors.TooMany(path, list.size(), limit);
}

void CheckExitCodes(const Value& codes, const std::set<std::string_view>& containers, const FieldPath& path, FieldErrors& errors) {
  std::string_view op = codes.Get("operator").AsString();
  if (op.empty()) {
    errors.Required(path.Child("operator"), "valid values: [\"In\" \"NotIn\"]");
  } else {
    CheckOneOf(op, {"In", "NotIn"}, path.Child("operator"), errors);
  }
  Value container = codes.Get("containerName"), values = codes.Get("values");
  if (container && !containers.contains(container.AsString())) {
    errors.Invalid(path.Child("containerName"), container, "must be one of the container or initContainer names in the pod template");
  }
  FieldPath values_path = path.Child("values");
  if (values.empty()) errors.Invalid(values_path, values ? BadValue(values) : BadValue::Null(), "at least one value is required");
  CheckCount(values, kMaxExitCodes, values_path, errors);
  std::set<int64_t> seen;
  bool ordered = true;
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t value = values.At(i).AsInt();
    if (op == "In" && value == 0) errors.Invalid(values_path.Index(i), value, "must not be 0 for the In operator");
    if (!seen.insert(value).second) errors.Duplicate(values_path.Index(i), value);
    if (i > 0 && values.At(i - 1).AsInt() > value) ordered = false;
  }
  if (!ordered) errors.Invalid(values_path, values, "must be ordered");
}

void CheckPatterns(const Value& patterns, const FieldPath& path, FieldErrors& errors) {
  CheckCount(patterns, kMaxPatterns, path, errors);
  for (size_t i = 0; i < patterns.size(); ++i) {
    FieldPath pattern = path.Index(i);
    CheckQualifiedName(patterns.At(i).Get("type").AsString(), pattern.Child("type"), errors);
    std::string_view status = patterns.At(i).Get("status").AsString();
    if (status.empty()) {
      errors.Required(pattern.Child("status"), "valid values: [\"False\" \"True\" \"Unknown\"]");
    } else {
      CheckOneOf(status, {"False", "True", "Unknown"}, pattern.Child("status"), errors);
    }
  }
}

void CheckFailureRule(const Value& spec, const Value& rule, const std::set<std::string_view>& containers, const FieldPath& path,
                      FieldErrors& errors) {
  std::string_view action = rule.Get("action").AsString();
  if (action.empty()) {
    errors.Required(path.Child("action"), "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
  } else if (action == "FailIndex") {
    if (!spec.Get("backoffLimitPerIndex")) errors.Invalid(path.Child("action"), action, "requires the backoffLimitPerIndex to be set");
  } else {
    CheckOneOf(action, {"Count", "FailIndex", "FailJob", "Ignore"}, path.Child("action"), errors);
  }
  Value codes = rule.Get("onExitCodes"), patterns = rule.Get("onPodConditions");
  if (codes) CheckExitCodes(codes, containers, path.Child("onExitCodes"), errors);
  if (!patterns.empty()) CheckPatterns(patterns, path.Child("onPodConditions"), errors);
  if (codes && !patterns.empty()) {
    errors.Invalid(path, BadValue::Omitted(), "specifying both OnExitCodes and OnPodConditions is not supported");
  } else if (!codes && patterns.empty()) {
    errors.Invalid(path, BadValue::Omitted(), "specifying one of OnExitCodes and OnPodConditions is required");
  }
}

void CheckSuccessRule(const Value& spec, const Value& rule, const FieldPath& path, FieldErrors& errors) {
  Value count = rule.Get("succeededCount"), indexes = rule.Get("succeededIndexes");
  int64_t completions = spec.Get("completions").AsInt();
  if (!count && !indexes) errors.Required(path, "at least one of succeededCount or succeededIndexes must be specified");
  IndexCount listed;
  if (indexes) {
    if (static_cast<int64_t>(indexes.AsString().size()) > kMaxIndexesText) errors.TooLong(path.Child("succeededIndexes"), kMaxIndexesText);
    listed = CountIndexes(indexes.AsString(), completions);
    if (!listed.error.empty()) {
      errors.Invalid(path.Child("succeededIndexes"), indexes, "error parsing succeededIndexes: " + listed.error);
    }
  }
  if (!count) return;
  FieldPath count_path = path.Child("succeededCount");
  CheckNonNegative(count.AsInt(), count_path, errors);
  auto limit = [&](int64_t most, const char* what) {
    if (count.AsInt() > most) errors.Invalid(count_path, count, "must be less than or equal to " + std::to_string(most) + what);
  };
  limit(completions, " (the number of specified completions)");
  if (indexes) limit(listed.count, " (the number of indexes in the specified succeededIndexes field)");
}

struct Interval {
  int64_t first = 0, last = 0;
  std::string error;
};

std::optional<int64_t> ParseIndex(std::string_view text, int64_t completions, std::string& error) {
  int64_t index = 0;
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) {
    error = "cannot convert string to integer for index: " + GoQuote(text);
    return std::nullopt;
  }
  if (index >= completions) {
    error = "too large index: " + GoQuote(text);
    return std::nullopt;
  }
  return index;
}

Interval ParseInterval(std::string_view text, int64_t completions) {
  Interval interval;
  size_t hyphen = text.find('-');
  if (hyphen != text.npos && text.find('-', hyphen + 1) != text.npos) {
    interval.error = "the fragment " + GoQuote(text) +
                     " violates the requirement that an index interval can have at most two parts separated by '-'";
    return interval;
  }
  auto first = ParseIndex(text.substr(0, hyphen), completions, interval.error);
  if (!first) return interval;
  interval.first = interval.last = *first;
  if (hyphen == text.npos) return interval;
  auto last = ParseIndex(text.substr(hyphen + 1), completions, interval.error);
  if (!last) return interval;
  interval.last = *last;
  if (*first >= *last) {
    interval.error = "non-increasing order, previous: " + std::to_string(*first) + ", current: " + std::to_string(*last);
  }
  return interval;
}

std::vector<std::string_view> SplitIntervals(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) parts.push_back(text);
  }
  return parts;
}

std::vector<Interval> GoodIntervals(std::string_view text, int64_t completions) {
  std::vector<Interval> good;
  for (std::string_view part : SplitIntervals(text)) {
    Interval interval = ParseInterval(part, completions);
    if (interval.error.empty()) good.push_back(interval);
  }
  return good;
}

}  // namespace

void CheckPodFailurePolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value rules = spec.Path({"podFailurePolicy", "rules"});
  FieldPath rules_path = path.Child("rules");
  CheckCount(rules, kMaxRules, rules_path, errors);
  std::set<std::string_view> containers;
  for (std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : spec.Path({"template", "spec"}).Get(list).items()) containers.insert(container.Get("name").AsString());
  }
  for (size_t i = 0; i < rules.size(); ++i) CheckFailureRule(spec, rules.At(i), containers, rules_path.Index(i), errors);
}

void CheckSuccessPolicy(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value rules = spec.Path({"successPolicy", "rules"});
  FieldPath rules_path = path.Child("rules");
  if (rules.empty()) errors.Required(rules_path, "at least one rules must be specified when the successPolicy is specified");
  CheckCount(rules, kMaxRules, rules_path, errors);
  for (size_t i = 0; i < rules.size(); ++i) CheckSuccessRule(spec, rules.At(i), rules_path.Index(i), errors);
}

IndexCount CountIndexes(std::string_view text, int64_t completions) {
  IndexCount result;
  int64_t previous = -1;
  for (std::string_view part : SplitIntervals(text)) {
    Interval interval = ParseInterval(part, completions);
    if (interval.error.empty() && previous >= interval.first) {
      interval.error = "non-increasing order, previous: " + std::to_string(previous) + ", current: " + std::to_string(interval.first);
    }
    if (!interval.error.empty()) return {0, interval.error};
    result.count += interval.last - interval.first + 1;
    previous = interval.last;
  }
  return result;
}

std::string IndexOverlap(std::string_view completed, std::string_view failed, int64_t completions) {
  std::vector<Interval> done = GoodIntervals(completed, completions), bad = GoodIntervals(failed, completions);
  size_t i = 0, j = 0;
  while (i < done.size() && j < bad.size()) {
    if (done[i].first <= bad[j].last && bad[j].first <= done[i].last) {
      return "failedIndexes and completedIndexes overlap at index: " + std::to_string(std::max(done[i].first, bad[j].first));
    }
    if (done[i].first <= bad[j].first) ++i; else ++j;
  }
  return "";
}

}  // namespace homeostat::kinds
