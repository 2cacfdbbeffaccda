#include "server/bootstrap_repair.h"

#include <algorithm>
#include <vector>

#include "auth/rule_cover.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/json_encoder.h"

namespace homeostat::server {
namespace {

using object::Value;

constexpr std::string_view kRbacUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kFlowUpdate = "apf.kubernetes.io/autoupdate-spec";

std::string_view Annotation(const Value& object, std::string_view key) {
  return object.Path({"metadata", "annotations", key}).AsString();
}

// A merge patch, member by member.
class PatchText {
 public:
  void Add(std::string_view name, std::string_view json) {
    text_ += text_.empty() ? "{" : ",";
    object::AppendJsonString(text_, name);
    text_ += ':';
    text_ += json;
  }
  bool empty() const { return text_.empty(); }
  std::string Text() && { return text_.empty() ? std::string() : std::move(text_) + "}"; }

 private:
  std::string text_;
};

std::string JsonList(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

// Labels and annotations that are not there.
void AddMissingMetadata(const Value& existing, const Value& wanted, PatchText& patch) {
  PatchText metadata;
  for (std::string_view map : {"labels", "annotations"}) {
    PatchText missing;
    Value has = existing.Path({"metadata", map});
    for (const object::Member& entry : wanted.Path({"metadata", map}).members()) {
      if (has.Find(entry.name()) == nullptr) missing.Add(entry.name(), object::JsonText(entry.value));
    }
    if (!missing.empty()) metadata.Add(map, std::move(missing).Text());
  }
  if (!metadata.empty()) patch.Add("metadata", std::move(metadata).Text());
}

std::vector<std::string> Texts(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items()) texts.push_back(object::JsonText(item));
  return texts;
}

// The list with those items of the other that it has not.
std::vector<std::string> Joined(const Value& list, const Value& other, bool& changed) {
  std::vector<std::string> texts = Texts(list);
  for (const Value& item : other.items()) {
    auto same = [&](const Value& known) { return object::Equal(known, item); };
    if (std::ranges::any_of(list.items(), same)) continue;
    texts.push_back(object::JsonText(item));
    changed = true;
  }
  return texts;
}

std::vector<auth::PolicyRule> RulesOf(const Value& role) {
  std::vector<auth::PolicyRule> rules;
  for (const Value& rule : role.Get("rules").items()) rules.emplace_back(rule);
  return rules;
}

Repair RepairRole(const Value& existing, const Value& wanted) {
  PatchText patch;
  AddMissingMetadata(existing, wanted, patch);
  object::Arena arena;
  std::vector<std::string> rules = Texts(existing.Get("rules"));
  size_t before = rules.size();
  for (const Value& missing : auth::UncoveredParts(arena, RulesOf(existing), RulesOf(wanted))) rules.push_back(object::JsonText(missing));
  if (rules.size() > before) patch.Add("rules", JsonList(rules));
  Value selects = existing.Get("aggregationRule"), wants = wanted.Get("aggregationRule");
  if (!wants) {
    if (selects) patch.Add("aggregationRule", "null");
  } else {
    bool changed = false;
    std::vector<std::string> selectors = Joined(selects.Get("clusterRoleSelectors"), wants.Get("clusterRoleSelectors"), changed);
    if (changed) patch.Add("aggregationRule", R"({"clusterRoleSelectors":)" + JsonList(selectors) + "}");
  }
  return {false, std::move(patch).Text()};
}

Repair RepairBinding(const Value& existing, const Value& wanted) {
  if (!object::Equal(existing.Get("roleRef"), wanted.Get("roleRef"))) return {true, {}};
  PatchText patch;
  AddMissingMetadata(existing, wanted, patch);
  bool changed = false;
  std::vector<std::string> subjects = Joined(existing.Get("subjects"), wanted.Get("subjects"), changed);
  if (changed) patch.Add("subjects", JsonList(subjects));
  return {false, std::move(patch).Text()};
}

// Members that the wanted spec has not are taken away.
std::string SpecPatch(const schema::Type& type, const Value& existing, const Value& wanted) {
  std::string spec;
  schema::EncodeJson(*type.FindField("spec")->type, wanted.Get("spec"), spec);
  for (const object::Member& member : existing.Get("spec").members()) {
    if (wanted.Get("spec").Find(member.name()) != nullptr) continue;
    spec.pop_back();
    spec += (spec.size() > 1 ? "," : "");
    object::AppendJsonString(spec, member.name());
    spec += ":null}";
  }
  return spec;
}

Repair RepairFlow(const schema::Kind& kind, const Value& existing, const Value& wanted) {
  std::string_view name = wanted.Path({"metadata", "name"}).AsString(), asked = Annotation(existing, kFlowUpdate);
  bool mandatory = name == "exempt" || name == "catch-all";
  // Without the annotation, an object that was never changed is the cluster's own.
  bool own = asked.empty() ? existing.Path({"metadata", "generation"}).AsInt() == 1 : asked == "true";
  PatchText patch;
  if (name == "exempt" && kind.plural == "prioritylevelconfigurations") {
    // How much of it is shared is everybody's own decision.
    if (existing.Path({"spec", "type"}).AsString() == "Exempt" && !asked.empty()) return {};
  }
  std::string_view says = mandatory || own ? "true" : "false";
  if (asked != says) patch.Add("metadata", R"({"annotations":{")" + std::string(kFlowUpdate) + R"(":")" + std::string(says) + R"("}})");
  if ((mandatory || own) && !object::Equal(existing.Get("spec"), wanted.Get("spec"))) patch.Add("spec", SpecPatch(*kind.type, existing, wanted));
  return {false, std::move(patch).Text()};
}

}  // namespace

Repair RepairOf(const schema::Kind& kind, const Value& existing, const Value& wanted) {
  if (kind.gvk.group == "rbac.authorization.k8s.io") {
    if (Annotation(existing, kRbacUpdate) == "false") return {};
    return wanted.Get("roleRef") ? RepairBinding(existing, wanted) : RepairRole(existing, wanted);
  }
  if (kind.gvk.group == "flowcontrol.apiserver.k8s.io") return RepairFlow(kind, existing, wanted);
  return {};
}

}  // namespace homeostat::server
