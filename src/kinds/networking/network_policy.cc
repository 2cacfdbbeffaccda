// NetworkPolicy. Source of the rules: pkg/apis/networking/validation.
#include <string>
#include <vector>

#include "homeostat/object/ip.h"
#include "kinds/group_checks.h"
#include "kinds/networking/networking.h"

namespace homeostat::kinds {
namespace {

struct PolicyRules {
  SelectorRules selectors;
  std::vector<std::string_view> known_cidrs;  // those of the old policy are let pass
};

void CheckPort(const Value& port, const FieldPath& path, FieldErrors& errors) {
  Value protocol = port.Get("protocol"), number = port.Get("port"), end = port.Get("endPort");
  FieldPath end_path = path.Child("endPort");
  if (protocol) CheckOneOf(protocol.AsString(), {"TCP", "UDP", "SCTP"}, path.Child("protocol"), errors);
  if (!number) {
    if (end) errors.Invalid(end_path, end, "may not be specified when `port` is not specified");
    return;
  }
  if (number.IsString()) {
    if (end) errors.Invalid(end_path, end, "may not be specified when `port` is non-numeric");
    return CheckPortNumberOrName(number, path.Child("port"), errors);
  }
  CheckPortNumberOrName(number, path.Child("port"), errors);
  if (!end) return;
  if (end.AsInt() < number.AsInt()) errors.Invalid(end_path, number, "must be greater than or equal to `port`");
  AddInvalid(errors, end_path, end, object::IsValidPortNum(end.AsInt()));
}

void CheckBlock(const Value& block, const PolicyRules& rules, const FieldPath& path, FieldErrors& errors) {
  std::string_view cidr = block.Get("cidr").AsString();
  if (cidr.empty()) return errors.Required(path.Child("cidr"));
  CheckLegacyCidr(cidr, path.Child("cidr"), errors, rules.known_cidrs);
  auto whole = object::ParseCidr(cidr);
  if (!whole) return;
  Value excepted = block.Get("except");
  for (size_t i = 0; i < excepted.size(); ++i) {
    std::string_view text = excepted.At(i).AsString();
    FieldPath at = path.Child("except").Index(i);
    CheckLegacyCidr(text, at, errors, rules.known_cidrs);
    auto part = object::ParseCidr(text);
    if (part && (!whole->Contains(part->Network()) || whole->prefix_length >= part->prefix_length)) {
      errors.Invalid(at, text, "must be a strict subset of `cidr`");
    }
  }
}

void CheckPeer(const Value& peer, const PolicyRules& rules, const FieldPath& path, FieldErrors& errors) {
  int selectors = 0;
  for (std::string_view field : {"podSelector", "namespaceSelector"}) {
    if (!peer.Get(field)) continue;
    ++selectors;
    CheckLabelSelector(peer.Get(field), path.Child(field), errors, rules.selectors);
  }
  Value block = peer.Get("ipBlock");
  if (block) CheckBlock(block, rules, path.Child("ipBlock"), errors);
  if (selectors == 0 && !block) {
    errors.Required(path, "must specify a peer");
  } else if (selectors > 0 && block) {
    errors.Forbidden(path, "may not specify both ipBlock and another peer");
  }
}

void CheckDirection(const Value& rules_of, std::string_view peers_field, const PolicyRules& rules, const FieldPath& list_path,
                    FieldErrors& errors) {
  for (size_t i = 0; i < rules_of.size(); ++i) {
    FieldPath path = list_path.Index(i);
    Value ports = rules_of.At(i).Get("ports"), peers = rules_of.At(i).Get(peers_field);
    for (size_t j = 0; j < ports.size(); ++j) CheckPort(ports.At(j), path.Child("ports").Index(j), errors);
    for (size_t j = 0; j < peers.size(); ++j) CheckPeer(peers.At(j), rules, path.Child(peers_field).Index(j), errors);
  }
}

void CheckSpec(const Value& spec, const PolicyRules& rules, FieldErrors& errors) {
  FieldPath path("spec");
  CheckLabelSelector(spec.Get("podSelector"), path.Child("podSelector"), errors, rules.selectors);
  CheckDirection(spec.Get("ingress"), "from", rules, path.Child("ingress"), errors);
  CheckDirection(spec.Get("egress"), "to", rules, path.Child("egress"), errors);
  Value types = spec.Get("policyTypes");
  if (types.size() > 2) return errors.Invalid(path.Child("policyTypes"), types, "may not specify more than two policyTypes");
  for (size_t i = 0; i < types.size(); ++i) {
    CheckOneOf(types.At(i).AsString(), {"Ingress", "Egress"}, path.Child("policyTypes").Index(i), errors);
  }
}

void AddCidrs(const Value& rules_of, std::string_view peers_field, std::vector<std::string_view>& cidrs) {
  for (const Value& rule : rules_of.items()) {
    for (const Value& peer : rule.Get(peers_field).items()) {
      Value block = peer.Get("ipBlock");
      if (!block) continue;
      cidrs.push_back(block.Get("cidr").AsString());
      for (const Value& excepted : block.Get("except").items()) cidrs.push_back(excepted.AsString());
    }
  }
}

void CheckNew(RuleContext&, Value policy, FieldErrors& errors) { CheckSpec(policy.Get("spec"), {}, errors); }

void CheckUpdate(RuleContext&, Value policy, Value old, FieldErrors& errors) {
  Value old_spec = old.Get("spec");
  PolicyRules rules;
  rules.selectors.allow_invalid_values =
      Fails([&](FieldErrors& faults) { CheckLabelSelector(old_spec.Get("podSelector"), FieldPath(), faults); });
  AddCidrs(old_spec.Get("ingress"), "from", rules.known_cidrs);
  AddCidrs(old_spec.Get("egress"), "to", rules.known_cidrs);
  CheckSpec(policy.Get("spec"), rules, errors);
}

void WarnOfBlocks(const Value& rules_of, std::string_view peers_field, const FieldPath& list_path, std::vector<std::string>& warnings) {
  for (size_t i = 0; i < rules_of.size(); ++i) {
    Value peers = rules_of.At(i).Get(peers_field);
    for (size_t j = 0; j < peers.size(); ++j) {
      Value block = peers.At(j).Get("ipBlock"), excepted = block.Get("except");
      if (!block) continue;
      FieldPath path = list_path.Index(i).Child(peers_field).Index(j).Child("ipBlock");
      auto add = [&](const FieldPath& at, std::string_view cidr) {
        for (std::string& warning : object::GetWarningsForCIDR(at.String(), cidr)) warnings.push_back(std::move(warning));
      };
      add(path.Child("cidr"), block.Get("cidr").AsString());
      for (size_t k = 0; k < excepted.size(); ++k) add(path.Child("except").Index(k), excepted.At(k).AsString());
    }
  }
}

void Warn(RuleContext& context, Value policy, Value) {
  FieldPath path("spec");
  WarnOfBlocks(policy.Path({"spec", "ingress"}), "from", path.Child("ingress"), *context.warnings);
  WarnOfBlocks(policy.Path({"spec", "egress"}), "to", path.Child("egress"), *context.warnings);
}

}  // namespace

const Behaviour kNetworkPolicy{.group = "networking.k8s.io", .kind = "NetworkPolicy", .validate_create = CheckNew,
                               .validate_update = CheckUpdate, .warn = Warn, .empty_raises_generation = true, .filled_by_defaults = "spec.policyTypes"};

}  // namespace homeostat::kinds
