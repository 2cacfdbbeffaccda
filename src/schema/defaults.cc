#include "homeostat/schema/defaults.h"

#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "schema/internal/presence.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Arena;
using object::Member;
using object::Value;

namespace {

struct Plan;

struct FieldPlan {
  uint16_t index = 0;
  const Field* field = nullptr;
  Value default_value;       // absent if there is none
  Plan* below = nullptr;     // of the field's type; null if nothing is to be done there
  bool walk_absent = false;  // an absent value still has defaults within
};

// What is to be done for values of one type.
struct Plan {
  const Type* type = nullptr;
  std::vector<DefaultHook> hooks;
  std::vector<FieldPlan> fields;  // of a struct: those with something to do
  Plan* element = nullptr;        // of a list's items, a map's or further members' values
  Value element_default;          // in the place of those that are null
  bool needed = false;

  bool WalksElements() const { return element != nullptr || element_default; }
};

bool IsSameTree(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  if (a.IsObject()) return a.members().data() == b.members().data();
  if (a.IsList()) return a.items().data() == b.items().data();
  return object::Equal(a, b);
}

// Looks up the fields of one struct, in order of their indexes.
class InOrder {
 public:
  explicit InOrder(const Value& value) : members_(value.members()) {}
  Value Field(uint16_t index) {
    while (next_ < members_.size() && members_[next_].field < index) ++next_;
    return next_ < members_.size() && members_[next_].field == index ? members_[next_].value : Value();
  }

 private:
  std::span<const Member> members_;
  size_t next_ = 0;
};

// Sets defaults in one tree.
class Walk {
 public:
  explicit Walk(Arena& arena) : arena_(arena) {}

  Value Apply(const Plan& plan, const Value& value) {
    if (++depth_ > internal::kMaxDepth) return --depth_, value;
    Value result = value;
    if (value.IsObject()) {
      result = plan.type->form == Form::kStruct ? ApplyStruct(plan, value) : ApplyEntries(plan, value);
    } else if (value.IsList() && plan.WalksElements()) {
      result = ApplyItems(plan, value);
    }
    --depth_;
    return result;
  }

 private:
  Value ApplyStruct(const Plan& plan, Value value) {
    value = SetMissing(plan, value);
    for (DefaultHook hook : plan.hooks) value = hook(arena_, value);
    std::optional<object::ObjectBuilder> changed;
    InOrder fields(value);
    for (const FieldPlan& field : plan.fields) {
      if (field.below == nullptr) continue;
      Value old = fields.Field(field.index);
      if (!old && !field.walk_absent) continue;
      Value now = Apply(*field.below, old ? old : Value::EmptyObject());
      if (old ? IsSameTree(old, now) : now.empty()) continue;
      if (!changed) changed.emplace(arena_, value);
      changed->SetField(field.index, field.field->name, now);
    }
    if (changed) value = changed->Build();
    return plan.WalksElements() ? ApplyUnknown(plan, value) : value;
  }

  Value SetMissing(const Plan& plan, const Value& value) {
    std::optional<object::ObjectBuilder> changed;
    InOrder fields(value);
    for (const FieldPlan& field : plan.fields) {
      if (field.default_value.IsAbsent() || !fields.Field(field.index).IsAbsent()) continue;
      if (!changed) changed.emplace(arena_, value);
      changed->SetField(field.index, field.field->name, field.default_value);
    }
    return changed ? changed->Build() : value;
  }

  Value ApplyElement(const Plan& plan, const Value& value) {
    const Value& given = value.IsNull() && plan.element_default ? plan.element_default : value;
    return plan.element == nullptr ? given : Apply(*plan.element, given);
  }

  Value ApplyItems(const Plan& plan, const Value& list) {
    std::optional<object::ListBuilder> changed;
    for (size_t i = 0; i < list.size(); ++i) {
      Value now = ApplyElement(plan, list.items()[i]);
      if (IsSameTree(list.items()[i], now)) continue;
      if (!changed) changed.emplace(arena_, list);
      changed->items()[i] = now;
    }
    return changed ? changed->Build() : list;
  }

  Value ApplyEntries(const Plan& plan, const Value& map) {
    return plan.WalksElements() ? ApplyUnknown(plan, map) : map;
  }

  // Entries of a map, or further members of a struct.
  Value ApplyUnknown(const Plan& plan, const Value& object) {
    std::optional<std::vector<Member>> changed;
    for (size_t i = 0; i < object.size(); ++i) {
      const Member& member = object.members()[i];
      if (member.field != object::kNoField) continue;
      Value now = ApplyElement(plan, member.value);
      if (IsSameTree(member.value, now)) continue;
      if (!changed) changed.emplace(object.members().begin(), object.members().end());
      (*changed)[i].value = now;
    }
    return changed ? internal::CopyMembers(arena_, *changed) : object;
  }

  Arena& arena_;
  int depth_ = 0;
};

}  // namespace

// The plans of all types seen so far. Plans point at each other, so that only a root is looked up.
class Defaults::Plans {
 public:
  explicit Plans(std::span<const DefaultHookEntry> hooks) : hooks_(hooks.begin(), hooks.end()) {}

  Result<const Plan*> Find(const Type& type) {
    {
      std::shared_lock lock(mutex_);
      if (!error_) {
        if (auto found = by_type_.find(&type); found != by_type_.end()) return found->second;
      }
    }
    std::unique_lock lock(mutex_);
    size_t first_new = plans_.size();
    const Plan* plan = Learn(type);
    SettleNeeded(first_new);
    if (error_) return Fail(*error_);
    return plan;
  }

 private:
  Plan* Learn(const Type& type) {
    if (auto found = by_type_.find(&type); found != by_type_.end()) return found->second;
    Plan* plan = &plans_.emplace_back();
    by_type_[&type] = plan;
    plan->type = &type;
    for (const DefaultHookEntry& entry : hooks_) {
      if (!type.name.empty() && entry.type_name == type.name) plan->hooks.push_back(entry.hook);
    }
    if (type.form == Form::kStruct) {
      for (size_t i = 0; i < type.fields.size(); ++i)
        plan->fields.push_back(LearnField(type, static_cast<uint16_t>(i)));
    }
    if (type.element != nullptr && !internal::IsVariant(type.form)) {
      plan->element = Learn(*type.element);
      if (!type.element_default_json.empty()) {
        plan->element_default = ParseDefault(type.element_default_json, *type.element, "an element of " + std::string(type.name));
      }
    }
    return plan;
  }

  FieldPlan LearnField(const Type& type, uint16_t index) {
    const Field& field = type.fields[index];
    FieldPlan plan{.index = index, .field = &field};
    if (!field.default_json.empty()) {
      plan.default_value = ParseDefault(field.default_json, *field.type, std::string(type.name) + "." + std::string(field.name));
    } else if (field.Has(kDefaultToEmpty) && field.Has(kPointer)) {
      plan.default_value = Value::EmptyObject();
    }
    if (field.type->form >= Form::kStruct && !internal::IsVariant(field.type->form)) plan.below = Learn(*field.type);
    plan.walk_absent = field.type->form == Form::kStruct && !field.Has(kPointer) && !type.structural;
    return plan;
  }

  Value ParseDefault(std::string_view json, const Type& type, const std::string& what) {
    ConformReport report;
    auto parsed = object::ParseJson(arena_, json);
    auto value = parsed ? Conform(arena_, *parsed, type, report) : parsed;
    if (value) return *value;
    error_ = value.error().WithContext("default of " + what);
    return {};
  }

  // A plan is needed if it does something or leads to one that does: found by going round until nothing changes, as
  // types may contain themselves. Then drops what leads nowhere.
  void SettleNeeded(size_t first_new) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = first_new; i < plans_.size(); ++i) {
        Plan& plan = plans_[i];
        if (plan.needed || !IsNeeded(plan)) continue;
        plan.needed = changed = true;
      }
    }
    for (size_t i = first_new; i < plans_.size(); ++i) {
      Plan& plan = plans_[i];
      if (plan.element != nullptr && !plan.element->needed) plan.element = nullptr;
      for (FieldPlan& field : plan.fields) {
        if (field.below != nullptr && !field.below->needed) field.below = nullptr;
      }
      std::erase_if(plan.fields, [](const FieldPlan& f) { return f.below == nullptr && f.default_value.IsAbsent(); });
    }
  }

  static bool IsNeeded(const Plan& plan) {
    if (!plan.hooks.empty() || plan.element_default || (plan.element != nullptr && plan.element->needed)) return true;
    for (const FieldPlan& field : plan.fields) {
      if (!field.default_value.IsAbsent() || (field.below != nullptr && field.below->needed)) return true;
    }
    return false;
  }

  const std::vector<DefaultHookEntry> hooks_;
  std::shared_mutex mutex_;
  std::deque<Plan> plans_;
  std::unordered_map<const Type*, Plan*> by_type_;
  Arena arena_;
  std::optional<Status> error_;
};

Defaults::Defaults(std::span<const DefaultHookEntry> hooks) : plans_(std::make_shared<Plans>(hooks)) {}
Defaults::~Defaults() = default;

Result<Value> Defaults::Apply(Arena& arena, const Type& type, const Value& value) const {
  TRY_ASSIGN(const Plan* plan, plans_->Find(type));
  if (!plan->needed) return value;
  Value result = Walk(arena).Apply(*plan, value);
  if (!IsSameTree(result, value)) arena.Keep(plans_);
  return result;
}

}  // namespace homeostat::schema
