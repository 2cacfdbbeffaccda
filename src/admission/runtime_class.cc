// RuntimeClass: a pod of a class bears its overhead, and goes where and tolerates what the class says.
// Source of the rules and texts: plugin/pkg/admission/runtimeclass and util/tolerations.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "kinds/edit.h"
#include "quota/amounts.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

// Whether what the one tolerates includes what the other does.
bool Includes(const Value& wider, const Value& narrower) {
  if (object::Equal(wider, narrower)) return true;
  auto text = [](const Value& toleration, std::string_view field) { return toleration.Get(field).AsString(); };
  std::string_view op = text(wider, "operator");
  // An empty key with Exists stands for all keys, an empty effect for all effects.
  bool any_key = text(wider, "key").empty() && op == "Exists";
  if (text(wider, "key") != text(narrower, "key") && !any_key) return false;
  if (text(wider, "effect") != text(narrower, "effect") && !text(wider, "effect").empty()) return false;
  if (Value seconds = wider.Get("tolerationSeconds"); seconds && text(wider, "effect") == "NoExecute") {
    Value other = narrower.Get("tolerationSeconds");
    if (!other || other.AsInt() > seconds.AsInt()) return false;
  }
  if (op == "Exists") return true;
  return (op == "Equal" || op.empty()) && text(narrower, "operator") == "Equal" && text(wider, "value") == text(narrower, "value");
}

// Both lists, without what another one of them includes; of equal ones the first stays.
Value MergeTolerations(object::Arena& arena, const Value& first, const Value& second) {
  std::vector<Value> all(first.items().begin(), first.items().end());
  all.insert(all.end(), second.items().begin(), second.items().end());
  object::ListBuilder merged(arena);
  for (size_t i = 0; i < all.size(); ++i) {
    auto includes = [&](const Value& other) { return Includes(other, all[i]); };
    if (std::ranges::any_of(merged.items(), includes)) continue;
    bool later = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
                             [&](const Value& other) { return !object::Equal(other, all[i]) && includes(other); });
    if (!later) merged.Append(all[i]);
  }
  return merged.empty() ? Value() : merged.Build();
}

class RuntimeClass : public PlainPlugin {
 public:
  explicit RuntimeClass(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "RuntimeClass"; }
  bool Handles(const Request& request) const override { return request.creates() && request.IsWhole("", "pods"); }

  Result<Value> MutateNow(const Request& request) override {
    TRY_ASSIGN(object::DocumentPtr found, Find(request));
    if (!found) return request.object;
    // What the pod takes from it must live as long as the pod.
    request.arena().Keep(found);
    Value overhead = found->root().Get("overhead"), scheduling = found->root().Get("scheduling");
    Edit pod(request.arena(), types::kPod, request.object);
    if (overhead) {
      Value own = pod.Get("spec").Get("overhead");
      if (!own.empty() && !IsSameOverhead(overhead, own)) return Fail(Mismatch(request));
      pod.In("spec", [&](Edit& spec) { spec.Set("overhead", overhead.Get("podFixed")); });
    }
    if (scheduling) TRY(Schedule(request, pod, scheduling));
    return pod.Build();
  }

  Result<void> ValidateNow(const Request& request) override {
    TRY_ASSIGN(object::DocumentPtr found, Find(request));
    Value own = request.object.Path({"spec", "overhead"});
    if (Value overhead = found ? found->root().Get("overhead") : Value()) {
      return IsSameOverhead(overhead, own) ? Result<void>() : Fail(Mismatch(request));
    }
    // Even one that says nothing.
    if (own || kinds::CameEmpty(request.context, "spec.overhead")) return Fail(Forbid(request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"));
    return {};
  }

 private:
  static Status Mismatch(const Request& request) {
    return Forbid(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }

  static bool IsSameOverhead(const Value& overhead, const Value& own) {
    return quota::IsEqual(quota::ParseAmounts(overhead.Get("podFixed")), quota::ParseAmounts(own));
  }

  static Result<void> Schedule(const Request& request, Edit& pod, const Value& scheduling) {
    Value own = pod.Get("spec").Get("nodeSelector");
    for (const object::Member& entry : scheduling.Get("nodeSelector").members()) {
      Value known = own.Get(entry.name());
      if (!known || known.AsString() == entry.value.AsString()) continue;
      std::string key(entry.name());
      return Fail(Forbid(request, "conflict: runtimeClass.scheduling.nodeSelector[" + key + "] = " + std::string(entry.value.AsString()) +
                                      "; pod.spec.nodeSelector[" + key + "] = " + std::string(known.AsString())));
    }
    pod.In("spec", [&](Edit& spec) {
      for (const object::Member& entry : scheduling.Get("nodeSelector").members()) spec.SetEntry("nodeSelector", entry.name(), entry.value);
      spec.Set("tolerations", MergeTolerations(spec.arena(), spec.Get("tolerations"), scheduling.Get("tolerations")));
    });
    return {};
  }

  // Null for a pod that names no class.
  Result<object::DocumentPtr> Find(const Request& request) const {
    Value name = request.object.Path({"spec", "runtimeClassName"});
    if (!name) return object::DocumentPtr();
    // Upstream asks for it by name, which a client does not do with none.
    if (name.AsString().empty()) return Fail(Status(500, "", "resource name may not be empty"));
    object::DocumentPtr found = objects_.Get("node.k8s.io", "runtimeclasses", "", name.AsString());
    if (!found) return Fail(Forbid(request, "pod rejected: RuntimeClass " + GoQuote(name.AsString()) + " not found"));
    return found;
  }

  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeRuntimeClass(const PluginParts& parts) { return std::make_unique<RuntimeClass>(parts); }

}  // namespace homeostat::admission
