#include "kinds/core/pod_warnings.h"

#include <map>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/quantity.h"
#include "homeostat/schema/diff.h"
#include "kinds/core/containers.h"
#include "kinds/core/pod_template.h"
#include "kinds/core/security.h"
#include "kinds/names_seen.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kUseField = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

class PodWarnings {
 public:
  PodWarnings(const Value& metadata, const Value& spec, const FieldPath& root, bool is_template, Warnings& warnings)
      : annotations_(metadata.Get("annotations")), spec_(spec), root_(root), spec_path_(root.Child("spec")), is_template_(is_template),
        warnings_(warnings) {}

  void All() {
    NodeLabels();
    OldAnnotations();
    OldVolumes();
    WarnOfOverlappingPaths(spec_.Get("volumes"), warnings_);
    Duplicates();
    for (std::string_view resource : {"memory", "ephemeral-storage"}) Fraction(spec_.Get("overhead"), resource, spec_path_.Child("overhead"));
    if (!spec_.Get("securityContext").Get("seccompProfile")) OldProfile("seccomp.security.alpha.kubernetes.io/pod", kUseField);
    ForEachContainer(spec_, spec_path_, [&](const Value& container, const FieldPath& path) { Container(container, path); });
    Ports();
    if (spec_.Get("terminationGracePeriodSeconds").AsInt() < 0) {
      Say(spec_path_.Child("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1");
    }
    NullSelectors();
    Addresses();
  }

 private:
  void Say(const FieldPath& path, std::string_view text) { warnings_.push_back(path.String() + ": " + std::string(text)); }

  void NodeLabels() {
    for (const object::Member& label : spec_.Get("nodeSelector").members()) {
      if (auto text = DeprecatedNodeLabel(label.name()); !text.empty()) Say(spec_path_.Child("nodeSelector").Key(label.name()), text);
    }
    Value affinity = spec_.Get("affinity").Get("nodeAffinity");
    FieldPath path = spec_path_.Child("affinity", "nodeAffinity");
    Value terms = affinity.Get(kRequired).Get("nodeSelectorTerms"), preferred = affinity.Get(kPreferred);
    for (size_t i = 0; i < terms.size(); ++i) {
      WarnOfNodeSelectorTerm(terms.At(i), false, path.Child(kRequired, "nodeSelectorTerms").Index(i), warnings_);
    }
    for (size_t i = 0; i < preferred.size(); ++i) {
      WarnOfNodeSelectorTerm(preferred.At(i).Get("preference"), true, path.Child(kPreferred).Index(i).Child("preference"), warnings_);
    }
    Value spread = spec_.Get("topologySpreadConstraints");
    for (size_t i = 0; i < spread.size(); ++i) {
      FieldPath at = spec_path_.Child("topologySpreadConstraints").Index(i);
      std::string key(spread.At(i).Get("topologyKey").AsString());
      if (auto text = DeprecatedNodeLabel(key); !text.empty()) Say(at.Child("topologyKey"), key + " is " + std::string(text));
      if (!spread.At(i).Get("labelSelector")) Say(at.Child("labelSelector"), "a null labelSelector results in matching no pod");
    }
  }

  void OldProfile(std::string_view key, std::string_view text) {
    if (annotations_.Get(key)) Say(root_.Child("metadata", "annotations").Key(key), text);
  }

  void OldAnnotations() {
    OldProfile("scheduler.alpha.kubernetes.io/critical-pod", "non-functional in v1.16+; use the \"priorityClassName\" field instead");
    OldProfile("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead");
    OldProfile("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead");
  }

  void OldVolumes() {
    struct Old {
      std::string_view field, text, shown;
    };
    static constexpr Old kOld[] = {
        {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+", "photonPersistentDisk"},
        {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+", "gitRepo"},
        {"scaleIO", "deprecated in v1.16, non-functional in v1.22+", "scaleIO"},
        {"flocker", "deprecated in v1.22, non-functional in v1.25+", "flocker"},
        {"storageos", "deprecated in v1.22, non-functional in v1.25+", "storageOS"},
        {"quobyte", "deprecated in v1.22, non-functional in v1.25+", "quobyte"},
        {"glusterfs", "deprecated in v1.25, non-functional in v1.26+", "glusterfs"},
        {"ephemeral", "", ""},
        {"cephfs", "deprecated in v1.28, non-functional in v1.31+", "cephfs"},
        {"rbd", "deprecated in v1.28, non-functional in v1.31+", "rbd"},
    };
    Value volumes = spec_.Get("volumes");
    for (size_t i = 0; i < volumes.size(); ++i) {
      FieldPath at = spec_path_.Child("volumes").Index(i);
      for (const Old& old : kOld) {
        Value source = volumes.At(i).Get(old.field);
        if (!source) continue;
        if (!old.text.empty()) {
          Say(at.Child(old.shown), old.text);
        } else if (Value claim = source.Get("volumeClaimTemplate")) {
          WarnOfClaimSpec(claim.Get("spec"), at.Child("ephemeral", "volumeClaimTemplate", "spec"), warnings_);
        }
      }
    }
  }

  void Duplicates() {
    Repeated("hostAliases", "ip");
    Repeated("imagePullSecrets", "name");
    Value secrets = spec_.Get("imagePullSecrets");
    for (size_t i = 0; i < secrets.size(); ++i) {
      if (secrets.At(i).Get("name").AsString().empty()) Say(spec_path_.Child("imagePullSecrets").Index(i).Child("name"), "invalid empty name \"\"");
    }
  }

  void Repeated(std::string_view list, std::string_view field) {
    NamesSeen seen;
    Value items = spec_.Get(list);
    for (size_t i = 0; i < items.size(); ++i) {
      std::string_view text = items.At(i).Get(field).AsString();
      if (!seen.Add(text)) {
        Say(spec_path_.Child(list).Index(i).Child(field), "duplicate " + std::string(field) + " " + GoQuote(text));
      }
    }
  }

  void Fraction(const Value& amounts, std::string_view resource, const FieldPath& path) {
    Value amount = amounts.Get(resource);
    if (!amount) return;
    auto quantity = object::Quantity::Parse(amount.AsString());
    if (!quantity || quantity->MilliValue() % 1000 == 0) return;
    Say(path.Key(resource), "fractional byte value " + GoQuote(quantity->ToString()) + " is invalid, must be an integer");
  }

  void Container(const Value& container, const FieldPath& path) {
    Value security = container.Get("securityContext");
    std::string_view name = container.Get("name").AsString();
    if (!security.Get("seccompProfile") && AnnotationOfContainer(annotations_, kSeccompContainer, name)) {
      OldProfile(std::string(kSeccompContainer).append(name), kUseField);
    }
    if (is_template_ && !security.Get("appArmorProfile")) OldAppArmor(std::string(kAppArmorAnnotation).append(name));
    for (std::string_view resource : {"memory", "ephemeral-storage"}) {
      for (std::string_view list : {"limits", "requests"}) {
        Fraction(container.Get("resources").Get(list), resource, path.Child("resources", list));
      }
    }
    HiddenVariables(container.Get("env"), path.Child("env"));
  }

  // A pod's own annotations are turned into fields, with a warning, when it is made.
  void OldAppArmor(const std::string& key) {
    Value annotation = annotations_.Get(key);
    if (!annotation) return;
    object::Arena arena;
    Value of_pod = spec_.Get("securityContext").Get("appArmorProfile");
    Value said = AppArmorProfileOf(arena, annotation.AsString());
    if (of_pod && schema::IsEqual(api::core::v1::types::kAppArmorProfile, of_pod, said)) return;
    OldProfile(key, "deprecated since v1.30; use the \"appArmorProfile\" field instead");
  }

  // A variable defined again, not in terms of what it was.
  void HiddenVariables(const Value& env, const FieldPath& path) {
    NamesSeen seen;
    for (size_t i = 0; i < env.size(); ++i) {
      std::string_view name = env.At(i).Get("name").AsString(), value = env.At(i).Get("value").AsString();
      if (seen.Add(name)) continue;
      std::string reference = "$(" + std::string(name) + ")";
      if (!env.At(i).Get("valueFrom") && value != reference && value.find(reference) != value.npos) continue;
      Say(path.Index(i), "hides previous definition of " + GoQuote(name) + ", which may be dropped when using apply");
    }
  }

  struct Port {
    std::string path;
    int64_t host;
    std::string_view ip;
  };

  void ComparePorts(const Port& port, const Port& other) {
    std::string relation;
    if (port.ip == other.ip && port.host == other.host) {
      relation = ": duplicate port definition with ";
    } else if (port.host == 0 || other.host == 0) {
      relation = ": overlapping port definition with ";
    } else if (port.host == other.host && port.ip.empty() != other.ip.empty()) {
      relation = ": dangerously ambiguous port definition with ";
    }
    if (!relation.empty()) warnings_.push_back(port.path + relation + other.path);
  }

  void Ports() {
    std::map<std::string, std::vector<Port>> by_number;
    ForEachContainer(spec_, spec_path_, [&](const Value& container, const FieldPath& path) {
      Value ports = container.Get("ports");
      for (size_t i = 0; i < ports.size(); ++i) {
        Value port = ports.At(i);
        std::string number = std::to_string(port.Get("containerPort").AsInt()), protocol(port.Get("protocol").AsString());
        Port entry{path.Child("ports").Index(i).String(), port.Get("hostPort").AsInt(), port.Get("hostIP").AsString()};
        if (!entry.ip.empty() && entry.host == 0) {
          warnings_.push_back(entry.path + ": hostIP set without hostPort: {Name:" + std::string(port.Get("name").AsString()) +
                              " HostPort:0 ContainerPort:" + number + " Protocol:" + protocol + " HostIP:" + std::string(entry.ip) + "}");
        }
        std::vector<Port>& others = by_number[number + "/" + protocol];
        for (const Port& other : others) ComparePorts(entry, other);
        others.push_back(std::move(entry));
      }
    });
    std::map<std::string_view, std::string> by_name;
    ForEachContainer(spec_, spec_path_, [&](const Value& container, const FieldPath& path) {
      Value ports = container.Get("ports");
      for (size_t i = 0; i < ports.size(); ++i) {
        std::string_view name = ports.At(i).Get("name").AsString();
        if (name.empty()) continue;
        std::string at = path.Child("ports").Index(i).String();
        auto [first, fresh] = by_name.try_emplace(name, at);
        if (fresh) continue;
        warnings_.push_back(at + ": duplicate port name " + GoQuote(name) + " with " + first->second +
                            ", services and probes that select ports by name will use " + first->second);
      }
    });
  }

  void NullSelectors() {
    for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
      FieldPath path = spec_path_.Child("affinity", kind);
      Value required = spec_.Get("affinity").Get(kind).Get(kRequired), preferred = spec_.Get("affinity").Get(kind).Get(kPreferred);
      for (size_t i = 0; i < required.size(); ++i) {
        if (!required.At(i).Get("labelSelector")) NullSelector(path.Child(kRequired).Index(i));
      }
      for (size_t i = 0; i < preferred.size(); ++i) {
        if (!preferred.At(i).Get("podAffinityTerm").Get("labelSelector")) NullSelector(path.Child(kPreferred).Index(i).Child("podAffinityTerm"));
      }
    }
  }

  void NullSelector(const FieldPath& term) { Say(term.Child("labelSelector"), "a null labelSelector results in matching no pod"); }

  void Addresses() {
    Value servers = spec_.Get("dnsConfig").Get("nameservers"), aliases = spec_.Get("hostAliases");
    auto warn = [&](const FieldPath& path, const Value& address) {
      for (std::string& text : object::GetWarningsForIP(path.String(), address.AsString())) warnings_.push_back(std::move(text));
    };
    for (size_t i = 0; i < servers.size(); ++i) warn(spec_path_.Child("dnsConfig", "nameservers").Index(i), servers.At(i));
    for (size_t i = 0; i < aliases.size(); ++i) warn(spec_path_.Child("hostAliases").Index(i).Child("ip"), aliases.At(i).Get("ip"));
  }

  Value annotations_, spec_;
  const FieldPath& root_;
  FieldPath spec_path_;
  bool is_template_;
  Warnings& warnings_;
};

}  // namespace

std::string_view DeprecatedNodeLabel(std::string_view key) {
  static constexpr std::pair<std::string_view, std::string_view> kOld[] = {
      {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
      {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
      {"failure-domain.beta.kubernetes.io/region", "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
      {"failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
      {"beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
      {"app.kubernetes.io/created-by", "deprecated since v1.9"},
      {"scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"},
      {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
  };
  for (const auto& [old, text] : kOld) if (key == old) return text;
  return {};
}

void WarnOfNodeSelectorTerm(const Value& term, bool check_values, const FieldPath& path, Warnings& warnings) {
  Value expressions = term.Get("matchExpressions");
  for (size_t i = 0; i < expressions.size(); ++i) {
    FieldPath at = path.Child("matchExpressions").Index(i);
    std::string key(expressions.At(i).Get("key").AsString());
    if (auto text = DeprecatedNodeLabel(key); !text.empty()) {
      warnings.push_back(at.Child("key").String() + ": " + key + " is " + std::string(text));
    }
    Value values = expressions.At(i).Get("values");
    for (size_t j = 0; check_values && j < values.size(); ++j) {
      for (const std::string& text : object::IsValidLabelValue(values.At(j).AsString())) {
        warnings.push_back(at.Child("values").Index(j).String() + ": " + std::string(values.At(j).AsString()) + " is invalid, " + text);
      }
    }
  }
}

void WarnOfClaimSpec(const Value& spec, const FieldPath& path, Warnings& warnings) {
  for (std::string_view list : {"requests", "limits"}) {
    auto quantity = object::Quantity::Parse(spec.Get("resources").Get(list).Get("storage").AsString("0"));
    if (!quantity || quantity->MilliValue() % 1000 == 0) continue;
    warnings.push_back(path.Child("resources", list).Key("storage").String() + ": fractional byte value " + GoQuote(quantity->ToString()) +
                       " is invalid, must be an integer");
  }
}

void WarnOfAddresses(const Value& pod, Warnings& warnings) {
  FieldPath status("status");
  for (std::string_view list : {"podIPs", "hostIPs"}) {
    Value addresses = pod.Get("status").Get(list);
    for (size_t i = 0; i < addresses.size(); ++i) {
      std::string path = status.Child(list).Index(i).Child("ip").String();
      for (std::string& text : object::GetWarningsForIP(path, addresses.At(i).Get("ip").AsString())) warnings.push_back(std::move(text));
    }
  }
}

void WarnOfPod(const Value& metadata, const Value& spec, const FieldPath& root, bool is_template, Warnings& warnings) {
  PodWarnings(metadata, spec, root, is_template, warnings).All();
}

void WarnOfPodTemplate(const Value& pod_template, const Value&, const FieldPath& path, Warnings& warnings) {
  WarnOfPod(pod_template.Get("metadata"), pod_template.Get("spec"), path, true, warnings);
}

}  // namespace homeostat::kinds
