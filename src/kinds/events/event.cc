// Event. Source of the rules: pkg/apis/core/validation/events.go, pkg/apis/events/v1/conversion.go. Clients of the core group are
// let do what they always could; those of events.k8s.io have to say more and can change less.
#include <algorithm>
#include <string>
#include <utility>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/events/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/edit.h"
#include "kinds/events/events.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxName = 128, kMaxNote = 1024;

bool IsCore(const RuleContext& context) { return context.requested == nullptr || context.requested->gvk.group.empty(); }

void CheckSize(const Value& event, std::string_view field, size_t limit, bool required, FieldErrors& errors) {
  size_t size = event.Get(field).AsString().size();
  if (size == 0 && required) errors.Required(FieldPath(field));
  if (size > limit) errors.Invalid(FieldPath(field), "", "can have at most " + std::to_string(limit) + " characters");
}

void CheckBasics(const RuleContext& context, const Value& event, FieldErrors& errors) {
  std::string_view ns = event.Path({"metadata", "namespace"}).AsString();
  std::string_view about = event.Path({"involvedObject", "namespace"}).AsString();
  FieldPath about_path = FieldPath("involvedObject").Child("namespace");
  bool old_style = !event.Get("eventTime");
  bool matches = !about.empty() ? !old_style || about == ns
                                : ns == "default" || (old_style ? ns.empty() : ns == "kube-system");
  if (!matches) errors.Invalid(about_path, about, "does not match event.namespace");
  if (old_style) return;
  FieldPath reporter(IsCore(context) ? "reportingComponent" : "reportingController");
  std::string_view controller = event.Get("reportingComponent").AsString();
  if (controller.empty()) errors.Required(reporter);
  CheckQualifiedName(controller, reporter, errors);
  CheckSize(event, "reportingInstance", kMaxName, true, errors);
  CheckSize(event, "action", kMaxName, true, errors);
  CheckSize(event, "reason", kMaxName, true, errors);
  CheckSize(event, "message", kMaxNote, false, errors);
}

void CheckSeries(const Value& event, FieldErrors& errors) {
  Value series = event.Get("series");
  if (!series) return;
  if (series.Get("count").AsInt() < 2) errors.Invalid(FieldPath("series.count"), "", "should be at least 2");
  if (!series.Get("lastObservedTime")) errors.Required(FieldPath("series.lastObservedTime"));
}

void CheckNew(RuleContext& context, Value event, FieldErrors& errors) {
  CheckBasics(context, event, errors);
  if (IsCore(context)) return;
  CheckRestOfMetadata(context, errors);
  CheckSeries(event, errors);
  if (!event.Get("eventTime")) errors.Required(FieldPath("eventTime"));
  std::string_view type = event.Get("type").AsString();
  if (type != "Normal" && type != "Warning") errors.Invalid(FieldPath("type"), "", "has invalid value: " + std::string(type));
  for (std::string_view field : {"firstTimestamp", "lastTimestamp", "count"}) {
    if (event.Get(field)) errors.Invalid(FieldPath(field), "", "needs to be unset");
  }
  Value source = event.Get("source");
  if (!source.Get("component").AsString().empty() || !source.Get("host").AsString().empty()) {
    errors.Invalid(FieldPath("source"), "", "needs to be unset");
  }
}

void CheckUpdate(RuleContext& context, Value event, Value old, FieldErrors& errors) {
  CheckBasics(context, event, errors);
  if (IsCore(context)) return;
  CheckRestOfMetadata(context, errors);
  const schema::Type& type = api::core::v1::Event::SchemaType();
  if (!schema::IsEqual(*type.FindField("series")->type, event.Get("series"), old.Get("series"))) CheckSeries(event, errors);
  for (std::string_view field : {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason",
                                 "type", "eventTime", "action", "related"}) {
    CheckImmutableInternal(type, field, event, old, FieldPath(), errors);
  }
  if (event.Get("reportingComponent").AsString() != old.Get("reportingComponent").AsString()) {
    errors.Invalid(FieldPath("reportingController"), event.Get("reportingComponent").AsString(), kImmutable);
  }
  CheckImmutableInternal(type, "reportingInstance", event, old, FieldPath(), errors);
}

// What the two groups call the same thing: core's name, that of events.k8s.io.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

std::string_view NameIn(bool core, std::string_view name) {
  for (const auto& [core_name, other] : kRenamed) {
    if (name == (core ? other : core_name)) return core ? core_name : other;
  }
  return name;
}

Value Convert(object::Arena& arena, Value event, const schema::Kind& from, const schema::Kind& to) {
  if (from.gvk == to.gvk) return event;
  bool to_core = to.gvk.group.empty();
  return Edited(arena, *to.type, Value(), [&](Edit& converted) {
    for (const object::Member& member : event.members()) {
      if (member.name() == "apiVersion") {
        converted.Set("apiVersion", Value::String(arena, to.gvk.ApiVersion()));
      } else {
        converted.Set(NameIn(to_core, member.name()), member.value);
      }
    }
  });
}

std::string FirstSeen(const Value& event, WallTime now) {
  Value first = event.Get("firstTimestamp");
  return Since(first ? first : event.Get("eventTime"), now);
}

std::string LastSeen(const Value& event, WallTime now) {
  Value series = event.Get("series"), last = event.Get("lastTimestamp");
  if (series) return Since(series.Get("lastObservedTime"), now);
  return last ? Since(last, now) : FirstSeen(event, now);
}

int64_t Count(const Value& event) {
  if (Value series = event.Get("series")) return series.Get("count").AsInt();
  return std::max<int64_t>(event.Get("count").AsInt(), 1);
}

std::string Source(const Value& event) {
  auto first = [&](std::string_view field, std::string_view other) {
    std::string_view text = event.Get("source").Get(field).AsString();
    return std::string(text.empty() ? event.Get(other).AsString() : text);
  };
  std::string component = first("component", "reportingComponent"), host = first("host", "reportingInstance");
  return host.empty() ? component : component + ", " + host;
}

Value Cell(object::Arena& arena, std::string_view cell, Value event, WallTime now) {
  if (cell == "last_seen") return TextCell(arena, LastSeen(event, now));
  if (cell == "first_seen") return TextCell(arena, FirstSeen(event, now));
  if (cell == "count") return Value::Int(Count(event));
  if (cell == "source") return TextCell(arena, Source(event));
  if (cell == "object") {
    Value about = event.Get("involvedObject");
    std::string text = LowerCase(about.Get("kind").AsString());
    std::string_view name = about.Get("name").AsString();
    return TextCell(arena, name.empty() ? text : text + "/" + std::string(name));
  }
  std::string_view message = TrimSpace(event.Get("message").AsString());
  return message.empty() ? Value::StringRef("") : TextCell(arena, message);
}

// By the names of either group. Old events say in source what new ones say in reportingComponent.
std::optional<std::string> Selectable(Value event, std::string_view field) {
  constexpr std::string_view kRegarding = "regarding.";
  if (field.starts_with(kRegarding)) return std::string(event.Get("involvedObject").Get(field.substr(kRegarding.size())).AsString());
  if (field == "reportingController") return std::string(event.Get("reportingComponent").AsString());
  if (field != "source") return std::nullopt;
  std::string_view component = event.Get("source").Get("component").AsString();
  return std::string(component.empty() ? event.Get("reportingComponent").AsString() : component);
}

}  // namespace

const Behaviour kEvent{.group = "", .kind = "Event", .validate_create = CheckNew, .validate_update = CheckUpdate, .cell = Cell,
                       .selectable = Selectable, .convert = Convert, .uncached = true};

}  // namespace homeostat::kinds
