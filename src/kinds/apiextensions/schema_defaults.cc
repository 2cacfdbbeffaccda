#include <algorithm>

#include "homeostat/api/meta/v1.h"
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

// Walks a schema together with what it was compiled to.
class DefaultRules {
 public:
  // errors: null if nothing but is_pruned is asked for.
  DefaultRules(bool require_pruned, FieldErrors* errors) : require_pruned_(require_pruned), errors_(errors) {}

  // type: null within metadata, of which only conditions are compiled.
  void Walk(const Value& schema, const schema::Type* type, const schema::Condition& condition, bool resource, bool in_metadata,
            const FieldPath& path) {
    if (schema.Get("x-kubernetes-embedded-resource").AsBool()) {
      resource = true;
      in_metadata = false;
    }
    if (Value fallback = schema.Get("default")) Check(fallback, type, condition, resource, in_metadata, path.Child("default"));
    Value items = schema.Get("items");
    if (items.IsObject() && condition.items != nullptr) {
      Walk(items, type != nullptr ? type->element : nullptr, *condition.items, false, in_metadata, path.Child("items"));
    }
    for (const Member& property : schema.Get("properties").members()) {
      const schema::Condition* below = condition.FindProperty(property.name());
      if (below == nullptr) continue;
      bool meta = resource && (property.name() == "metadata" || property.name() == "apiVersion" || property.name() == "kind");
      const schema::Field* field = type != nullptr ? type->FindField(property.name()) : nullptr;
      const schema::Type* field_type = field != nullptr && field->type->structural ? field->type : nullptr;
      Walk(property.value, field_type, *below, false, in_metadata || meta, path.Child("properties").Key(property.name()));
    }
  }

  // No default seen so far has unknown fields.
  bool is_pruned() const { return is_pruned_; }

 private:
  void Check(const Value& given, const schema::Type* type, const schema::Condition& condition, bool resource, bool in_metadata,
             const FieldPath& path) {
    object::Arena arena;
    const Value fallback = object::WithSortedMembers(arena, given);  // a map to Go
    const bool whole = !in_metadata && type != nullptr;
    const bool pruned = !whole || object::Equal(schema::Prune(arena, *type, fallback), fallback);
    is_pruned_ = is_pruned_ && pruned;
    if (errors_ == nullptr) return;
    if (whole) {
      if (!pruned && require_pruned_) errors_->Invalid(path, fallback, "must not have unknown fields");
      schema::ConformReport report;
      report.collect = false;
      auto coerced = schema::Conform(arena, fallback, *type, report);
      if (!coerced) return errors_->Invalid(path.Child("metadata"), fallback.Get("metadata"), coerced.error().message());
      size_t before = errors_->size();
      CheckEmbeddedResources(*type, *coerced, path, *errors_, resource);
      if (errors_->size() > before) return;
    }
    size_t before = errors_->size();
    schema::CheckConditions(condition, fallback, path, *errors_);
    if (errors_->size() == before) CheckRulesOfDefault(condition, type, resource, fallback, path, *errors_);
  }

  bool require_pruned_, is_pruned_ = true;
  FieldErrors* errors_;
};

bool WalkDefaults(const Value& schema, bool require_pruned, const FieldPath& path, FieldErrors* errors) {
  if (!HasDefaults(schema)) return true;
  auto compiled = schema::StructuralSchema::Compile(
      schema, nullptr, {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = {}, .go_name = {}});
  DefaultRules rules(require_pruned, errors);
  rules.Walk(schema, &compiled->type(), compiled->condition(), true, false, path);
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
