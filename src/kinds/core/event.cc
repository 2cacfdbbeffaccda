#include "kinds/core/event.h"

#include "homeostat/object/time.h"
#include "kinds/cells.h"
#include "kinds/core/behaviours.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxText = 128, kMaxMessage = 1024;

void CheckText(const Value& event, std::string_view field, FieldErrors& errors) {
  std::string_view text = event.Get(field).AsString();
  if (text.empty()) errors.Required(FieldPath(field));
  if (text.size() > kMaxText) errors.Invalid(FieldPath(field), "", "can have at most 128 characters");
}

// The namespace of the event is that of what it is about.
void CheckNamespaces(const Value& event, bool has_event_time, FieldErrors& errors) {
  std::string_view own = event.Get("metadata").Get("namespace").AsString(), about = event.Get("involvedObject").Get("namespace").AsString();
  bool good = has_event_time ? !about.empty() || own == "default" || own == "kube-system"
              : about.empty() ? own.empty() || own == "default" : own == about;
  FieldPath object("involvedObject");
  if (!good) errors.Invalid(object.Child("namespace"), about, "does not match event.namespace");
}

void ValidateCreate(RuleContext&, Value event, FieldErrors& errors) { CheckEventBasics(event, "reportingComponent", errors); }
void ValidateUpdate(RuleContext&, Value event, Value, FieldErrors& errors) { CheckEventBasics(event, "reportingComponent", errors); }

// A MicroTime is as good.
std::string SinceMicro(const Value& timestamp, WallTime now) {
  auto then = object::ParseMicroTime(timestamp.AsString());
  return then ? HumanDuration(now - then->ToClock()) : std::string("<unknown>");
}

std::string FirstSeen(const Value& event, WallTime now) {
  Value first = event.Get("firstTimestamp");
  return first ? Since(first, now) : SinceMicro(event.Get("eventTime"), now);
}

std::string LastSeen(const Value& event, WallTime now) {
  if (Value series = event.Get("series")) return SinceMicro(series.Get("lastObservedTime"), now);
  Value last = event.Get("lastTimestamp");
  return last ? Since(last, now) : FirstSeen(event, now);
}

int64_t Count(const Value& event) {
  if (Value series = event.Get("series")) return series.Get("count").AsInt();
  int64_t count = event.Get("count").AsInt();
  return count == 0 ? 1 : count;
}

std::string Target(const Value& event) {
  std::string kind(event.Get("involvedObject").Get("kind").AsString()), name(event.Get("involvedObject").Get("name").AsString());
  for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name.empty() ? kind : kind + "/" + name;
}

std::string SourceText(const Value& event) {
  std::string_view component = event.Get("source").Get("component").AsString(), host = event.Get("source").Get("host").AsString();
  if (component.empty()) component = event.Get("reportingComponent").AsString();
  if (host.empty()) host = event.Get("reportingInstance").AsString();
  return host.empty() ? std::string(component) : std::string(component) + ", " + std::string(host);
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::string> Selectable(Value event, std::string_view field) {
  if (field != "source") return std::nullopt;
  std::string_view component = event.Get("source").Get("component").AsString();
  return std::string(component.empty() ? event.Get("reportingComponent").AsString() : component);
}

}  // namespace

void CheckEventBasics(const Value& event, std::string_view reporting_field, FieldErrors& errors) {
  bool has_event_time = static_cast<bool>(event.Get("eventTime"));
  CheckNamespaces(event, has_event_time, errors);
  if (has_event_time) {
    std::string_view controller = event.Get("reportingComponent").AsString();
    if (controller.empty()) errors.Required(FieldPath(reporting_field));
    CheckQualifiedName(controller, FieldPath(reporting_field), errors);
    for (std::string_view field : {"reportingInstance", "action", "reason"}) CheckText(event, field, errors);
    if (event.Get("message").AsString().size() > kMaxMessage) errors.Invalid(FieldPath("message"), "", "can have at most 1024 characters");
  }
  CheckDns1123Subdomain(event.Get("metadata").Get("namespace").AsString(), FieldPath("namespace"), errors);
}

Value EventCell(object::Arena& arena, std::string_view cell, Value event, WallTime now) {
  if (cell == "count") return Value::Int(Count(event));
  if (cell == "last_seen") return TextCell(arena, LastSeen(event, now));
  if (cell == "first_seen") return TextCell(arena, FirstSeen(event, now));
  if (cell == "object") return TextCell(arena, Target(event));
  if (cell == "source") return TextCell(arena, SourceText(event));
  return TextCell(arena, Trimmed(event.Get("message").AsString()));
}

const Behaviour kEventBehaviour = {
    .group = "",
    .kind = "Event",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .cell = EventCell,
    .selectable = Selectable,
};

}  // namespace homeostat::kinds
