// Priority: a pod's priority is its class's, and only one class can be the default.
// Source of the rules and texts: plugin/pkg/admission/priority.
#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

constexpr std::string_view kGroup = "scheduling.k8s.io", kPlural = "priorityclasses";

std::string_view NameOf(const Value& object) { return object.Path({"metadata", "name"}).AsString(); }

class Priority : public PlainPlugin {
 public:
  explicit Priority(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "Priority"; }

  bool Handles(const Request& request) const override {
    bool writes = request.creates() || request.updates();
    return writes && (request.IsWhole("", "pods") || request.IsWhole(kGroup, kPlural));
  }

  Result<Value> MutateNow(const Request& request) override {
    if (!request.Is("", "pods")) return request.object;
    return request.creates() ? Resolve(request) : Keep(request);
  }

  Result<void> ValidateNow(const Request& request) override {
    if (!request.Is(kGroup, kPlural) || !request.object.Get("globalDefault").AsBool()) return {};
    object::DocumentPtr known = DefaultClass();
    if (!known) return {};
    std::string_view name = NameOf(known->root());
    if (request.updates() && name == NameOf(request.object)) return {};
    return Fail(Forbid(request, "PriorityClass " + std::string(name) + " is already marked as default. Only one default can exist"));
  }

 private:
  // Of several, which a race may leave, the one of least value.
  object::DocumentPtr DefaultClass() const {
    object::DocumentPtr least;
    for (object::DocumentPtr& document : objects_.List(kGroup, kPlural, "")) {
      const Value& root = document->root();
      if (!root.Get("globalDefault").AsBool()) continue;
      if (!least || root.Get("value").AsInt() < least->root().Get("value").AsInt()) least = std::move(document);
    }
    return least;
  }

  // A client that doesn't know the fields is not to lose them.
  static Result<Value> Keep(const Request& request) {
    Value old = request.old_object.Get("spec");
    return kinds::Edited(request.arena(), types::kPod, request.object, [&](Edit& pod) {
      pod.In("spec", [&](Edit& spec) {
        for (std::string_view field : {"priority", "preemptionPolicy"}) {
          if (old.Get(field)) spec.Fill(field, old.Get(field));
        }
      });
    });
  }

  Result<Value> Resolve(const Request& request) const {
    Value spec = request.object.Get("spec");
    std::string_view wanted = spec.Get("priorityClassName").AsString();
    object::DocumentPtr found = wanted.empty() ? DefaultClass() : objects_.Get(kGroup, kPlural, "", wanted);
    if (!wanted.empty() && !found) return Fail(Forbid(request, "no PriorityClass with name " + std::string(wanted) + " was found"));
    Value root = found ? found->root() : Value();
    int64_t priority = root.Get("value").AsInt();
    // Without any class a pod may push others aside; a class that says nothing leaves it to the pod's own default.
    std::string_view policy = found ? root.Get("preemptionPolicy").AsString() : "PreemptLowerPriority";
    constexpr std::string_view kComputed = " must not be provided in pod spec; priority admission controller computed ";
    if (Value own = spec.Get("priority"); own && own.AsInt() != priority) {
      return Fail(Forbid(request, "the integer value of priority (" + std::to_string(own.AsInt()) + ")" + std::string(kComputed) +
                                      std::to_string(priority) + " from the given PriorityClass name"));
    }
    Value own = spec.Get("preemptionPolicy");
    if (own && !policy.empty() && own.AsString() != policy) {
      return Fail(Forbid(request, "the string value of PreemptionPolicy (" + std::string(own.AsString()) + ")" + std::string(kComputed) +
                                      std::string(policy) + " from the given PriorityClass name"));
    }
    return kinds::Edited(request.arena(), types::kPod, request.object, [&](Edit& pod) {
      pod.In("spec", [&](Edit& edit) {
        if (found) edit.SetText("priorityClassName", NameOf(root));
        edit.Set("priority", Value::Int(priority));
        if (!policy.empty()) edit.SetText("preemptionPolicy", policy);
      });
    });
  }

  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakePriority(const PluginParts& parts) { return std::make_unique<Priority>(parts); }

}  // namespace homeostat::admission
