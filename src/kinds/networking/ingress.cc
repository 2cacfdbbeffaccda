// Ingress and IngressClass. Source of the rules: pkg/apis/networking/validation, pkg/registry/networking/ingress.
#include <algorithm>
#include <set>
#include <string>

#include "homeostat/api/networking/v1.h"
#include "homeostat/object/ip.h"
#include "kinds/cells.h"
#include "kinds/group_checks.h"
#include "kinds/networking/networking.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kClassAnnotation = "kubernetes.io/ingress.class";
constexpr std::string_view kDefaultAnnotation = "ingressclass.kubernetes.io/is-default-class";
constexpr int64_t kMaxController = 250;
constexpr size_t kShownHosts = 3;

struct IngressRules {
  bool any_secret_name = false, any_wildcard_rule = false;
};

bool IsWildcard(std::string_view host) { return host.find('*') != host.npos; }

void CheckHost(std::string_view host, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, host, IsWildcard(host) ? object::IsWildcardDNS1123Subdomain(host) : object::IsDNS1123Subdomain(host));
}

// A reference's group, kind and name.
void CheckReference(const Value& reference, const FieldPath& path, FieldErrors& errors) {
  if (Value group = reference.Get("apiGroup")) CheckDns1123Subdomain(group.AsString(), path.Child("apiGroup"), errors);
  for (std::string_view field : {"kind", "name"}) {
    std::string_view text = reference.Get(field).AsString();
    if (text.empty()) {
      errors.Required(path.Child(field));
    } else {
      CheckPathSegment(text, path.Child(field), errors);
    }
  }
}

void CheckServiceBackend(const Value& service, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = service.Get("name").AsString(), port_name = service.Path({"port", "name"}).AsString();
  FieldPath name_path = path.Child("service", "name"), port_path = path.Child("service", "port");
  if (name.empty()) {
    errors.Required(name_path);
  } else {
    AddInvalid(errors, name_path, name, object::IsDNS1123Label(name));
  }
  int64_t number = service.Path({"port", "number"}).AsInt();
  if (!port_name.empty() && number != 0) {
    errors.Invalid(path, "", "cannot set both port name & port number");
  } else if (!port_name.empty()) {
    AddInvalid(errors, port_path.Child("name"), port_name, object::IsValidPortName(port_name));
  } else if (number != 0) {
    AddInvalid(errors, port_path.Child("number"), number, object::IsValidPortNum(number));
  } else {
    errors.Required(path, "port name or number is required");
  }
}

void CheckBackend(const Value& backend, const FieldPath& path, FieldErrors& errors) {
  Value resource = backend.Get("resource"), service = backend.Get("service");
  if (resource && service) return errors.Invalid(path, "", "cannot set both resource and service backends");
  if (resource) return CheckReference(resource, path.Child("resource"), errors);
  if (service) return CheckServiceBackend(service, path, errors);
  errors.Invalid(path, "", "resource or service backend is required");
}

void CheckPath(const Value& entry, const FieldPath& path, FieldErrors& errors) {
  Value type = entry.Get("pathType");
  std::string_view text = entry.Get("path").AsString();
  FieldPath text_path = path.Child("path");
  if (!type) return errors.Required(path.Child("pathType"), "pathType must be specified");
  if (IsOneOf(type.AsString(), {"Exact", "Prefix"})) {
    if (!text.starts_with('/')) errors.Invalid(text_path, text, "must be an absolute path");
    for (std::string_view sequence : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (text.find(sequence) != text.npos) errors.Invalid(text_path, text, "must not contain '" + std::string(sequence) + "'");
    }
    for (std::string_view suffix : {"/..", "/."}) {
      if (text.ends_with(suffix)) errors.Invalid(text_path, text, "cannot end with '" + std::string(suffix) + "'");
    }
  } else if (type.AsString() == "ImplementationSpecific") {
    if (!text.empty() && !text.starts_with('/')) errors.Invalid(text_path, text, "must be an absolute path");
  } else {
    errors.NotSupported(path.Child("pathType"), type, {"Exact", "ImplementationSpecific", "Prefix"});
  }
  CheckBackend(entry.Get("backend"), path.Child("backend"), errors);
}

void CheckRuleValue(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  Value http = rule.Get("http"), paths = http.Get("paths");
  if (!http) return;
  FieldPath paths_path = path.Child("http", "paths");
  if (paths.empty()) errors.Required(paths_path);
  for (size_t i = 0; i < paths.size(); ++i) CheckPath(paths.At(i), paths_path.Index(i), errors);
}

void CheckRule(const Value& rule, IngressRules rules, const FieldPath& path, FieldErrors& errors) {
  std::string_view host = rule.Get("host").AsString();
  if (!host.empty()) {
    if (object::ParseIp(host)) errors.Invalid(path.Child("host"), host, "must be a DNS name, not an IP address");
    CheckHost(host, path.Child("host"), errors);
  }
  if (!IsWildcard(host) || !rules.any_wildcard_rule) CheckRuleValue(rule, path, errors);
}

void CheckTls(const Value& list, IngressRules rules, const FieldPath& list_path, FieldErrors& errors) {
  for (size_t i = 0; i < list.size(); ++i) {
    FieldPath path = list_path.Index(i);
    Value hosts = list.At(i).Get("hosts");
    for (size_t j = 0; j < hosts.size(); ++j) CheckHost(hosts.At(j).AsString(), path.Child("hosts").Index(j), errors);
    std::string_view secret = list.At(i).Get("secretName").AsString();
    if (!rules.any_secret_name && !secret.empty()) CheckDns1123Subdomain(secret, path.Child("secretName"), errors);
  }
}

void CheckSpec(const Value& spec, IngressRules rules, FieldErrors& errors) {
  FieldPath path("spec");
  Value entries = spec.Get("rules"), backend = spec.Get("defaultBackend");
  BadValue shown = BadValue::Json(errors.CameEmpty(path.Child("rules")) ? "[]" : "null");
  if (entries.empty() && !backend) errors.Invalid(path, shown, "either `defaultBackend` or `rules` must be specified");
  if (backend) CheckBackend(backend, path.Child("defaultBackend"), errors);
  for (size_t i = 0; i < entries.size(); ++i) CheckRule(entries.At(i), rules, path.Child("rules").Index(i), errors);
  CheckTls(spec.Get("tls"), rules, path.Child("tls"), errors);
  if (Value name = spec.Get("ingressClassName")) CheckDns1123Subdomain(name.AsString(), path.Child("ingressClassName"), errors);
}

IngressRules RulesFor(const Value& old_spec) {
  IngressRules rules;
  for (const Value& tls : old_spec.Get("tls").items()) {
    std::string_view secret = tls.Get("secretName").AsString();
    if (!secret.empty() && !object::IsDNS1123Subdomain(secret).empty()) rules.any_secret_name = true;
  }
  for (const Value& rule : old_spec.Get("rules").items()) {
    if (IsWildcard(rule.Get("host").AsString()) && Fails([&](FieldErrors& faults) { CheckRuleValue(rule, FieldPath(), faults); })) {
      rules.any_wildcard_rule = true;
    }
  }
  return rules;
}

void CheckNew(RuleContext&, Value ingress, FieldErrors& errors) {
  CheckSpec(ingress.Get("spec"), {}, errors);
  const object::Member* annotation = ingress.Path({"metadata", "annotations"}).Find(kClassAnnotation);
  Value name = ingress.Path({"spec", "ingressClassName"});
  if (annotation != nullptr && name && annotation->value.AsString() != name.AsString()) {
    errors.Invalid(FieldPath("annotations").Child(kClassAnnotation), annotation->value, "must match `ingressClassName` when both are specified");
  }
}

void CheckStatus(const Value& status, const Value& old_status, FieldErrors& errors) {
  std::vector<std::string_view> known;
  for (const Value& entry : old_status.Path({"loadBalancer", "ingress"}).items()) known.push_back(entry.Get("ip").AsString());
  Value entries = status.Path({"loadBalancer", "ingress"});
  FieldPath list_path = FieldPath("status").Child("loadBalancer", "ingress");
  for (size_t i = 0; i < entries.size(); ++i) {
    FieldPath path = list_path.Index(i);
    std::string_view ip = entries.At(i).Get("ip").AsString(), host = entries.At(i).Get("hostname").AsString();
    if (!ip.empty()) CheckLegacyIp(ip, path.Child("ip"), errors, known);
    if (host.empty()) continue;
    CheckDns1123Subdomain(host, path.Child("hostname"), errors);
    if (object::ParseIp(host)) errors.Invalid(path.Child("hostname"), host, "must be a DNS name, not an IP address");
  }
}

void CheckUpdate(RuleContext& context, Value ingress, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatus(ingress.Get("status"), old.Get("status"), errors);
  CheckSpec(ingress.Get("spec"), RulesFor(old.Get("spec")), errors);
}

void Warn(RuleContext& context, Value ingress, Value old) {
  if (old || ingress.Path({"metadata", "annotations"}).Find(kClassAnnotation) == nullptr) return;
  context.warnings->push_back("annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead");
}

std::string HostsText(const Value& rules) {
  std::vector<std::string_view> hosts;
  bool more = false;  // there are rules after the hosts that are shown, and all of them are counted, with a host or not
  for (const Value& rule : rules.items()) {
    more = more || hosts.size() == kShownHosts;
    if (!more && !rule.Get("host").AsString().empty()) hosts.push_back(rule.Get("host").AsString());
  }
  if (hosts.empty()) return "*";
  std::string text;
  for (size_t i = 0; i < hosts.size(); ++i) text += (i == 0 ? "" : ",") + std::string(hosts[i]);
  if (more) text += " + " + std::to_string(rules.size() - kShownHosts) + " more...";
  return text;
}

std::string AddressText(const Value& entries) {
  std::set<std::string_view> addresses;
  for (const Value& entry : entries.items()) {
    std::string_view ip = entry.Get("ip").AsString(), host = entry.Get("hostname").AsString();
    if (!ip.empty() || !host.empty()) addresses.insert(ip.empty() ? host : ip);
  }
  std::string text;
  for (std::string_view address : addresses) text += (text.empty() ? "" : ",") + std::string(address);
  return text;
}

Value Cell(object::Arena& arena, std::string_view cell, Value ingress, WallTime) {
  if (cell == "hosts") return TextCell(arena, HostsText(ingress.Path({"spec", "rules"})));
  if (cell == "address") return TextCell(arena, AddressText(ingress.Path({"status", "loadBalancer", "ingress"})));
  return Value::StringRef(ingress.Path({"spec", "tls"}).empty() ? "80" : "80, 443");
}

void CheckParameters(const Value& parameters, const FieldPath& path, FieldErrors& errors) {
  if (!parameters) return;
  CheckReference(parameters, path, errors);
  Value scope = parameters.Get("scope"), ns = parameters.Get("namespace");
  if (!scope) return errors.Required(path.Child("scope"));
  if (!IsOneOf(scope.AsString(), {"Cluster", "Namespace"})) {
    errors.NotSupportedText(path.Child("scope"), scope.AsString(), {"Cluster", "Namespace"});
  }
  if (scope.AsString() == "Namespace") {
    if (!ns) {
      errors.Required(path.Child("namespace"), "`parameters.scope` is set to 'Namespace'");
    } else {
      CheckDns1123Label(ns.AsString(), path.Child("namespace"), errors);
    }
  } else if (scope.AsString() == "Cluster" && ns) {
    errors.Forbidden(path.Child("namespace"), "`parameters.scope` is set to 'Cluster'");
  }
}

void CheckClass(RuleContext&, Value ingress_class, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = ingress_class.Get("spec");
  std::string_view controller = spec.Get("controller").AsString();
  if (static_cast<int64_t>(controller.size()) > kMaxController) errors.TooLong(path.Child("controller"), kMaxController);
  CheckDomainPrefixedPath(controller, path.Child("controller"), errors);
  CheckParameters(spec.Get("parameters"), path.Child("parameters"), errors);
}

void CheckClassUpdate(RuleContext& context, Value ingress_class, Value old, FieldErrors& errors) {
  CheckImmutableField(api::networking::v1::IngressClassSpec::SchemaType(), "controller", ingress_class.Get("spec"), old.Get("spec"),
                      FieldPath("spec"), errors);
  CheckRestOfMetadata(context, errors);
  CheckClass(context, ingress_class, errors);
}

Value ClassCell(object::Arena& arena, std::string_view cell, Value ingress_class, WallTime) {
  if (cell == "name") {
    std::string name(ingress_class.Path({"metadata", "name"}).AsString());
    const object::Member* mark = ingress_class.Path({"metadata", "annotations"}).Find(kDefaultAnnotation);
    return TextCell(arena, mark != nullptr && mark->value.AsString() == "true" ? name + " (default)" : name);
  }
  Value parameters = ingress_class.Path({"spec", "parameters"});
  if (!parameters) return Value::StringRef("<none>");
  std::string text(parameters.Get("kind").AsString());
  if (Value group = parameters.Get("apiGroup")) text += "." + std::string(group.AsString());
  return TextCell(arena, text + "/" + std::string(parameters.Get("name").AsString()));
}

}  // namespace

const Behaviour kIngress{.group = "networking.k8s.io", .kind = "Ingress", .validate_create = CheckNew, .validate_update = CheckUpdate,
                         .warn = Warn, .cell = Cell};
const Behaviour kIngressClass{.group = "networking.k8s.io", .kind = "IngressClass", .validate_create = CheckClass,
                              .validate_update = CheckClassUpdate, .cell = ClassCell};

}  // namespace homeostat::kinds
