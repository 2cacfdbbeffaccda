// Plugins that run only where they are asked for: AlwaysAdmit, AlwaysDeny, AlwaysPullImages, DenyServiceExternalIPs,
// ExtendedResourceToleration, LimitPodHardAntiAffinityTopology, NamespaceExists.
// Source of the rules and texts: plugin/pkg/admission.
#include <algorithm>
#include <functional>
#include <set>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/names.h"
#include "homeostat/schema/field_errors.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

constexpr std::string_view kContainerLists[] = {"initContainers", "containers", "ephemeralContainers"};

bool WritesPod(const Request& request) { return (request.creates() || request.updates()) && request.IsWhole("", "pods"); }

class AlwaysAdmit : public PlainPlugin {
 public:
  std::string_view name() const override { return "AlwaysAdmit"; }
  bool Handles(const Request&) const override { return false; }
};

class AlwaysDeny : public PlainPlugin {
 public:
  std::string_view name() const override { return "AlwaysDeny"; }
  bool Handles(const Request&) const override { return true; }
  Result<Value> MutateNow(const Request& request) override { return Fail(Refusal(request)); }
  Result<void> ValidateNow(const Request& request) override { return Fail(Refusal(request)); }

 private:
  static Status Refusal(const Request& request) { return Forbid(request, "admission control is denying all modifications"); }
};

class NamespaceExists : public PlainPlugin {
 public:
  explicit NamespaceExists(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "NamespaceExists"; }
  bool Handles(const Request& request) const override {
    return request.operation != Operation::kConnect && !request.ns.empty() && !request.Is("", "namespaces");
  }
  Result<void> ValidateNow(const Request& request) override {
    if (objects_.Get("", "namespaces", "", request.ns)) return {};
    return Fail(NotFoundError("", "namespaces", request.ns));
  }

 private:
  const kinds::ObjectReader& objects_;
};

// Images are pulled anew, so that whoever starts a pod must be allowed to have them.
class AlwaysPullImages : public PlainPlugin {
 public:
  std::string_view name() const override { return "AlwaysPullImages"; }
  bool Handles(const Request& request) const override { return WritesPod(request) && (request.creates() || HasNewImage(request)); }

  Result<Value> MutateNow(const Request& request) override {
    return kinds::Edited(request.arena(), types::kPod, request.object, [](Edit& pod) {
      pod.In("spec", [](Edit& spec) {
        for (std::string_view list : kContainerLists) {
          spec.Each(list, [](Edit& container) { container.Set("imagePullPolicy", Value::StringRef("Always")); });
        }
        spec.Each("volumes", [](Edit& volume) {
          if (volume.Get("image")) volume.In("image", [](Edit& image) { image.Set("pullPolicy", Value::StringRef("Always")); });
        });
      });
    });
  }

  Result<void> ValidateNow(const Request& request) override {
    std::vector<std::string> faults;
    auto check = [&](const schema::FieldPath& path, std::string_view policy) {
      if (policy == "Always") return;
      schema::FieldErrors errors;
      errors.NotSupported(path, policy, {"Always"});
      const StatusCause& cause = errors.causes().front();
      faults.push_back(Forbid(request, cause.field + ": " + cause.message).message());
    };
    schema::FieldPath spec_path("spec");
    Value spec = request.object.Get("spec");
    for (std::string_view list : kContainerLists) {
      Value containers = spec.Get(list);
      for (size_t i = 0; i < containers.size(); ++i) {
        check(spec_path.Child(list).Index(i).Child("imagePullPolicy"), containers.At(i).Get("imagePullPolicy").AsString());
      }
    }
    Value volumes = spec.Get("volumes");
    for (size_t i = 0; i < volumes.size(); ++i) {
      if (Value image = volumes.At(i).Get("image")) {
        check(spec_path.Child("volumes").Index(i).Child("image", "pullPolicy"), image.Get("pullPolicy").AsString());
      }
    }
    // Upstream answers with the texts alone.
    if (!faults.empty()) return Fail(Status(500, "", JoinFaults(faults)));
    return {};
  }

 private:
  static void EachImage(const Value& pod, const std::function<void(std::string_view image)>& visit) {
    for (std::string_view list : kContainerLists) {
      for (const Value& container : pod.Get("spec").Get(list).items()) visit(container.Get("image").AsString());
    }
  }
  static bool HasNewImage(const Request& request) {
    std::set<std::string_view> known;
    bool any = false;
    EachImage(request.old_object, [&](std::string_view image) { known.insert(image); });
    EachImage(request.object, [&](std::string_view image) { any = any || !known.contains(image); });
    return any;
  }
};

class DenyServiceExternalIPs : public PlainPlugin {
 public:
  std::string_view name() const override { return "DenyServiceExternalIPs"; }
  bool Handles(const Request& request) const override {
    return (request.creates() || request.updates()) && request.IsWhole("", "services");
  }
  Result<void> ValidateNow(const Request& request) override {
    Value old = request.old_object.Path({"spec", "externalIPs"});
    bool all_known = std::ranges::all_of(request.object.Path({"spec", "externalIPs"}).items(), [&](const Value& ip) {
      return std::ranges::any_of(old.items(), [&](const Value& known) { return known.AsString() == ip.AsString(); });
    });
    if (all_known) return {};
    return Fail(Forbid(request, "Use of external IPs is denied by admission control"));
  }
};

// Nodes with special devices may be tainted with their names: pods that ask for the devices tolerate it.
class ExtendedResourceToleration : public PlainPlugin {
 public:
  std::string_view name() const override { return "ExtendedResourceToleration"; }
  bool Handles(const Request& request) const override { return WritesPod(request); }

  Result<Value> MutateNow(const Request& request) override {
    std::set<std::string> resources;
    for (std::string_view list : {"containers", "initContainers"}) {
      for (const Value& container : request.object.Get("spec").Get(list).items()) {
        for (const object::Member& entry : container.Get("resources").Get("requests").members()) {
          if (IsExtended(entry.name())) resources.emplace(entry.name());
        }
      }
    }
    if (resources.empty()) return request.object;
    return kinds::Edited(request.arena(), types::kPod, request.object, [&](Edit& pod) {
      pod.In("spec", [&](Edit& spec) {
        object::ListBuilder tolerations(spec.arena(), spec.Get("tolerations"));
        for (const std::string& resource : resources) {
          Value wanted = kinds::Edited(spec.arena(), types::kToleration, Value(), [&](Edit& toleration) {
            toleration.SetText("key", resource);
            toleration.Set("operator", Value::StringRef("Exists"));
            toleration.Set("effect", Value::StringRef("NoSchedule"));
          });
          bool known = std::ranges::any_of(tolerations.items(), [&](const Value& other) { return object::Equal(other, wanted); });
          if (!known) tolerations.Append(wanted);
        }
        spec.Set("tolerations", tolerations.Build());
      });
    });
  }

 private:
  static bool IsExtended(std::string_view name) {
    bool native = name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
    return !native && !name.starts_with("requests.") && object::IsQualifiedName("requests." + std::string(name)).empty();
  }
};

class LimitPodHardAntiAffinityTopology : public PlainPlugin {
 public:
  std::string_view name() const override { return "LimitPodHardAntiAffinityTopology"; }
  bool Handles(const Request& request) const override { return WritesPod(request); }
  Result<void> ValidateNow(const Request& request) override {
    constexpr std::string_view kHostname = "kubernetes.io/hostname";
    for (const Value& term : request.object.Path({"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}).items()) {
      std::string_view key = term.Get("topologyKey").AsString();
      if (key == kHostname) continue;
      return Fail(ForbiddenError("", "pods", request.object.Path({"metadata", "name"}).AsString(),
                                 "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey " + std::string(key) + " but only key " +
                                     std::string(kHostname) + " is allowed"));
    }
    return {};
  }
};

template <class P>
std::unique_ptr<Plugin> Make(const PluginParts&) { return std::make_unique<P>(); }

}  // namespace

std::unique_ptr<Plugin> MakeAlwaysAdmit(const PluginParts& parts) { return Make<AlwaysAdmit>(parts); }
std::unique_ptr<Plugin> MakeAlwaysDeny(const PluginParts& parts) { return Make<AlwaysDeny>(parts); }
std::unique_ptr<Plugin> MakeAlwaysPullImages(const PluginParts& parts) { return Make<AlwaysPullImages>(parts); }
std::unique_ptr<Plugin> MakeDenyServiceExternalIPs(const PluginParts& parts) { return Make<DenyServiceExternalIPs>(parts); }
std::unique_ptr<Plugin> MakeExtendedResourceToleration(const PluginParts& parts) { return Make<ExtendedResourceToleration>(parts); }
std::unique_ptr<Plugin> MakeLimitPodHardAntiAffinityTopology(const PluginParts& parts) { return Make<LimitPodHardAntiAffinityTopology>(parts); }
std::unique_ptr<Plugin> MakeNamespaceExists(const PluginParts& parts) { return std::make_unique<NamespaceExists>(parts); }

}  // namespace homeostat::admission
