#include <vector>

#include "cel/program.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/base/go_text.h"
#include "homeostat/base/text.h"
#include "homeostat/object/member_order.h"
#include "homeostat/schema/conditions.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/prune.h"
#include "kinds/apiextensions/custom_resource.h"
#include "kinds/apiextensions/object_rules.h"
#include "kinds/apiextensions/schema_rules.h"

namespace homeostat::kinds {
namespace {

using object::Member;

// One step from a resource to a part of it: to a member, or to an item of a list.
struct Step {
  std::string_view name;
  bool to_item = false;
};

// The resource that a part of the schema stands in: the root, or the nearest one embedded.
struct Surroundings {
  const schema::Type* resource = nullptr;
  std::vector<Step> steps;
  bool is_resource = false, in_metadata = false;  // of the part itself

  Surroundings Below(Step step, bool meta) const {
    Surroundings below = *this;
    below.steps.push_back(step);
    below.is_resource = false;
    below.in_metadata = in_metadata || meta;
    return below;
  }
};

// The smallest resource that has the value at the end of the steps.
Value ResourceWith(object::Arena& arena, Value value, const std::vector<Step>& steps) {
  for (size_t i = steps.size(); i-- > 0;) {
    if (steps[i].to_item) {
      object::ListBuilder list(arena);
      list.Append(value);
      value = list.Build();
    } else {
      object::ObjectBuilder made(arena);
      made.Set(steps[i].name, value);
      value = made.Build();
    }
  }
  object::ObjectBuilder resource(arena, value);
  if (!value.Find("kind")) resource.Set("kind", Value::String(arena, "Validation"));
  if (!value.Find("apiVersion")) resource.Set("apiVersion", Value::String(arena, "validation/v1"));
  return resource.Build();
}

// What is no metadata or no text where a resource has one, told of once; what else is wrong with a resource comes after that.
bool CheckShapeOfResources(object::Arena& arena, const schema::Type& type, const Value& value, bool is_resource, const FieldPath& path,
                           FieldErrors& errors) {
  for (size_t i = 0; value.IsList() && type.element != nullptr && i < value.size(); ++i) {
    if (!CheckShapeOfResources(arena, *type.element, value.At(i), type.element->embedded_resource, path.Index(i), errors)) return false;
  }
  for (const Member& member : value.members()) {
    std::string_view name = member.name();
    if (is_resource && IsOneOf(name, {"kind", "apiVersion"}) && !member.value.IsString()) {
      errors.Invalid(path.Child(name), member.value, "must be a string");
      return false;
    }
    if (is_resource && name == "metadata") {
      schema::ConformReport report;
      report.collect = false;
      auto metadata = schema::Conform(arena, member.value, api::meta::v1::ObjectMeta::SchemaType(), report);
      if (metadata) continue;
      errors.Invalid(path.Child(name), member.value, metadata.error().message());
      return false;
    }
    const schema::Field* field = type.FindField(name);
    const schema::Type* below = field != nullptr ? field->type : type.element;
    if (below == nullptr || !below->structural) continue;
    FieldPath at = field != nullptr ? path.Child(name) : path.Key(name);
    if (!CheckShapeOfResources(arena, *below, member.value, below->embedded_resource, at, errors)) return false;
  }
  return true;
}

// Resources in the value, or the value itself: their kinds, versions and metadata.
void CheckResources(object::Arena& arena, const schema::Type& type, const Value& value, bool is_resource, const FieldPath& path,
                    FieldErrors& errors) {
  if (!CheckShapeOfResources(arena, type, value, is_resource, path, errors)) return;
  schema::ConformReport report;
  report.collect = false;
  if (auto conformed = schema::Conform(arena, value, type, report)) CheckEmbeddedResources(type, *conformed, path, errors, is_resource);
}

// Walks a schema together with what it was compiled to.
class DefaultRules {
 public:
  // errors: null if nothing but is_pruned is asked for.
  DefaultRules(bool require_pruned, FieldErrors* errors) : require_pruned_(require_pruned), errors_(errors) {}

  // type: null within metadata, of which only conditions are compiled.
  void Walk(const Value& schema, const schema::Type* type, const schema::Condition& condition, Surroundings place, const FieldPath& path) {
    if (schema.Get("x-kubernetes-embedded-resource").AsBool()) place = {.resource = type, .steps = {}, .is_resource = true};
    if (Value fallback = schema.Get("default")) Check(fallback, type, condition, place, path.Child("default"));
    Value items = schema.Get("items");
    if (budget_ < 0) return;
    if (items.IsObject() && condition.items != nullptr) {
      Walk(items, type != nullptr ? type->element : nullptr, *condition.items, place.Below({.name = {}, .to_item = true}, false), path.Child("items"));
    }
    for (const Member& property : schema.Get("properties").members()) {
      const schema::Condition* below = condition.FindProperty(property.name());
      if (below == nullptr || budget_ < 0) continue;
      bool meta = place.is_resource && IsOneOf(property.name(), {"metadata", "apiVersion", "kind"});
      const schema::Field* field = type != nullptr ? type->FindField(property.name()) : nullptr;
      const schema::Type* field_type = field != nullptr && field->type->structural ? field->type : nullptr;
      Walk(property.value, field_type, *below, place.Below({.name = property.name()}, meta), path.Child("properties").Key(property.name()));
    }
  }

  // No default seen so far has unknown fields.
  bool is_pruned() const { return is_pruned_; }

 private:
  void Check(const Value& given, const schema::Type* type, const schema::Condition& condition, const Surroundings& place, const FieldPath& path) {
    object::Arena arena;
    const Value fallback = object::WithSortedMembers(arena, given);  // a map to Go
    const bool whole = !place.in_metadata && type != nullptr;
    const bool pruned = !whole || object::Equal(schema::Prune(arena, *type, fallback), fallback);
    is_pruned_ = is_pruned_ && pruned;
    if (errors_ == nullptr) return;
    size_t before = errors_->size();
    if (whole) {
      if (!pruned && require_pruned_) errors_->Invalid(path, fallback, "must not have unknown fields");
      before = errors_->size();
      CheckResources(arena, *type, fallback, place.is_resource, path, *errors_);
    } else if (place.resource != nullptr) {
      CheckMetadata(arena, fallback, place, path);
    }
    if (errors_->size() == before) schema::CheckConditions(condition, fallback, path, *errors_);
    if (errors_->size() == before) budget_ = CheckRulesOfDefault(condition, type, place.is_resource, fallback, budget_, path, *errors_);
  }

  // A resource that had nothing but this default would have to be a right one.
  void CheckMetadata(object::Arena& arena, const Value& fallback, const Surroundings& place, const FieldPath& path) {
    FieldErrors found;
    CheckResources(arena, *place.resource, ResourceWith(arena, fallback, place.steps), true, FieldPath(), found);
    if (found.empty()) return;
    std::vector<std::string> texts;
    for (const StatusCause& cause : found.causes()) texts.push_back(cause.field + ": " + cause.message);
    errors_->Invalid(path, fallback, "must result in valid metadata: " + AggregateText(texts));
  }

  bool require_pruned_, is_pruned_ = true;
  int64_t budget_ = static_cast<int64_t>(cel::kRuntimeBudget);  // of all rules on all defaults of the schema; less than 0: spent
  FieldErrors* errors_;
};

bool WalkDefaults(const Value& schema, bool require_pruned, const FieldPath& path, FieldErrors* errors) {
  if (!HasDefaults(schema)) return true;
  auto compiled = schema::StructuralSchema::Compile(
      schema, nullptr, {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = {}, .go_name = {}, .for_defaults = true});
  DefaultRules rules(require_pruned, errors);
  rules.Walk(schema, &compiled->type(), compiled->condition(), {.resource = &compiled->type(), .steps = {}, .is_resource = true}, path);
  return rules.is_pruned();
}

}  // namespace

bool HasDefaults(const Value& schema) {
  return schema::AnySchema(schema, [](const Value& part) { return static_cast<bool>(part.Get("default")); });
}

void CheckDefaults(const Value& schema, bool require_pruned, const FieldPath& path, FieldErrors& errors) {
  WalkDefaults(schema, require_pruned, path, &errors);
}

bool DefaultsArePruned(const Value& schema) { return WalkDefaults(schema, false, FieldPath(), nullptr); }

}  // namespace homeostat::kinds
