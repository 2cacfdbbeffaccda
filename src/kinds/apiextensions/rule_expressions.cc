// Rules as they are admitted: they compile, and what they may cost stays within limits.
// Source: apiextensions-apiserver's pkg/apis/apiextensions/validation, cel_validation.go.
#include <algorithm>
#include <limits>
#include <optional>

#include "cel/rule_cost.h"
#include "homeostat/api/apiextensions/v1.h"
#include "kinds/apiextensions/rule_programs.h"
#include "kinds/apiextensions/schema_rules.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

using object::Member;

constexpr uint64_t kRuleLimit = cel::kRuleCostLimit, kDefinitionLimit = cel::kSchemaCostLimit;
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// How many values a part of a schema has at most for each value of what it is part of; nullopt: nobody says.
std::optional<uint64_t> MaxElements(const Value& schema) {
  std::string_view type = schema.Get("type").AsString();
  auto limit = [&](std::string_view name) -> std::optional<uint64_t> {
    Value value = schema.Get(name);
    if (!value.IsInt()) return std::nullopt;
    return static_cast<uint64_t>(std::max<int64_t>(0, value.AsInt()));
  };
  Value additional = schema.Get("additionalProperties");
  if (type == "object" && !additional.IsAbsent() && !additional.IsNull()) return limit("maxProperties");
  if (type == "array") return limit("maxItems");
  return 1;
}

struct Place {
  cel::DeclTypePtr type;                     // null: not in the scope of a rule yet, or nothing is known
  std::optional<uint64_t> cardinality = 1;   // nullopt: unbounded
  std::string uncorrelated;                  // the list within which old values can't be found
};

class Expressions {
 public:
  Expressions(const SchemaRuleOptions& options, const std::set<std::string>& faulty, FieldErrors& errors)
      : options_(options), faulty_(faulty), errors_(errors) {}

  void Walk(const Value& schema, bool resource, Place place, const FieldPath& path) {
    if (!schema.IsObject()) return;
    Value rules = schema.Get("x-kubernetes-validations");
    if (!place.type && !rules.empty()) place.type = cel::DeclType::FromSchema(schema, resource);
    Value items = schema.Get("items"), additional = schema.Get("additionalProperties");
    if (additional.IsObject()) {
      Walk(additional, IsEmbedded(additional), Below(schema, place, place.type ? place.type->element() : nullptr), path.Child("additionalProperties"));
    }
    std::string_view map_type = schema.Get("x-kubernetes-map-type").AsString();
    const bool correlates = map_type.empty() || map_type == "granular" || map_type == "atomic";
    for (const Member& property : schema.Get("properties").members()) {
      cel::DeclTypePtr type;
      const cel::DeclType::Field* field = place.type ? place.type->FindJsonField(property.name()) : nullptr;
      if (field != nullptr) type = field->type;
      Place below = Below(schema, place, type);
      if (below.uncorrelated.empty() && !correlates) below.uncorrelated = path.String();
      Walk(property.value, IsEmbedded(property.value), std::move(below), path.Child("properties").Key(property.name()));
    }
    if (items.IsObject()) {
      Place below = Below(schema, place, place.type ? place.type->element() : nullptr);
      if (below.uncorrelated.empty() && schema.Get("x-kubernetes-list-type").AsString() != "map") below.uncorrelated = path.String();
      Walk(items, IsEmbedded(items), std::move(below), path.Child("items"));
    }
    if (!rules.empty() && !faulty_.contains(path.String())) Rules(schema, place, path.Child("x-kubernetes-validations"));
  }

  void Total(const FieldPath& path) {
    if (total_ <= kDefinitionLimit) return;
    std::ranges::stable_sort(costs_, [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t i = 0; i < std::min<size_t>(4, costs_.size()); ++i) {
      errors_.Forbidden(FieldPath(costs_[i].first), "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
    }
    errors_.Forbidden(path, cel::CostErrorMessage("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", total_, kDefinitionLimit));
  }

 private:
  static bool IsEmbedded(const Value& schema) { return schema.Get("x-kubernetes-embedded-resource").AsBool(); }

  static Place Below(const Value& schema, const Place& place, cel::DeclTypePtr type) {
    Place below{std::move(type), std::nullopt, place.uncorrelated};
    std::optional<uint64_t> elements = MaxElements(schema);
    if (place.cardinality && elements) below.cardinality = cel::MultiplySaturating(*place.cardinality, *elements);
    return below;
  }

  void Observe(const FieldPath& path, uint64_t cost) {
    total_ = kMost - total_ < cost ? kMost : total_ + cost;
    if (cost >= kDefinitionLimit / 100) costs_.emplace_back(path.String(), cost);
  }

  void Rules(const Value& schema, const Place& place, const FieldPath& path) {
    if (!place.type) {
      return errors_.Internal(path, "internal error: failed to construct type information for x-kubernetes-validations rules: unable to "
                                    "convert structural schema to CEL declarations");
    }
    std::vector<RuleProgram> programs = CompileRules(schema, place.type);
    for (size_t i = 0; i < programs.size(); ++i) Rule(programs[i], place, path.Index(i));
  }

  void Rule(const RuleProgram& program, const Place& place, const FieldPath& path) {
    const schema::Type& type = *api::apiextensions::v1::JSONSchemaProps::SchemaType().FindField("x-kubernetes-validations")->type->element;
    FieldPath rule_path = path.Child("rule"), message_path = path.Child("messageExpression");
    uint64_t cost = cel::RuleCost(program.max_cost, place.cardinality, *place.type);
    if (cost > kRuleLimit && !options_.suppress_rule_costs) errors_.Forbidden(rule_path, cel::CostErrorMessage("estimated rule cost", cost, kRuleLimit));
    Observe(rule_path, cost);
    if (!program.error.empty()) errors_.Invalid(rule_path, InternalValue(type, program.rule), program.error);
    if (!program.message_error.empty()) {
      errors_.Invalid(message_path, InternalValue(type, program.rule), program.message_error);
    } else if (program.message) {
      if (program.message_max_cost > kRuleLimit && !options_.suppress_rule_costs) {
        errors_.Forbidden(message_path, cel::CostErrorMessage("estimated messageExpression cost", program.message_max_cost, kRuleLimit));
      }
      Observe(message_path, program.message_max_cost);
    }
    if (program.uses_old_self) {
      if (place.uncorrelated.empty()) return;
      errors_.Invalid(rule_path, program.rule.Get("rule").AsString(),
                      "oldSelf cannot be used on the uncorrelatable portion of the schema within " + place.uncorrelated);
    } else if (Value optional = program.rule.Get("optionalOldSelf"); optional.IsBool()) {
      errors_.Invalid(path.Child("optionalOldSelf"), optional.AsBool(), "may not be set if oldSelf is not used in rule");
    }
  }

  const SchemaRuleOptions& options_;
  const std::set<std::string>& faulty_;
  FieldErrors& errors_;
  uint64_t total_ = 0;
  std::vector<std::pair<std::string, uint64_t>> costs_;
};

}  // namespace

void CheckRuleExpressions(const Value& schema, const SchemaRuleOptions& options, const std::set<std::string>& faulty,
                          const FieldPath& path, FieldErrors& errors) {
  Expressions expressions(options, faulty, errors);
  expressions.Walk(schema, true, Place(), path);
  expressions.Total(path);
}

}  // namespace homeostat::kinds
