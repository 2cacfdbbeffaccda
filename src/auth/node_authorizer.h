// NodeAuthorizer: a node (user system:node:NAME in group system:nodes) may read and write what belongs to it and to the pods bound
// to it, and nothing of other nodes. Source: plugin/pkg/auth/authorizer/node; that a node writes only its own objects is for the
// NodeRestriction admission plugin, which sees them.
//
// Relations are looked up when asked for: node → its pods (an index, kept in step) → secrets, config maps, claims, service
// accounts → volumes → their secrets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "auth/authorizer.h"
#include "auth/rule_cover.h"
#include "kinds/behaviour.h"

namespace homeostat::auth {

// The node a user is: nullopt for users that are none; "" for one that does not say which.
std::optional<std::string_view> NodeOf(const User& user);

// The pods bound to each node. Made on first demand; from then on it must hear of every change. Loop only.
class NodePods {
 public:
  explicit NodePods(const kinds::ObjectReader& objects) : objects_(objects) {}
  // False until something was asked: changes need not be told.
  bool is_made() const { return made_; }
  void PodStored(const object::Value& pod);
  void PodRemoved(const object::Value& last);
  // Visits the pods of a node until false; says whether all were visited.
  bool Visit(std::string_view node, const std::function<bool(const object::Value& pod)>& visit);

 private:
  void Make();

  const kinds::ObjectReader& objects_;
  bool made_ = false;
  std::unordered_map<std::string, std::unordered_set<std::string>> by_node_;  // "namespace/name"
};

// Loop only.
class NodeAuthorizer : public Authorizer, public RuleResolver {
 public:
  // rules gives, once, what every node may do with resources that are not divided up: those of ClusterRole system:node as they
  // come with the program, whatever became of the stored one. A list of PolicyRules, kept by its document.
  NodeAuthorizer(const kinds::ObjectReader& objects, std::function<object::OwnedValue()> rules);

  Verdict Authorize(const Attributes& attributes) override;
  RuleList RulesFor(const User& user, std::string_view ns) override;
  NodePods& pods() { return pods_; }

 private:
  bool IsRelated(std::string_view node, const Attributes& attributes);
  bool UsesVolume(std::string_view node, const object::Value& volume);
  bool UsesVolumeSecret(std::string_view node, std::string_view ns, std::string_view name);
  bool PodsUse(std::string_view node, std::string_view ns, const std::function<bool(const object::Value& pod)>& uses);
  Verdict Related(std::string_view node, const Attributes& attributes);
  Verdict Get(std::string_view node, const Attributes& attributes);
  Verdict Read(std::string_view node, const Attributes& attributes);
  Verdict Claim(std::string_view node, const Attributes& attributes);
  Verdict ServiceAccount(std::string_view node, const Attributes& attributes);
  Verdict Slice(std::string_view node, const Attributes& attributes);
  Verdict Pod(std::string_view node, const Attributes& attributes);

  const kinds::ObjectReader& objects_;
  std::function<object::OwnedValue()> make_rules_;
  std::optional<object::OwnedValue> rules_;
  NodePods pods_;
};

}  // namespace homeostat::auth
