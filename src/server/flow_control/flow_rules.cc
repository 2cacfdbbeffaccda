#include "server/flow_control/flow_rules.h"

#include <algorithm>

namespace homeostat::server {
namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

bool IsAccount(std::string_view user, std::string_view ns, std::string_view name) {
  if (!user.starts_with(kAccountPrefix)) return false;
  user.remove_prefix(kAccountPrefix.size());
  if (!user.starts_with(ns) || user.size() <= ns.size() || user[ns.size()] != ':') return false;
  return name == "*" || user.substr(ns.size() + 1) == name;
}

std::string Text(const object::Value& value) { return std::string(value.AsString()); }

}  // namespace

FlowRules::Names FlowRules::Names::Read(const object::Value& list) {
  Names read;
  // The star stands alone, as validation has it.
  read.all = list.size() == 1 && list.At(0).AsString() == "*";
  for (const object::Value& name : list.items()) read.names.push_back(Text(name));
  return read;
}

bool FlowRules::Names::Has(std::string_view name) const {
  return all || std::ranges::find(names, name) != names.end();
}

FlowRules::Rule FlowRules::ReadRule(const object::Value& from) {
  Rule rule;
  for (const object::Value& subject : from.Get("subjects").items()) {
    std::string_view kind = subject.Get("kind").AsString();
    object::Value user = subject.Get("user"), group = subject.Get("group"), account = subject.Get("serviceAccount");
    if (kind == "User" && user) rule.subjects.push_back({Subject::Kind::kUser, {}, Text(user.Get("name"))});
    if (kind == "Group" && group) rule.subjects.push_back({Subject::Kind::kGroup, {}, Text(group.Get("name"))});
    if (kind == "ServiceAccount" && account) {
      rule.subjects.push_back({Subject::Kind::kServiceAccount, Text(account.Get("namespace")), Text(account.Get("name"))});
    }
  }
  for (const object::Value& one : from.Get("resourceRules").items()) {
    rule.resources.push_back({Names::Read(one.Get("verbs")), Names::Read(one.Get("apiGroups")), Names::Read(one.Get("resources")),
                              Names::Read(one.Get("namespaces")), one.Get("clusterScope").AsBool()});
  }
  for (const object::Value& one : from.Get("nonResourceRules").items()) {
    PathRule paths{Names::Read(one.Get("verbs")), {}};
    for (const object::Value& path : one.Get("nonResourceURLs").items()) paths.paths.push_back(Text(path));
    rule.paths.push_back(std::move(paths));
  }
  return rule;
}

FlowRules::FlowRules(const object::Value& flow_schema)
    : name_(Text(flow_schema.Path({"metadata", "name"}))),
      uid_(Text(flow_schema.Path({"metadata", "uid"}))),
      level_(Text(flow_schema.Path({"spec", "priorityLevelConfiguration", "name"}))),
      precedence_(flow_schema.Path({"spec", "matchingPrecedence"}).AsInt()) {
  std::string_view method = flow_schema.Path({"spec", "distinguisherMethod", "type"}).AsString();
  if (method == "ByUser") distinguisher_ = Distinguisher::kUser;
  if (method == "ByNamespace") distinguisher_ = Distinguisher::kNamespace;
  for (const object::Value& rule : flow_schema.Path({"spec", "rules"}).items()) rules_.push_back(ReadRule(rule));
}

bool FlowRules::Is(const Subject& subject, const User& user) {
  switch (subject.kind) {
    case Subject::Kind::kUser: return subject.name == "*" || subject.name == user.name;
    case Subject::Kind::kGroup: return subject.name == "*" || user.InGroup(subject.name);
    case Subject::Kind::kServiceAccount: return IsAccount(user.name, subject.ns, subject.name);
  }
  return false;
}

bool FlowRules::ResourceRule::Matches(const RequestInfo& info, std::string_view resource) const {
  if (!verbs.Has(info.verb) || !resources.Has(resource) || !groups.Has(info.group)) return false;
  return info.ns.empty() ? cluster_scope : namespaces.Has(info.ns);
}

bool FlowRules::PathRule::Matches(const RequestInfo& info) const {
  if (!verbs.Has(info.verb)) return false;
  return std::ranges::any_of(paths, [&](std::string_view path) {
    if (path == "*" || path == info.path) return true;
    if (path.ends_with('*')) path.remove_suffix(1);
    if (path.ends_with('/')) return info.path.starts_with(path);
    return info.path.size() > path.size() && info.path.starts_with(path) && info.path[path.size()] == '/';
  });
}

bool FlowRules::Matches(const User& user, const RequestInfo& info) const {
  std::string joined;
  std::string_view resource = info.resource;
  if (info.resource_request && !info.subresource.empty()) {
    joined = info.resource + "/" + info.subresource;
    resource = joined;
  }
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    if (std::ranges::none_of(rule.subjects, [&](const Subject& subject) { return Is(subject, user); })) return false;
    if (info.resource_request) {
      return std::ranges::any_of(rule.resources, [&](const ResourceRule& one) { return one.Matches(info, resource); });
    }
    return std::ranges::any_of(rule.paths, [&](const PathRule& one) { return one.Matches(info); });
  });
}

std::string_view FlowRules::FlowOf(const User& user, const RequestInfo& info) const {
  switch (distinguisher_) {
    case Distinguisher::kUser: return user.name;
    case Distinguisher::kNamespace: return info.ns;
    case Distinguisher::kNone: break;
  }
  return {};
}

}  // namespace homeostat::server
