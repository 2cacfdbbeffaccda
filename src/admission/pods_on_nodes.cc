// What admission knows of the node that a pod is on: PodTopologyLabels (it is told its zone and region), PodResizeValidator (it may
// not grow beyond its node) and NodeDeclaredFeatureValidator (its node must be able to do what an update asks for).
// Source of the rules and texts: plugin/pkg/admission/podtopologylabels, podresize and nodedeclaredfeatures.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "kinds/edit.h"
#include "quota/pod_resources.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Quantity;
using object::Value;

std::string_view NodeNameOf(const Value& pod) { return pod.Path({"spec", "nodeName"}).AsString(); }

bool IsSpecUnchanged(const Request& request) {
  return object::Equal(request.object.Path({"metadata", "generation"}), request.old_object.Path({"metadata", "generation"}));
}

class PodTopologyLabels : public PlainPlugin {
 public:
  explicit PodTopologyLabels(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "PodTopologyLabels"; }
  bool Handles(const Request& request) const override {
    return request.creates() && request.Is("", "pods") && (request.subresource.empty() || request.subresource == "binding");
  }

  Result<Value> MutateNow(const Request& request) override {
    bool binding = request.subresource == "binding";
    Value target = request.object.Get("target");
    std::string_view node_name = binding ? target.Get("name").AsString() : NodeNameOf(request.object);
    if (node_name.empty() || (binding && target.Get("kind").AsString() != "Node")) return request.object;
    object::DocumentPtr node = objects_.Get("", "nodes", "", node_name);
    if (!node) return request.object;
    Value known = node->root().Path({"metadata", "labels"});
    return kinds::Edited(request.arena(), binding ? types::kBinding : types::kPod, request.object, [&](Edit& object) {
      object.In("metadata", [&](Edit& metadata) {
        for (std::string_view label : {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
          if (Value value = known.Get(label)) metadata.SetEntry("labels", label, Value::String(metadata.arena(), value.AsString()));
        }
      });
    });
  }

 private:
  const kinds::ObjectReader& objects_;
};

Status WithCause(const Status& refusal, std::string_view reason) {
  StatusDetails details = refusal.details();
  details.causes.push_back({std::string(reason), "", ""});
  return refusal.WithDetails(details);
}

class PodResizeValidator : public PlainPlugin {
 public:
  explicit PodResizeValidator(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "PodResizeValidator"; }
  bool Handles(const Request& request) const override { return request.updates() && request.subresource == "resize" && request.Is("", "pods"); }

  Result<void> ValidateNow(const Request& request) override {
    std::string_view node_name = NodeNameOf(request.object);
    if (node_name.empty() || IsSpecUnchanged(request)) return {};
    object::DocumentPtr node = objects_.Get("", "nodes", "", node_name);
    if (!node) return Fail(Forbid(request, "node " + GoQuote(node_name) + " not found"));
    Value os = node->root().Path({"metadata", "labels", "kubernetes.io/os"});
    if (os && os.AsString() != "linux") {
      return Fail(WithCause(Forbid(request, "pod resize is only supported on linux nodes, node " + GoQuote(node_name) + " is " + GoQuote(os.AsString())),
                            "UnsupportedPlatform"));
    }
    std::string excess = ExcessOf(quota::PodRequests(request.object), quota::ParseAmounts(node->root().Path({"status", "allocatable"})));
    if (excess.empty()) return {};
    return Fail(WithCause(Forbid(request, "node didn't have enough allocatable resources: " + excess), "NodeCapacity"));
  }

 private:
  static std::string ExcessOf(const quota::Amounts& requests, const quota::Amounts& allocatable) {
    auto amount = [](const quota::Amounts& amounts, const char* name) {
      auto found = amounts.find(name);
      return found == amounts.end() ? Quantity() : found->second;
    };
    auto told = [](const char* name, int64_t asked, int64_t there) {
      return std::string(name) + ", requested: " + std::to_string(asked) + ", allocatable: " + std::to_string(there);
    };
    std::string text;
    Quantity cpu = amount(requests, "cpu"), cpu_there = amount(allocatable, "cpu");
    if (cpu > cpu_there) text = told("cpu", cpu.MilliValue(), cpu_there.MilliValue());
    Quantity memory = amount(requests, "memory"), memory_there = amount(allocatable, "memory");
    if (memory > memory_there) text += (text.empty() ? "" : "; ") + told("memory", memory.Value(), memory_there.Value());
    return text;
  }

  const kinds::ObjectReader& objects_;
};

// Features that a change of the pod needs of its node, by name.
std::vector<std::string_view> NeededFeatures(const Value& pod, const Value& old) {
  std::vector<std::string_view> needed;
  Value spec = pod.Get("spec"), before = old.Get("spec");
  if (!object::Equal(spec.Get("resources"), before.Get("resources"))) needed.push_back("InPlacePodLevelResourcesVerticalScaling");
  Value containers = spec.Get("initContainers"), previous = before.Get("initContainers");
  for (size_t i = 0; i < previous.size(); ++i) {
    bool sidecar = previous.At(i).Get("restartPolicy").AsString() == "Always";
    if (sidecar || object::Equal(previous.At(i).Get("resources"), containers.At(i).Get("resources"))) continue;
    needed.push_back("InPlacePodVerticalScalingInitContainers");
    break;
  }
  return needed;
}

class NodeDeclaredFeatureValidator : public PlainPlugin {
 public:
  explicit NodeDeclaredFeatureValidator(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "NodeDeclaredFeatureValidator"; }
  bool Handles(const Request& request) const override {
    return request.updates() && request.Is("", "pods") && (request.subresource.empty() || request.subresource == "resize");
  }

  Result<void> ValidateNow(const Request& request) override {
    std::string_view node_name = NodeNameOf(request.object);
    if (node_name.empty() || IsSpecUnchanged(request)) return {};
    std::vector<std::string_view> needed = NeededFeatures(request.object, request.old_object);
    if (needed.empty()) return {};
    object::DocumentPtr node = objects_.Get("", "nodes", "", node_name);
    if (!node) return Fail(Forbid(request, "node " + GoQuote(node_name) + " not found"));
    Value declared = node->root().Path({"status", "declaredFeatures"});
    std::string missing;
    for (std::string_view feature : needed) {
      bool there = std::ranges::any_of(declared.items(), [&](const Value& known) { return known.AsString() == feature; });
      if (!there) missing.append(missing.empty() ? "" : ", ").append(feature);
    }
    if (missing.empty()) return {};
    return Fail(Forbid(request, "pod update requires features " + missing + " which are not available on node " + GoQuote(node_name)));
  }

 private:
  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakePodTopologyLabels(const PluginParts& parts) { return std::make_unique<PodTopologyLabels>(parts); }
std::unique_ptr<Plugin> MakePodResizeValidator(const PluginParts& parts) { return std::make_unique<PodResizeValidator>(parts); }
std::unique_ptr<Plugin> MakeNodeDeclaredFeatureValidator(const PluginParts& parts) { return std::make_unique<NodeDeclaredFeatureValidator>(parts); }

}  // namespace homeostat::admission
