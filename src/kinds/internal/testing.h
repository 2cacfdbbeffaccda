// What the tests of behaviours share: objects written as YAML, sent through a kind's hooks in the server's order.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/behaviours.h"

namespace homeostat::kinds::internal {

// The objects that rules can read.
class TestObjects : public ObjectReader {
 public:
  void Add(std::string_view group, std::string_view plural, object::DocumentPtr document) {
    objects_[{std::string(group), std::string(plural)}].push_back(std::move(document));
  }
  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const override {
    for (object::DocumentPtr& document : List(group, plural, ns)) {
      if (document->root().Path({"metadata", "name"}).AsString() == name) return std::move(document);
    }
    return nullptr;
  }
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view) const override {
    auto found = objects_.find({std::string(group), std::string(plural)});
    return found == objects_.end() ? std::vector<object::DocumentPtr>() : found->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<object::DocumentPtr>> objects_;
};

// Claims on the real pools; what is taken is plain to see.
class TestClaims : public Claims {
 public:
  TestClaims(const ObjectReader& objects, Runtime& runtime) : objects_(objects), runtime_(runtime) {}
  bool Has(std::string_view pool) const override { return Find(pool).Exists(objects_); }
  std::expected<std::string, std::string> Take(std::string_view name, std::string_view thing) override {
    const Pool& pool = Find(name);
    auto is_taken = [&](std::string_view other) { return taken.contains(std::string(name) + " " + std::string(other)); };
    if (thing.empty()) {
      auto picked = pool.Pick(objects_, runtime_, is_taken);
      if (!picked) return std::unexpected(std::string(kPoolIsFull));
      taken.insert(std::string(name) + " " + *picked);
      return *picked;
    }
    if (std::string refusal = pool.Refusal(objects_, thing); !refusal.empty()) return std::unexpected(refusal);
    if (is_taken(thing)) return std::unexpected(std::string(pool.taken_text()));
    taken.insert(std::string(name) + " " + std::string(thing));
    return std::string(thing);
  }
  void GiveBack(std::string_view pool, std::string_view thing) override { taken.erase(std::string(pool) + " " + std::string(thing)); }

  std::set<std::string> taken;  // "pool thing"

 private:
  static const Pool& Find(std::string_view name) {
    if (const Pool* pool = FindPool(name)) return *pool;
    ADD_FAILURE() << "no pool " << name;
    abort();
  }
  const ObjectReader& objects_;
  Runtime& runtime_;
};

using Texts = std::vector<std::string>;

class BehaviourTest : public testing::Test {
 protected:
  struct Outcome {
    Value object;
    Texts faults;    // "field: message"
    Texts warnings;
  };

  // As it comes from a client, with defaults. The kind is that of its apiVersion and kind.
  Value Load(std::string_view yaml) { return Typed(Parse(yaml)); }
  // The same with a merge patch applied before.
  Value Load(std::string_view yaml, std::string_view change) { return Typed(Merge(Parse(yaml), Parse(change))); }

  Outcome Create(Value object) { return Write(object, Value(), ""); }
  Outcome Create(std::string_view yaml, std::string_view change = "{}") { return Create(Load(yaml, change)); }
  Outcome Update(Value object, Value old, std::string_view subresource = "") { return Write(object, old, subresource); }

  // JSON of what is at a path of names and indices: "spec.ports.0.port".
  static std::string At(const Value& object, std::string_view path) {
    Value at = object;
    while (!path.empty() && at) {
      size_t dot = path.find('.');
      std::string_view name = path.substr(0, dot);
      at = at.IsList() ? at.At(std::stoul(std::string(name))) : at.Get(name);
      path = dot == path.npos ? "" : path.substr(dot + 1);
    }
    return at ? object::JsonText(at) : "none";
  }
  std::string Cell(const Value& object, std::string_view cell) {
    Value value = Of(object).cell(arena_, cell, object, Now());
    return value.IsString() ? std::string(value.AsString()) : object::JsonText(value);
  }
  WallTime Now() { return runtime_->WallNow(); }
  RuleContext Context(const Value& object, std::string_view subresource = "") {
    return {arena_, KindOf(object), subresource, "default", user_, *runtime_, objects_, false, nullptr};
  }
  static const Behaviour& Of(const Value& object) {
    const schema::Kind& kind = KindOf(object);
    return FindBehaviour(kind.gvk.group, kind.gvk.kind);
  }
  // Something that rules can read.
  void Have(std::string_view group, std::string_view plural, std::string_view yaml) {
    auto document = object::ParseYamlDocument(yaml);
    ASSERT_TRUE(document) << document.error().message();
    objects_.Add(group, plural, *document);
  }

  object::Arena arena_;
  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(1);
  TestObjects objects_;
  TestClaims claims_{objects_, *runtime_};

 private:
  static const schema::Kind& KindOf(const Value& object) {
    auto [group, version] = schema::ParseApiVersion(object.Get("apiVersion").AsString());
    const schema::Kind* kind = api::FindKind(group, version, object.Get("kind").AsString());
    if (kind == nullptr) {
      ADD_FAILURE() << "no such kind: " << object::JsonText(object);
      abort();
    }
    return *kind;
  }
  Value Parse(std::string_view yaml) {
    auto parsed = object::ParseYaml(arena_, yaml);
    EXPECT_TRUE(parsed) << parsed.error().message() << "\n" << yaml;
    return parsed.value_or(Value());
  }
  Value Typed(Value tree) {
    schema::ConformReport report;
    const schema::Kind& kind = KindOf(tree);
    auto typed = schema::Conform(arena_, tree, *kind.type, report);
    EXPECT_TRUE(typed) << typed.error().message();
    auto defaulted = schema::Defaults(DefaultHooks()).Apply(arena_, *kind.type, typed.value_or(Value()));
    EXPECT_TRUE(defaulted) << defaulted.error().message();
    return defaulted.value_or(Value());
  }
  Value Merge(const Value& target, const Value& change) {
    if (!change.IsObject()) return change;
    object::ObjectBuilder merged(arena_);
    for (const object::Member& member : target.members()) {
      if (change.Get(member.name()).IsAbsent()) merged.Set(member.name(), member.value);
    }
    for (const object::Member& member : change.members()) {
      if (!member.value.IsNull()) merged.Set(member.name(), Merge(target.Get(member.name()), member.value));
    }
    return merged.Build();
  }

  Outcome Write(Value object, Value old, std::string_view subresource) {
    Outcome outcome;
    const Behaviour& behaviour = Of(object);
    RuleContext context = Context(object, subresource);
    context.warnings = &outcome.warnings;
    context.claims = &claims_;
    FieldErrors errors;
    if (behaviour.allocate != nullptr && subresource.empty()) {
      auto allocated = behaviour.allocate(context, claims_, object, old);
      if (!allocated) {
        for (const StatusCause& cause : allocated.error().details().causes) outcome.faults.push_back(cause.field + ": " + cause.message);
        if (outcome.faults.empty()) outcome.faults.push_back(allocated.error().message());
        return outcome;
      }
      object = *allocated;
    }
    if (!old && behaviour.prepare_create != nullptr) object = behaviour.prepare_create(context, object);
    if (old && behaviour.prepare_update != nullptr) object = behaviour.prepare_update(context, object, old);
    if (!old && behaviour.validate_create != nullptr) behaviour.validate_create(context, object, errors);
    if (old && behaviour.validate_update != nullptr) behaviour.validate_update(context, object, old, errors);
    for (const StatusCause& cause : errors.causes()) outcome.faults.push_back(cause.field + ": " + cause.message);
    if (errors.empty() && behaviour.warn != nullptr) behaviour.warn(context, object, old);
    outcome.object = object;
    return outcome;
  }

  User user_;
};

}  // namespace homeostat::kinds::internal
