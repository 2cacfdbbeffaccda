#include "patch/internal/last_applied.h"

#include "homeostat/object/json.h"
#include "patch/internal/metadata.h"
#include "patch/typed_merge.h"

namespace homeostat::patch::internal {

namespace {

constexpr std::string_view kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
constexpr size_t kMostAnnotationBytes = 256 * 1024;

Value Annotations(const Value& object) { return object.Get("metadata").Get("annotations"); }

// The configuration as the annotation holds it: sorted by name, with a line end, without the annotation itself.
std::string ConfigText(Arena& arena, const Value& config) {
  Value annotations = Annotations(config);
  Value without = config;
  if (annotations.IsObject()) {
    object::ObjectBuilder rest(arena, annotations);
    without = object::WithPath(arena, config, {"metadata", "annotations"}, rest.Erase(kAnnotation).Build());
  } else if (!annotations.IsAbsent()) {
    without = object::WithPath(arena, config, {"metadata", "annotations"}, Value());
  }
  auto text = object::WriteJson(without, {.sort_names = true});
  return text ? *text + "\n" : std::string();
}

size_t TotalBytes(const Value& annotations) {
  size_t bytes = 0;
  for (const object::Member& member : annotations.members()) bytes += member.name_size + member.value.AsString().size();
  return bytes;
}

}  // namespace

Result<FieldSet> FieldsLastApplied(Arena& arena, const FieldManagerOptions& options, const Value& live) {
  std::string_view text = Annotations(live).Get(kAnnotation).AsString();
  if (text.empty()) return Fail(InternalError("no last applied annotation"));
  TRY(CheckTyped(arena, *options.type, live, Duplicates::kRefused));
  TRY_ASSIGN(Value applied, object::ParseJson(arena, text));
  if (applied.Get("kind").AsString().empty())
    return Fail(InternalError("Object 'Kind' is missing in the last applied annotation"));
  if (applied.Get("apiVersion").AsString() != options.kind.ApiVersion()) {
    return Fail(InternalError("the last applied annotation is of another version"));
  }
  TRY(CheckTyped(arena, *options.type, applied, Duplicates::kRefused));
  FieldSet fields = FieldSetOf(arena, *options.type, applied);
  Comparison drift = CompareTyped(arena, *options.type, applied, live);
  for (const FieldSet& changed : {drift.modified, drift.added, drift.removed})
    fields = Difference(arena, fields, changed);
  return fields;
}

Value WithLastApplied(Arena& arena, const FieldManagerOptions& options, const Value& object, const Value& config) {
  Value annotations = Annotations(object);
  if (annotations.Get(kAnnotation).AsString().empty()) return object;
  object::ObjectBuilder changed(arena, annotations);
  Value updated = changed.Set(kAnnotation, Value::String(arena, ConfigText(arena, config))).Build();
  if (TotalBytes(updated) > kMostAnnotationBytes) updated = changed.Erase(kAnnotation).Build();
  return WithMetadata(arena, *options.type, object, "annotations", updated);
}

}  // namespace homeostat::patch::internal
