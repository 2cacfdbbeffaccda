// HorizontalPodAutoscaler of v1 and v2. Source of the rules: pkg/apis/autoscaling/v1/conversion.go.
#include <string>

#include "homeostat/api/autoscaling/v1.h"
#include "homeostat/api/autoscaling/v2.h"
#include "homeostat/object/json.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/autoscaling/autoscaling.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::autoscaling::v1;
namespace v2 = api::autoscaling::v2;

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kDownTolerance = "autoscaling.alpha.kubernetes.io/scale-down-tolerance";
constexpr std::string_view kUpTolerance = "autoscaling.alpha.kubernetes.io/scale-up-tolerance";
constexpr int64_t kDefaultCpuUtilization = 80;

// The untyped trees that are built here are typed by Conform afterwards.
class Builder {
 public:
  explicit Builder(Arena& arena) : object_(arena) {}
  Builder& Set(std::string_view name, Value value) {
    if (value) object_.Set(name, value);
    return *this;
  }
  Value Build() { return object_.Build(); }

 private:
  object::ObjectBuilder object_;
};

Value Text(std::string_view text) { return Value::StringRef(text); }
Value Zero() { return Text("0"); }
Value OrZero(const Value& quantity) { return quantity ? quantity : Zero(); }
bool IsZeroQuantity(const Value& quantity) {
  auto parsed = object::Quantity::Parse(quantity.AsString());
  return !quantity || !parsed || parsed->IsZero();
}

bool IsCpuUtilization(const Value& metric, std::string_view holder) {
  Value resource = metric.Get("resource");
  return metric.Get("type").AsString() == "Resource" && resource.Get("name").AsString() == "cpu" &&
         resource.Get(holder).Get("averageUtilization");
}

// The member of a MetricSpec or MetricStatus that its type names.
constexpr std::string_view kSources[] = {"object", "pods", "resource", "containerResource", "external"};

// --- v2 to v1 ---

Value SourceToV1(Arena& arena, std::string_view name, const Value& source, bool status) {
  Value target = source.Get(status ? "current" : "target"), metric = source.Get("metric");
  Value average = target.Get("averageValue"), value = target.Get("value");
  Builder built(arena);
  if (name == "object") {
    built.Set("target", source.Get("describedObject")).Set("metricName", metric.Get("name"));
    built.Set(status ? "currentValue" : "targetValue", OrZero(value));
    return built.Set("selector", metric.Get("selector")).Set("averageValue", average).Build();
  }
  if (name == "pods") {
    built.Set("metricName", metric.Get("name")).Set(status ? "currentAverageValue" : "targetAverageValue", OrZero(average));
    return built.Set("selector", metric.Get("selector")).Build();
  }
  if (name == "external") {
    built.Set("metricName", metric.Get("name")).Set("metricSelector", metric.Get("selector"));
    built.Set(status ? "currentValue" : "targetValue", status ? OrZero(value) : value);
    return built.Set(status ? "currentAverageValue" : "targetAverageValue", average).Build();
  }
  built.Set("name", source.Get("name")).Set("container", source.Get("container"));
  built.Set(status ? "currentAverageUtilization" : "targetAverageUtilization", target.Get("averageUtilization"));
  return built.Set(status ? "currentAverageValue" : "targetAverageValue", status ? OrZero(average) : average).Build();
}

Value MetricToV1(Arena& arena, const Value& metric, bool status) {
  Builder built(arena);
  built.Set("type", metric.Get("type"));
  for (std::string_view name : kSources) {
    if (metric.Get(name)) built.Set(name, SourceToV1(arena, name, metric.Get(name), status));
  }
  return built.Build();
}

Value TypedOr(Arena& arena, const Value& untyped, const schema::Type& type) {
  schema::ConformReport report{.collect = false};
  auto typed = schema::Conform(arena, untyped, type, report);
  return typed ? *typed : Value();
}

// A list of v2 as JSON of the type of v1.
void SaveList(Edit& metadata, std::string_view key, const schema::Type& item_type, const std::vector<Value>& items) {
  if (items.empty()) return;
  std::string text = "[";
  for (const Value& item : items) {
    if (text.size() > 1) text += ',';
    schema::EncodeJson(item_type, TypedOr(metadata.arena(), item, item_type), text);
  }
  metadata.SetEntry("annotations", key, Value::String(metadata.arena(), text + "]"));
}

void DropAnnotations(Edit& metadata) {
  for (std::string_view key : {kMetrics, kBehavior, kDownTolerance, kUpTolerance, kCurrentMetrics, kConditions}) {
    if (metadata.Get("annotations").Find(key) != nullptr) metadata.SetEntry("annotations", key, Value());
  }
}

Value MetadataToV1(Arena& arena, const Value& autoscaler) {
  Value spec = autoscaler.Get("spec"), status = autoscaler.Get("status");
  return Edited(arena, api::meta::v1::ObjectMeta::SchemaType(), autoscaler.Get("metadata"), [&](Edit& metadata) {
    DropAnnotations(metadata);
    std::vector<Value> others, current, conditions;
    for (const Value& metric : spec.Get("metrics").items()) {
      if (!IsCpuUtilization(metric, "target")) others.push_back(MetricToV1(arena, metric, false));
    }
    for (const Value& metric : status.Get("currentMetrics").items()) current.push_back(MetricToV1(arena, metric, true));
    for (const Value& condition : status.Get("conditions").items()) conditions.push_back(condition);
    SaveList(metadata, kMetrics, v1::MetricSpec::SchemaType(), others);
    SaveList(metadata, kCurrentMetrics, v1::MetricStatus::SchemaType(), current);
    if (Value behavior = spec.Get("behavior")) {
      // Upstream writes its internal struct, whose fields have Go's names.
      schema::BadValue text = InternalValue(v2::HorizontalPodAutoscalerBehavior::SchemaType(), behavior);
      metadata.SetEntry("annotations", kBehavior, Value::String(arena, text.text()));
    }
    SaveList(metadata, kConditions, v1::HorizontalPodAutoscalerCondition::SchemaType(), conditions);
  });
}

Value ToV1(Arena& arena, const Value& autoscaler) {
  Value spec = autoscaler.Get("spec"), status = autoscaler.Get("status");
  Builder new_spec(arena), new_status(arena), built(arena);
  for (std::string_view field : {"scaleTargetRef", "minReplicas", "maxReplicas"}) new_spec.Set(field, spec.Get(field));
  for (const Value& metric : spec.Get("metrics").items()) {
    if (!IsCpuUtilization(metric, "target")) continue;
    new_spec.Set("targetCPUUtilizationPercentage", metric.Path({"resource", "target", "averageUtilization"}));
    break;
  }
  for (std::string_view field : {"observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"}) {
    new_status.Set(field, status.Get(field));
  }
  for (const Value& metric : status.Get("currentMetrics").items()) {
    if (!IsCpuUtilization(metric, "current")) continue;
    new_status.Set("currentCPUUtilizationPercentage", metric.Path({"resource", "current", "averageUtilization"}));
  }
  return built.Set("kind", autoscaler.Get("kind")).Set("apiVersion", autoscaler.Get("apiVersion") ? Text("autoscaling/v1") : Value())
      .Set("metadata", MetadataToV1(arena, autoscaler)).Set("spec", new_spec.Build()).Set("status", new_status.Build()).Build();
}

// --- v1 to v2 ---

Value Target(Arena& arena, std::string_view type, const Value& value, const Value& average, const Value& utilization) {
  return Builder(arena).Set("type", Text(type)).Set("value", value).Set("averageValue", average)
      .Set("averageUtilization", utilization).Build();
}

Value Current(Arena& arena, const Value& value, const Value& average, const Value& utilization) {
  return Builder(arena).Set("value", value).Set("averageValue", average).Set("averageUtilization", utilization).Build();
}

Value Metric(Arena& arena, const Value& source, std::string_view selector) {
  return Builder(arena).Set("name", source.Get("metricName")).Set("selector", source.Get(selector)).Build();
}

Value SpecSourceToV2(Arena& arena, std::string_view name, const Value& source) {
  Builder built(arena);
  if (name == "object") {
    Value average = source.Get("averageValue"), value = source.Get("targetValue");
    if (average && IsZeroQuantity(value)) value = Value(); else value = OrZero(value);
    return built.Set("describedObject", source.Get("target")).Set("metric", Metric(arena, source, "selector"))
        .Set("target", Target(arena, average ? "AverageValue" : "Value", value, average, Value())).Build();
  }
  if (name == "pods") {
    return built.Set("metric", Metric(arena, source, "selector"))
        .Set("target", Target(arena, "AverageValue", Value(), OrZero(source.Get("targetAverageValue")), Value())).Build();
  }
  if (name == "external") {
    Value value = source.Get("targetValue");
    return built.Set("metric", Metric(arena, source, "metricSelector"))
        .Set("target", Target(arena, value ? "Value" : "AverageValue", value, source.Get("targetAverageValue"), Value())).Build();
  }
  Value utilization = source.Get("targetAverageUtilization");
  return built.Set("name", source.Get("name")).Set("container", source.Get("container"))
      .Set("target", Target(arena, utilization ? "Utilization" : "AverageValue", Value(), source.Get("targetAverageValue"), utilization)).Build();
}

Value StatusSourceToV2(Arena& arena, std::string_view name, const Value& source) {
  Builder built(arena);
  Value value = source.Get("currentValue"), average = source.Get("currentAverageValue");
  if (name == "object") {
    return built.Set("describedObject", source.Get("target")).Set("metric", Metric(arena, source, "selector"))
        .Set("current", Current(arena, OrZero(value), source.Get("averageValue"), Value())).Build();
  }
  if (name == "pods") {
    return built.Set("metric", Metric(arena, source, "selector")).Set("current", Current(arena, Value(), OrZero(average), Value())).Build();
  }
  if (name == "external") {
    return built.Set("metric", Metric(arena, source, "metricSelector")).Set("current", Current(arena, OrZero(value), average, Value())).Build();
  }
  return built.Set("name", source.Get("name")).Set("container", source.Get("container"))
      .Set("current", Current(arena, Value(), OrZero(average), source.Get("currentAverageUtilization"))).Build();
}

Value MetricToV2(Arena& arena, const Value& metric, bool status) {
  Builder built(arena);
  built.Set("type", metric.Get("type"));
  for (std::string_view name : kSources) {
    Value source = metric.Get(name);
    if (source) built.Set(name, status ? StatusSourceToV2(arena, name, source) : SpecSourceToV2(arena, name, source));
  }
  return built.Build();
}

Value CpuMetric(Arena& arena, const Value& utilization, bool status) {
  Value numbers = status ? Current(arena, Value(), Value(), utilization) : Target(arena, "Utilization", Value(), Value(), utilization);
  Value resource = Builder(arena).Set("name", Text("cpu")).Set(status ? "current" : "target", numbers).Build();
  return Builder(arena).Set("type", Text("Resource")).Set("resource", resource).Build();
}

// What an annotation holds; absent if it is not there or no JSON.
Value Saved(Arena& arena, const Value& autoscaler, std::string_view key) {
  const object::Member* entry = autoscaler.Path({"metadata", "annotations"}).Find(key);
  if (entry == nullptr) return Value();
  auto parsed = object::ParseJson(arena, arena.Copy(entry->value.AsString()));
  return parsed ? *parsed : Value();
}

// Go's names of fields as the API spells them.
Value WithApiNames(Arena& arena, const Value& value) {
  if (value.IsList()) {
    object::ListBuilder list(arena);
    for (const Value& item : value.items()) list.Append(WithApiNames(arena, item));
    return list.Build();
  }
  if (!value.IsObject()) return value;
  object::ObjectBuilder built(arena);
  for (const object::Member& member : value.members()) {
    std::string name(member.name());
    if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z') name[0] = static_cast<char>(name[0] + 32);
    built.SetCopyName(name, WithApiNames(arena, member.value));
  }
  return built.Build();
}

Value MetricsToV2(Arena& arena, const Value& autoscaler) {
  object::ListBuilder metrics(arena);
  for (const Value& metric : Saved(arena, autoscaler, kMetrics).items()) metrics.Append(MetricToV2(arena, metric, false));
  Value utilization = autoscaler.Path({"spec", "targetCPUUtilizationPercentage"});
  if (utilization) metrics.Append(CpuMetric(arena, utilization, false));
  if (metrics.empty()) metrics.Append(CpuMetric(arena, Value::Int(kDefaultCpuUtilization), false));
  return metrics.Build();
}

Value CurrentMetricsToV2(Arena& arena, const Value& autoscaler) {
  object::ListBuilder metrics(arena);
  Value saved = Saved(arena, autoscaler, kCurrentMetrics);
  for (const Value& metric : saved.items()) metrics.Append(MetricToV2(arena, metric, true));
  Value utilization = autoscaler.Path({"status", "currentCPUUtilizationPercentage"});
  if (!saved.IsList() && utilization) metrics.Append(CpuMetric(arena, utilization, true));
  return metrics.empty() ? Value() : metrics.Build();
}

Value ToV2(Arena& arena, const Value& autoscaler) {
  Value spec = autoscaler.Get("spec"), status = autoscaler.Get("status");
  Builder new_spec(arena), new_status(arena), built(arena);
  for (std::string_view field : {"scaleTargetRef", "minReplicas", "maxReplicas"}) new_spec.Set(field, spec.Get(field));
  Value behavior = WithApiNames(arena, Saved(arena, autoscaler, kBehavior));
  new_spec.Set("metrics", MetricsToV2(arena, autoscaler)).Set("behavior", behavior.empty() ? Value() : behavior);
  for (std::string_view field : {"observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"}) {
    new_status.Set(field, status.Get(field));
  }
  new_status.Set("currentMetrics", CurrentMetricsToV2(arena, autoscaler)).Set("conditions", Saved(arena, autoscaler, kConditions));
  Value metadata = Edited(arena, api::meta::v1::ObjectMeta::SchemaType(), autoscaler.Get("metadata"), DropAnnotations);
  return built.Set("kind", autoscaler.Get("kind")).Set("apiVersion", autoscaler.Get("apiVersion") ? Text("autoscaling/v2") : Value())
      .Set("metadata", metadata).Set("spec", new_spec.Build()).Set("status", new_status.Build()).Build();
}

Value WithoutSaved(Arena& arena, const schema::Kind& kind, const Value& autoscaler) {
  return Edited(arena, *kind.type, autoscaler, [](Edit& edit) { edit.In("metadata", DropAnnotations); });
}

}  // namespace

Value WithoutSavedFields(RuleContext& context, Value autoscaler) {
  return context.kind.gvk.version == "v1" ? autoscaler : WithoutSaved(context.arena, context.kind, autoscaler);
}

Value ConvertAutoscaler(object::Arena& arena, Value autoscaler, const schema::Kind& from, const schema::Kind& to) {
  if (from.gvk.version == to.gvk.version) return autoscaler;
  Value untyped = to.gvk.version == "v1" ? ToV1(arena, autoscaler) : ToV2(arena, autoscaler);
  Value typed = TypedOr(arena, untyped, *to.type);
  if (typed) return typed;
  // Annotations that some client wrote by hand and that mean nothing: without them.
  Value bare = WithoutSaved(arena, from, autoscaler);
  return TypedOr(arena, to.gvk.version == "v1" ? ToV1(arena, bare) : ToV2(arena, bare), *to.type);
}

}  // namespace homeostat::kinds
