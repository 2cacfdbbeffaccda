// Defaults of the core group but for pods.
#include "homeostat/api/core/v1.h"
#include "kinds/defaults/hooks.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr int64_t kAffinityTimeoutSeconds = 10800;

bool IsZeroPort(const Value& port) { return !port || (port.IsInt() && port.AsInt() == 0) || (port.IsString() && port.AsString().empty()); }

void DefaultSessionAffinity(Edit& spec) {
  if (spec.Get("sessionAffinity").AsString() != "ClientIP") {
    if (spec.Get("sessionAffinity").AsString() == "None") spec.Erase("sessionAffinityConfig");
    return;
  }
  if (spec.Get("sessionAffinityConfig").Get("clientIP").Get("timeoutSeconds")) return;
  spec.In("sessionAffinityConfig", [](Edit& config) {
    config.In("clientIP", [](Edit& client) { client.Set("timeoutSeconds", Value::Int(kAffinityTimeoutSeconds)); });
  });
}

void DefaultTraffic(Edit& spec) {
  std::string_view type = spec.Get("type").AsString();
  bool balanced = type == "LoadBalancer", cluster = type == "ClusterIP", node_port = type == "NodePort";
  if (balanced || node_port || (cluster && !spec.Get("externalIPs").empty())) {
    spec.Fill("externalTrafficPolicy", Value::StringRef("Cluster"));
  }
  if (balanced || node_port || cluster) spec.Fill("internalTrafficPolicy", Value::StringRef("Cluster"));
  if (balanced) spec.Fill("allocateLoadBalancerNodePorts", Value::Bool(true));
}

Value DefaultService(Arena& arena, const Value& service) {
  Edit edit(arena, types::kService, service);
  edit.In("spec", [](Edit& spec) {
    // Set by the table when the walk gets there; needed here already.
    spec.Fill("sessionAffinity", Value::StringRef("None"));
    spec.Fill("type", Value::StringRef("ClusterIP"));
    DefaultSessionAffinity(spec);
    spec.Each("ports", [](Edit& port) {
      if (!IsZeroPort(port.Get("targetPort"))) return;
      port.Set("targetPort", port.Get("port"));
    });
    DefaultTraffic(spec);
  });
  if (edit.Get("spec").Get("type").AsString() == "LoadBalancer" && !edit.Get("status").Get("loadBalancer").Get("ingress").empty()) {
    edit.In("status", [](Edit& status) {
      status.In("loadBalancer", [](Edit& balancer) {
        balancer.Each("ingress", [](Edit& ingress) {
          if (!ingress.Get("ip").AsString().empty()) ingress.Fill("ipMode", Value::StringRef("VIP"));
        });
      });
    });
  }
  return edit.Build();
}

// stringData is a way to write data in plain text; it is never stored.
Value DefaultSecret(Arena& arena, const Value& secret) {
  Value plain = secret.Get("stringData");
  if (plain.IsAbsent()) return secret;
  Edit edit(arena, types::kSecret, secret);
  for (const object::Member& member : plain.members()) {
    edit.SetEntry("data", member.name(), Value::BytesRef(member.value.AsString()));
  }
  edit.Erase("stringData");
  return edit.Build();
}

Value DefaultReplicationController(Arena& arena, const Value& controller) {
  Value labels = controller.Path({"spec", "template", "metadata", "labels"});
  if (labels.empty()) return controller;
  Edit edit(arena, types::kReplicationController, controller);
  if (edit.Get("spec").Get("selector").empty()) edit.In("spec", [&](Edit& spec) { spec.Set("selector", labels); });
  if (edit.Get("metadata").Get("labels").empty()) edit.In("metadata", [&](Edit& metadata) { metadata.Set("labels", labels); });
  return edit.Build();
}

// Every namespace carries its own name as a label, so that selectors can pick it.
Value DefaultNamespace(Arena& arena, const Value& ns) {
  Value name = ns.Get("metadata").Get("name");
  if (name.AsString().empty()) return ns;
  if (ns.Path({"metadata", "labels", "kubernetes.io/metadata.name"}).AsString() == name.AsString()) return ns;
  Edit edit(arena, types::kNamespace, ns);
  edit.In("metadata", [&](Edit& metadata) { metadata.SetEntry("labels", "kubernetes.io/metadata.name", name); });
  return edit.Build();
}

Value DefaultNodeSpec(Arena& arena, const Value& spec) {
  std::string_view first = spec.Get("podCIDRs").At(0).AsString(), one = spec.Get("podCIDR").AsString();
  if (first == one) return spec;
  Edit edit(arena, types::kNodeSpec, spec);
  if (one.empty()) {
    edit.SetText("podCIDR", first);
  } else {
    object::ListBuilder list(arena);
    list.Append(spec.Get("podCIDR"));
    edit.Set("podCIDRs", list.Build());
  }
  return edit.Build();
}

Value DefaultNodeStatus(Arena& arena, const Value& status) {
  if (status.Get("allocatable") || !status.Get("capacity")) return status;
  Edit edit(arena, types::kNodeStatus, status);
  edit.Set("allocatable", status.Get("capacity"));
  return edit.Build();
}

Value DefaultLimitRangeItem(Arena& arena, const Value& item) {
  if (item.Get("type").AsString() != "Container") return item;
  Edit edit(arena, types::kLimitRangeItem, item);
  auto fill = [&](std::string_view from, std::string_view to) {
    for (const object::Member& entry : edit.Get(from).members()) {
      if (!edit.Get(to).Get(entry.name())) edit.SetEntry(to, entry.name(), entry.value);
    }
  };
  fill("max", "default");
  fill("default", "defaultRequest");
  fill("min", "defaultRequest");
  return edit.Build();
}

// Of a volume, not of the same spec inline in a VolumeAttachment.
Value DefaultPersistentVolume(Arena& arena, const Value& volume) {
  return Edited(arena, types::kPersistentVolume, volume, [](Edit& edit) {
    edit.In("spec", [](Edit& spec) {
      spec.Fill("persistentVolumeReclaimPolicy", Value::StringRef("Retain"));
      spec.Fill("volumeMode", Value::StringRef("Filesystem"));
    });
  });
}

Value DefaultPersistentVolumeClaim(Arena& arena, const Value& claim) {
  return Edited(arena, types::kPersistentVolumeClaim, claim, [](Edit& edit) {
    edit.In("status", [](Edit& status) { status.Fill("phase", Value::StringRef("Pending")); });
  });
}

constexpr schema::DefaultHookEntry kHooks[] = {
    {"io.k8s.api.core.v1.PersistentVolume", DefaultPersistentVolume},
    {"io.k8s.api.core.v1.PersistentVolumeClaim", DefaultPersistentVolumeClaim},
    {"io.k8s.api.core.v1.Service", DefaultService},
    {"io.k8s.api.core.v1.Secret", DefaultSecret},
    {"io.k8s.api.core.v1.ReplicationController", DefaultReplicationController},
    {"io.k8s.api.core.v1.Namespace", DefaultNamespace},
    {"io.k8s.api.core.v1.NodeSpec", DefaultNodeSpec},
    {"io.k8s.api.core.v1.NodeStatus", DefaultNodeStatus},
    {"io.k8s.api.core.v1.LimitRangeItem", DefaultLimitRangeItem},
};

}  // namespace

std::span<const schema::DefaultHookEntry> CoreDefaults() { return kHooks; }

}  // namespace homeostat::kinds
