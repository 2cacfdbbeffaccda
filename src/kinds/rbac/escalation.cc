#include "kinds/rbac/escalation.h"

#include "homeostat/api/rbac/v1.h"
#include "homeostat/api/rbac/v1_builders.h"
#include "homeostat/schema/diff.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

// Members of system:masters can do everything anyway. Without rights to ask, the write is none of a client's.
bool IsFree(const RuleContext& context) { return context.rights == nullptr || context.user.InGroup(kGroupMasters); }

// Only what the garbage collector must be able to change for the object to go.
bool ChangesOnlyCollection(RuleContext& context, const Value& object, const Value& old) {
  if (!old) return false;
  const schema::Type& type = *context.kind.type;
  Value same = Edited(context.arena, type, object, [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) {
      for (std::string_view field : {"ownerReferences", "finalizers", "selfLink", "managedFields"}) {
        metadata.Set(field, old.Path({"metadata", field}));
      }
    });
  });
  return schema::IsEqual(type, same, old);
}

Status Refusal(const RuleContext& context, const Value& object, std::string_view why) {
  return ForbiddenError(kGroup, context.kind.plural, object.Path({"metadata", "name"}).AsString(), why);
}

Result<void> CheckHolds(RuleContext& context, const Value& object, const Value& rules) {
  auto lacking = context.rights->Lacking(context.user, context.ns, rules, context.kind.plural);
  if (lacking) return Fail(Refusal(context, object, *lacking));
  return {};
}

bool MayEscalate(const RuleContext& context) {
  return context.rights->May(context.user, "escalate", kGroup, context.kind.plural, context.ns, context.request_name);
}

bool Aggregates(const Value& role) { return !role.Path({"aggregationRule", "clusterRoleSelectors"}).empty(); }

// An aggregating role may come to hold anything at all, so that its writer must.
Result<void> CheckHoldsEverything(RuleContext& context, const Value& role) {
  api::rbac::v1::ClusterRoleBuilder everything;
  everything.add_rules().add_verbs("*").add_api_groups("*").add_resources("*");
  everything.add_rules().add_verbs("*").add_non_resource_urls("*");
  Value rules = everything.FreezeInto(context.arena).Get("rules");
  if (!context.rights->Lacking(context.user, context.ns, rules, context.kind.plural)) return {};
  return Fail(Refusal(context, role, "must have cluster-admin privileges to use the aggregationRule"));
}

}  // namespace

Result<void> MayWriteRole(RuleContext& context, Value role, Value old) {
  if (IsFree(context) || MayEscalate(context) || ChangesOnlyCollection(context, role, old)) return {};
  return CheckHolds(context, role, role.Get("rules"));
}

Result<void> MayWriteClusterRole(RuleContext& context, Value role, Value old) {
  if (IsFree(context) || MayEscalate(context) || ChangesOnlyCollection(context, role, old)) return {};
  TRY(CheckHolds(context, role, role.Get("rules")));
  if (Aggregates(role) || Aggregates(old)) return CheckHoldsEverything(context, role);
  return {};
}

Result<void> MayWriteBinding(RuleContext& context, Value binding, Value old) {
  if (IsFree(context) || ChangesOnlyCollection(context, binding, old)) return {};
  Value reference = binding.Get("roleRef");
  std::string_view kind = reference.Get("kind").AsString(), name = reference.Get("name").AsString();
  bool cluster = kind == "ClusterRole";
  // Upstream's adapter answers an unknown kind so, as a plain error.
  if (!cluster && kind != "Role") return Fail(Status(500, "", "unsupported role reference kind: \"" + std::string(kind) + "\""));
  std::string_view plural = cluster ? "clusterroles" : "roles";
  if (context.rights->May(context.user, "bind", reference.Get("apiGroup").AsString(), plural, context.ns, name)) return {};
  // No role of its own lives where there is no namespace, which is what upstream's lookup finds fault with.
  if (!cluster && context.ns.empty()) return Fail(BadRequestError("Namespace parameter required."));
  object::DocumentPtr role = context.objects.Get(kGroup, plural, cluster ? std::string_view() : context.ns, name);
  if (!role) return Fail(NotFoundError(kGroup, context.kind.plural, name));
  return CheckHolds(context, binding, role->root().Get("rules"));
}

}  // namespace homeostat::kinds
