// Who makes a policy read objects as its parameters must be allowed to read them himself.
// Source of the rules and texts: pkg/registry/admissionregistration/*/authz.go.
#include <map>
#include <string>

#include "homeostat/api/registry.h"
#include "homeostat/schema/api_version.h"
#include "kinds/admissionregistration/admissionregistration.h"

namespace homeostat::kinds {
namespace {

// The resource of a kind, built-in or of a definition; "" if there is none.
std::string ResourceOf(const RuleContext& context, std::string_view group, std::string_view version, std::string_view kind) {
  if (const schema::Kind* known = api::FindKind(group, version, kind); known != nullptr && known->served_by_default) return std::string(known->plural);
  for (const object::DocumentPtr& definition : context.objects.List("apiextensions.k8s.io", "customresourcedefinitions", "")) {
    Value spec = definition->root().Get("spec");
    if (spec.Get("group").AsString() != group || spec.Path({"names", "kind"}).AsString() != kind) continue;
    for (const Value& served : spec.Get("versions").items()) {
      if (served.Get("name").AsString() == version && served.Get("served").AsBool()) return std::string(spec.Path({"names", "plural"}).AsString());
    }
  }
  return {};
}

// A user as Go prints the structure.
std::string GoUser(const User& user) {
  auto list = [](const std::vector<std::string>& texts) {
    std::string joined = "[";
    for (size_t i = 0; i < texts.size(); ++i) joined.append(i > 0 ? " " : "").append(texts[i]);
    return joined + "]";
  };
  std::map<std::string_view, std::string> extra;
  for (const auto& [key, values] : user.extra) extra[key] = list(values);
  std::string text = "&{" + user.name + " " + user.uid + " " + list(user.groups) + " map[";
  bool first = true;
  for (const auto& [key, values] : extra) {
    text += (first ? "" : " ") + std::string(key) + ":" + values;
    first = false;
  }
  return text + "]}";
}

bool IsAsked(const RuleContext& context) { return context.rights != nullptr && !context.user.InGroup(kGroupMasters); }

// The group and resource that a paramKind means; "*" for what isn't known.
struct Target {
  std::string group = "*", resource = "*";
  bool unresolved = false;
};

Target TargetOf(const RuleContext& context, const Value& kind) {
  Target target;
  auto [group, version] = schema::ParseApiVersion(kind.Get("apiVersion").AsString());
  target.group = group;
  std::string resource = ResourceOf(context, group, version, kind.Get("kind").AsString());
  target.unresolved = resource.empty();
  if (!resource.empty()) target.resource = std::move(resource);
  return target;
}

}  // namespace

void CheckMayUseParamKind(const RuleContext& context, const Value& policy, const Value& old, FieldErrors& errors) {
  Value kind = policy.Path({"spec", "paramKind"});
  if (!errors.empty() || !kind || !IsAsked(context) || object::Equal(kind, old.Path({"spec", "paramKind"}))) return;
  Target target = TargetOf(context, kind);
  if (context.rights->May(context.user, "get", target.group, target.resource, "*", "*")) return;
  errors.Forbidden(FieldPath("spec").Child("paramKind"),
                   "user " + GoUser(context.user) + " must have \"get\" permission on all objects of the referenced paramKind (kind=" +
                       std::string(kind.Get("kind").AsString()) + ", apiVersion=" + std::string(kind.Get("apiVersion").AsString()) + ")");
}

void CheckMayUseParamRef(const RuleContext& context, const Value& binding, FieldErrors& errors) {
  Value spec = binding.Get("spec"), reference = spec.Get("paramRef");
  if (!errors.empty() || !reference || !IsAsked(context)) return;
  std::string name(spec.Get("policyName").AsString()), verb = reference.Get("name").AsString().empty() ? "list" : "get";
  std::string plural = context.kind.plural == "mutatingadmissionpolicybindings" ? "mutatingadmissionpolicies" : "validatingadmissionpolicies";
  object::DocumentPtr policy = context.objects.Get("admissionregistration.k8s.io", plural, "", name);
  Value kind = policy ? policy->root().Path({"spec", "paramKind"}) : Value();
  Target target = kind ? TargetOf(context, kind) : Target();
  if (context.rights->May(context.user, verb, target.group, target.resource, reference.Get("namespace").AsString(), reference.Get("name").AsString())) return;
  std::string all = " to determine minimum required permissions and user " + GoUser(context.user) + " does not have \"" + verb +
                    "\" permission for all groups, versions and resources";
  std::string why = "user " + GoUser(context.user) + " does not have \"" + verb + "\" permission on the object referenced by paramRef";
  if (!policy) {
    why = "unable to get policy " + name + all;
  } else if (target.unresolved) {
    why = "unable to resolve paramKind &{" + std::string(kind.Get("apiVersion").AsString()) + " " + std::string(kind.Get("kind").AsString()) +
          "}" + all;
  }
  errors.Forbidden(FieldPath("spec").Child("paramRef"), why);
}

}  // namespace homeostat::kinds
