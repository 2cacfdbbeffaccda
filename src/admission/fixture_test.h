// What the tests of plugins share: a cluster of objects written as YAML, and writes to it that pass one plugin.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugins.h"
#include "base/await_for_tests.h"
#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/behaviours.h"

namespace homeostat::admission {

using object::Value;
using Texts = std::vector<std::string>;

// By resource, and there by namespace and name.
class FakeObjects : public kinds::ObjectReader {
 public:
  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const override {
    auto found = objects.find(Key(group, plural));
    if (found == objects.end()) return nullptr;
    auto at = found->second.find(std::string(ns) + "/" + std::string(name));
    return at == found->second.end() ? nullptr : at->second;
  }
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const override {
    std::vector<object::DocumentPtr> list;
    auto found = objects.find(Key(group, plural));
    if (found == objects.end()) return list;
    for (const auto& [key, object] : found->second) {
      if (ns.empty() || key.starts_with(std::string(ns) + "/")) list.push_back(object);
    }
    return list;
  }
  static std::string Key(std::string_view group, std::string_view plural) { return std::string(plural) + "." + std::string(group); }

  std::map<std::string, std::map<std::string, object::DocumentPtr>> objects;
};

// Allows what is listed as "verb resource/subresource name".
class FakeAuthorizer : public auth::Authorizer {
 public:
  auth::Verdict Authorize(const auth::Attributes& asked) override {
    std::string text = asked.verb + " " + asked.resource + (asked.subresource.empty() ? "" : "/" + asked.subresource) + " " + asked.name;
    for (const std::string& known : allowed) if (known == text) return {auth::Decision::kAllow, "", ""};
    return {auth::Decision::kNoOpinion, "no rule", ""};
  }
  Texts allowed;
};

// All kinds there are, as they are defined.
class FakeServedKinds : public ServedKinds {
 public:
  std::vector<const schema::Kind*> SharingStore(object::Arena&, const schema::Kind& kind) const override {
    std::vector<const schema::Kind*> found;
    for (const schema::Kind* other : api::AllKinds()) {
      if (!kind.storage_prefix.empty() && other->storage_prefix == kind.storage_prefix && other->plural == kind.plural) found.push_back(other);
    }
    return found;
  }
  Result<Value> Convert(object::Arena& arena, const Value& object, const schema::Kind& from, const schema::Kind& to) const override {
    auto convert = kinds::FindBehaviour(from.gvk.group, from.gvk.kind).convert;
    return convert == nullptr || &from == &to ? object : convert(arena, object, from, to);
  }
  Result<Value> Default(object::Arena& arena, const Value& object, const schema::Kind& kind) const override {
    return schema::Defaults(kinds::DefaultHooks()).Apply(arena, *kind.type, object);
  }
};

struct Write {
  std::string_view object;                 // YAML; "" for none
  std::string_view old_object = {};
  std::string_view subresource = {};
  Operation operation = Operation::kCreate;
  bool dry_run = false;
};

struct Outcome {
  std::string error;                       // "" if it was let through
  Texts warnings;
  Value object;                            // as changed
};

class PluginTest : public testing::Test {
 protected:
  const schema::Kind& KindOf(const Value& tree) {
    auto [group, version] = schema::ParseApiVersion(tree.Get("apiVersion").AsString());
    const schema::Kind* kind = api::FindKind(group, version, tree.Get("kind").AsString());
    if (kind == nullptr) {
      ADD_FAILURE() << "no such kind: " << object::JsonText(tree);
      abort();
    }
    return *kind;
  }

  // Of bodies of subresources, too, which are no kinds of their own.
  const schema::Type& TypeOf(const Value& tree) {
    auto [group, version] = schema::ParseApiVersion(tree.Get("apiVersion").AsString());
    const schema::Type* type = api::FindTypeOfKind(group, version, tree.Get("kind").AsString());
    return type == nullptr ? *KindOf(tree).type : *type;
  }

  // As a client's, with defaults. A kind that is not given is a Pod.
  object::DocumentPtr Load(std::string_view yaml) {
    auto document = std::make_shared<object::Document>();
    auto parsed = object::ParseYaml(document->arena(), yaml);
    EXPECT_TRUE(parsed) << yaml;
    Value tree = parsed.value_or(Value());
    if (!tree.Get("kind")) {
      tree = object::WithPath(document->arena(), tree, {"kind"}, Value::StringRef("Pod"));
      tree = object::WithPath(document->arena(), tree, {"apiVersion"}, Value::StringRef("v1"));
    }
    const schema::Type& type = TypeOf(tree);
    schema::ConformReport report;
    auto typed = schema::Conform(document->arena(), tree, type, report);
    EXPECT_TRUE(typed) << yaml;
    auto defaulted = schema::Defaults(kinds::DefaultHooks()).Apply(document->arena(), type, typed.value_or(Value()));
    EXPECT_TRUE(defaulted) << yaml;
    document->set_root(defaulted.value_or(Value()));
    return document;
  }

  void Have(std::string_view yaml) { Have(Load(yaml)); }
  void Have(const object::DocumentPtr& document) {
    const schema::Kind& kind = KindOf(document->root());
    Value metadata = document->root().Get("metadata");
    std::string key = std::string(metadata.Get("namespace").AsString()) + "/" + std::string(metadata.Get("name").AsString());
    objects_.objects[FakeObjects::Key(kind.gvk.group, kind.plural)][key] = document;
  }
  void Remove(std::string_view group, std::string_view plural, std::string_view key) {
    objects_.objects[FakeObjects::Key(group, plural)].erase(std::string(key));
  }

  PluginParts Parts() {
    PluginParts parts{*runtime_, objects_, authorizer_, &api::FindKind, {}, served_, {}};
    parts.update_quota_status = [this](object::DocumentPtr quota) { return UpdateQuota(std::move(quota)); };
    return parts;
  }

  // Runs the write through the plugin on simulated time. The kind written to is the object's, or else the old one's.
  Outcome Run(Plugin& plugin, const Write& write) {
    Outcome outcome;
    bool done = false;
    TaskGroup group(*runtime_);
    group.Spawn(Pass(plugin, write, outcome, done));
    EXPECT_TRUE(runtime_->RunUntil([&] { return done; }, std::chrono::minutes(1)));
    return outcome;
  }

  // Runs a task on simulated time; it must end.
  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime_, std::move(task), std::chrono::minutes(1));
  }

  Task<void> Pass(Plugin& plugin, Write write, Outcome& outcome, bool& done) {
    object::DocumentPtr now = write.object.empty() ? nullptr : Load(write.object), old = write.old_object.empty() ? nullptr : Load(write.old_object);
    Value target = now ? now->root() : old->root();
    const schema::Kind& kind = written_to_ != nullptr ? *written_to_ : KindOf(target);
    kept_.push_back(std::make_shared<object::Document>());
    object::Arena& arena = kept_.back()->arena();
    arena.Keep(now);
    arena.Keep(old);
    Value metadata = target.Get("metadata");
    std::string_view ns = kind.namespaced ? "default" : "";
    kinds::RuleContext context{arena, kind, write.subresource, ns, user_, *runtime_, objects_, write.dry_run, &outcome.warnings};
    context.annotations = annotations_;
    Request request{write.operation, kind, write.subresource, ns, metadata.Get("name").AsString(), now ? now->root() : Value(),
                    old ? old->root() : Value(), Value(), context};
    outcome.object = request.object;
    if (plugin.Handles(request)) {
      auto mutate = plugin.Mutate(request);
      Result<Value> mutated = co_await std::move(mutate);
      if (mutated) {
        outcome.object = request.object = *mutated;
        auto validate = plugin.Validate(request);
        Result<void> valid = co_await std::move(validate);
        if (!valid) outcome.error = valid.error().message();
      } else {
        outcome.error = mutated.error().message();
      }
    }
    done = true;
  }

  // JSON of what is at a dotted path; "none" if nothing is.
  static std::string At(const Value& object, std::string_view path) {
    Value at = object;
    while (!path.empty() && at) {
      size_t dot = path.find('.');
      std::string_view name = path.substr(0, dot);
      at = at.IsList() ? at.At(static_cast<size_t>(std::stoi(std::string(name)))) : at.Get(name);
      path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
    }
    return at ? object::JsonText(at) : "none";
  }

  // The server's part: stores the status unless the quota has another version than the one that was read.
  Task<Result<void>> UpdateQuota(object::DocumentPtr quota) {
    ++quota_writes_;
    auto pause = Sleep(*runtime_, std::chrono::milliseconds(5));
    co_await std::move(pause);
    Value metadata = quota->root().Get("metadata");
    object::DocumentPtr stored = objects_.Get("", "resourcequotas", metadata.Get("namespace").AsString(), metadata.Get("name").AsString());
    if (!stored || !object::Equal(stored->root().Path({"metadata", "resourceVersion"}), metadata.Get("resourceVersion"))) {
      co_return Fail(ConflictError("", "resourcequotas", metadata.Get("name").AsString(), "changed"));
    }
    auto next = std::make_shared<object::Document>();
    next->arena().Keep(quota);
    next->set_root(object::WithPath(next->arena(), quota->root(), {"metadata", "resourceVersion"},
                                    Value::String(next->arena(), std::to_string(++version_))));
    Have(next);
    co_return Done();
  }

  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(1);
  FakeObjects objects_;
  FakeAuthorizer authorizer_;
  FakeServedKinds served_;
  User user_{.name = "mira", .uid = {}, .groups = {}, .extra = {}};
  const schema::Kind* written_to_ = nullptr;  // where it is not the object's kind
  kinds::AuditAnnotations* annotations_ = nullptr;
  int quota_writes_ = 0;
  int version_ = 100;
  std::vector<std::shared_ptr<object::Document>> kept_;
};

}  // namespace homeostat::admission
