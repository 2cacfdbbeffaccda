#include "kinds/apiextensions/object_rules.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "homeostat/base/text.h"
#include "homeostat/object/member_lookup.h"
#include "kinds/apiextensions/rule_programs.h"
#include "kinds/checks.h"

namespace homeostat::kinds {
namespace {

using object::Member;
using schema::Condition;
using schema::Type;

constexpr size_t kLongestMessage = 5 * 1024;

bool HasRules(const Condition& condition) {
  if (!condition.rules.empty()) return true;
  for (const schema::PropertyCondition& property : condition.properties) {
    if (HasRules(*property.condition)) return true;
  }
  for (const Condition* part : {condition.additional, condition.items}) {
    if (part != nullptr && HasRules(*part)) return true;
  }
  return false;
}

// A part of the schema with rules, or with such parts below.
struct Node {
  cel::DeclTypePtr type;
  const Type* shape = nullptr;   // null within metadata
  std::string_view type_name;
  std::vector<RuleProgram> rules;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> properties;
  std::unique_ptr<Node> additional, items;
};

std::unique_ptr<Node> MakeNode(const Condition& condition, const Type* shape, const cel::DeclTypePtr& type) {
  if (!type || !HasRules(condition)) return nullptr;
  auto node = std::make_unique<Node>();
  node->type = type;
  node->shape = shape;
  node->type_name = condition.schema.Get("type").AsString();
  if (!condition.rules.empty()) node->rules = CompileRules(condition.schema, type);
  const Type* element = shape != nullptr ? shape->element : nullptr;
  if (condition.items != nullptr) node->items = MakeNode(*condition.items, element, type->element());
  if (condition.additional != nullptr) node->additional = MakeNode(*condition.additional, element, type->element());
  for (const schema::PropertyCondition& property : condition.properties) {
    cel::DeclTypePtr below;
    if (const cel::DeclType::Field* field = type->FindJsonField(property.name)) {
      below = field->type;
    } else if (!cel::EscapeIdentifier(property.name)) {
      below = cel::DeclType::FromSchema(property.condition->schema, property.condition->schema.Get("x-kubernetes-embedded-resource").AsBool());
    }
    const schema::Field* field = shape != nullptr ? shape->FindField(property.name) : nullptr;
    const Type* field_type = field != nullptr && field->type->structural ? field->type : nullptr;
    if (auto child = MakeNode(*property.condition, field_type, below)) node->properties[std::string(property.name)] = std::move(child);
  }
  return node;
}

// The same place in the object and in the old one, by which faults of what did not change are forgiven.
struct Pair {
  const Type* shape = nullptr;
  object::Value now, before;
  bool known() const { return shape != nullptr; }
  bool same() const { return known() && object::Equal(now, before); }
};
struct Correlation {
  Pair current, parent;
  bool Forgives() const { return current.known() ? current.same() : parent.same(); }

  // now: the member's value. in_before: looks in the old object of this place.
  Correlation Member(std::string_view name, const object::Value& now, object::MemberLookup& in_before) const {
    if (!current.known()) return *this;
    if (!parent.known() && (name == "apiVersion" || name == "kind")) return {};
    Correlation below{{}, current};
    const schema::Field* field = current.shape->FindField(name);
    const Type* shape = field != nullptr ? field->type : current.shape->element;
    const object::Member* before = in_before.Find(name);
    if (shape != nullptr && before != nullptr) below.current = {shape, now, before->value};
    return below;
  }
  Correlation Item(const object::Value& now, const object::Value& before) const {
    if (!current.known()) return *this;
    Correlation below{{}, current};
    if (current.shape->element != nullptr && before) below.current = {current.shape->element, now, before};
    return below;
  }
};

// Finds the items of a list that is a map in its old state, by their keys.
class OldItems {
 public:
  OldItems(const Type* list, const object::Value& old) {
    if (list == nullptr || list->list_type != schema::ListType::kMap) return;
    keys_ = list->list_map_keys;
    is_map_ = true;
    for (const object::Value& item : old.items()) {
      if (item.IsObject()) items_.try_emplace(KeysOf(item), item);  // of several with the same keys the first counts
    }
  }
  // Absent if there is none.
  object::Value Find(const object::Value& item) const {
    if (!is_map_ || !item.IsObject()) return {};
    auto found = items_.find(KeysOf(item));
    return found == items_.end() ? object::Value() : found->second;
  }

 private:
  using Keys = std::vector<object::Value>;
  struct Less {
    bool operator()(const Keys& a, const Keys& b) const {
      return std::ranges::lexicographical_compare(a, b, [](const object::Value& x, const object::Value& y) { return object::Compare(x, y) < 0; });
    }
  };
  Keys KeysOf(const object::Value& item) const {
    Keys keys;
    for (std::string_view key : keys_) keys.push_back(item.Get(key));
    return keys;
  }

  bool is_map_ = false;
  std::span<const std::string_view> keys_;
  std::map<Keys, object::Value, Less> items_;
};

// One evaluation of all rules on one object, within one budget.
class Run {
 public:
  Run(std::vector<std::string>* warnings, FieldErrors& errors, int64_t budget = static_cast<int64_t>(cel::kRuntimeBudget))
      : warnings_(warnings), errors_(errors), budget_(budget) {}

  // What is left of the budget; less than 0 if it did not last.
  int64_t left() const { return spent_ ? -1 : budget_; }

  void Check(const Node& node, const object::Value& now, const object::Value& old, const Correlation& correlation, const FieldPath& path) {
    if (spent_ || !now) return;
    Rules(node, now, old, correlation, path);
    if (now.IsList() && node.items) {
      OldItems old_items(node.shape, old);
      for (size_t i = 0; i < now.size() && !spent_; ++i) {
        const object::Value& item = now.items()[i];
        object::Value before = old_items.Find(item);
        Check(*node.items, item, before, correlation.Item(item, before), path.Index(i));
      }
    }
    if (!now.IsObject()) return;
    object::MemberLookup in_old(old), in_before(correlation.current.before);
    for (const Member& member : now.members()) {
      if (spent_ || !node.additional) break;
      Check(*node.additional, member.value, in_old.Get(member.name()), correlation.Member(member.name(), member.value, in_before),
            path.Key(member.name()));
    }
    for (const auto& [name, child] : node.properties) {
      const Member* member = now.Find(name);
      if (spent_ || member == nullptr) continue;
      Check(*child, member->value, in_old.Get(name), correlation.Member(name, member->value, in_before), path.Child(name));
    }
  }

 private:
  void Rules(const Node& node, const object::Value& now, const object::Value& old, const Correlation& correlation, const FieldPath& path) {
    if (node.rules.empty()) return;
    object::Arena arena;
    cel::Value self = cel::FromJson(arena, now, node.type.get());
    cel::MapActivation plain, optional;
    plain.Set("self", self);
    optional.Set("self", self);
    if (old) {
      cel::Value before = cel::FromJson(arena, old, node.type.get());
      plain.Set("oldSelf", before);
      optional.Set("oldSelf", cel::MakeOptional(arena, before));
    } else {
      optional.Set("oldSelf", cel::Value::Optional(nullptr));
    }
    for (const RuleProgram& rule : node.rules) {
      if (spent_) return;
      if (budget_ <= 0) return OutOfBudget(node, path);
      if (!rule.error.empty()) {
        errors_.Invalid(path, node.type_name, "rule compile error: " + rule.error);
        continue;
      }
      if (!rule.program || (rule.uses_old_self && !old && !rule.optional_old_self)) continue;
      Evaluate(node, rule, arena, rule.optional_old_self ? optional : plain, plain, now, correlation, path);
    }
  }

  void OutOfBudget(const Node& node, const FieldPath& path) {
    errors_.Invalid(path, node.type_name, "validation failed due to running out of cost budget, no further validation rules will be run");
    spent_ = true;
  }

  // What the rule is called in messages.
  static std::string NameOf(const RuleProgram& rule) {
    std::string_view message = rule.rule.Get("message").AsString();
    return std::string(TrimSpace(message.empty() ? rule.rule.Get("rule").AsString() : message));
  }

  void Evaluate(const Node& node, const RuleProgram& rule, object::Arena& arena, const cel::Activation& activation,
                const cel::Activation& plain, const object::Value& now, const Correlation& correlation, const FieldPath& path) {
    cel::Evaluation result = rule.program->Evaluate(arena, activation);
    if (result.cost > static_cast<uint64_t>(budget_)) return OutOfBudget(node, path);
    budget_ -= static_cast<int64_t>(result.cost);
    if (result.outcome != cel::Evaluation::Outcome::kValue || result.value.IsError()) {
      std::string text = cel::ToText(result.value);
      if (result.value.IsError()) text = result.value.text();
      if (result.outcome == cel::Evaluation::Outcome::kCostExceeded) {
        errors_.Invalid(path, node.type_name, "'" + text + "': no further validation rules will be run due to call cost exceeds limit for rule: " + NameOf(rule));
        spent_ = true;
      } else if (text.starts_with("no such overload")) {
        errors_.Invalid(path, node.type_name,
                        "'" + text + "': call arguments did not match a supported operator, function or macro signature for rule: " + NameOf(rule));
      } else {
        errors_.Invalid(path, node.type_name, text + " evaluating rule: " + NameOf(rule));
      }
      return;
    }
    if (result.value.IsTrue()) return;
    Report(node, rule, arena, plain, now, correlation, path);
  }

  // The message: what the expression gives, or the fixed one.
  std::string Message(const RuleProgram& rule, object::Arena& arena, const cel::Activation& plain) {
    std::string_view fixed = rule.rule.Get("message").AsString();
    std::string fallback = fixed.empty() ? "failed rule: " + NameOf(rule) : std::string(TrimSpace(fixed));
    if (!rule.message) return fallback;
    cel::Evaluation result = rule.message->Evaluate(arena, plain);
    if (result.outcome == cel::Evaluation::Outcome::kCostExceeded || result.cost > static_cast<uint64_t>(budget_)) {
      spent_ = true;
      return "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
    }
    budget_ -= static_cast<int64_t>(result.cost);
    if (result.outcome != cel::Evaluation::Outcome::kValue || !result.value.IsString()) return fallback;
    std::string text(TrimSpace(result.value.text()));
    bool usable = !text.empty() && text.size() <= kLongestMessage && text.find('\n') == text.npos;
    return usable ? text : fallback;
  }

  void Report(const Node& node, const RuleProgram& rule, object::Arena& arena, const cel::Activation& plain, const object::Value& now,
              const Correlation& correlation, const FieldPath& path) {
    std::string detail = Message(rule, arena, plain);
    FieldPath at = rule.field_path.empty() ? path : path.Child(rule.field_path);
    bool whole = node.type_name == "object" || node.type_name == "array";
    FieldErrors found;
    std::string_view reason = rule.rule.Get("reason").AsString();
    if (spent_) found.Invalid(at, node.type_name, detail);
    else if (reason == "FieldValueForbidden") found.Forbidden(at, detail);
    else if (reason == "FieldValueRequired") found.Required(at, detail);
    else if (reason == "FieldValueDuplicate") found.Duplicate(at, whole ? BadValue::Omitted() : BadValue(now));
    else found.Invalid(at, whole ? BadValue::Omitted() : BadValue(now), detail);
    bool forgiven = !rule.uses_old_self && correlation.Forgives();
    for (StatusCause& cause : found.Take()) {
      if (!forgiven) errors_.Add(std::move(cause));
      else if (warnings_ != nullptr) warnings_->push_back(cause.field + ": " + cause.message);
    }
  }

  std::vector<std::string>* warnings_;
  FieldErrors& errors_;
  int64_t budget_;
  bool spent_ = false;
};

class CompiledRules : public schema::ObjectRules {
 public:
  explicit CompiledRules(const schema::StructuralSchema& schema) : schema_(schema) {}

  void Check(const object::Value& object, const object::Value& old, std::vector<std::string>* warnings, FieldErrors& errors) const override {
    std::call_once(compiled_, [this] {
      root_ = MakeNode(schema_.condition(), &schema_.type(), cel::DeclType::FromSchema(schema_.condition().schema, true));
    });
    if (!root_) return;
    Correlation correlation;
    if (old) correlation.current = {&schema_.type(), object, old};
    Run(warnings, errors).Check(*root_, object, old, correlation, FieldPath());
  }

 private:
  const schema::StructuralSchema& schema_;
  mutable std::once_flag compiled_;
  mutable std::unique_ptr<const Node> root_;
};

}  // namespace

int64_t CheckRulesOfDefault(const Condition& part, const Type* shape, bool resource, const object::Value& fallback, int64_t budget,
                            const FieldPath& path, FieldErrors& errors) {
  cel::DeclTypePtr type = cel::DeclType::FromSchema(part.schema, resource);
  if (!type && !part.rules.empty()) {
    errors.Invalid(path, part.schema.Get("type").AsString(),
                   "rule compiler initialization error: failed to convert to declType for CEL validation rules");
    return budget;
  }
  std::unique_ptr<Node> node = MakeNode(part, shape, type);
  if (!node) return budget;
  size_t before = errors.size();
  int64_t left = budget;
  for (const object::Value& old : {fallback, object::Value()}) {
    if (errors.size() > before) break;
    Run run(nullptr, errors, budget);
    run.Check(*node, fallback, old, Correlation(), path);
    left = std::min(left, run.left());
  }
  return left;
}

std::unique_ptr<const schema::ObjectRules> MakeObjectRules(const schema::StructuralSchema& schema) {
  if (!HasRules(schema.condition())) return nullptr;
  return std::make_unique<const CompiledRules>(schema);
}

}  // namespace homeostat::kinds
