// RoleBinding and ClusterRoleBinding. Source of the rules: pkg/apis/rbac/validation; cells: its SubjectsStrings.
#include <string>

#include "homeostat/api/rbac/v1.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/rbac/escalation.h"
#include "kinds/rbac/rbac.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

void CheckSubject(const Value& subject, bool namespaced, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = subject.Get("name").AsString(), kind = subject.Get("kind").AsString();
  std::string_view group = subject.Get("apiGroup").AsString();
  if (name.empty()) errors.Required(path.Child("name"));
  if (kind == "ServiceAccount") {
    if (!name.empty()) CheckDns1123Subdomain(name, path.Child("name"), errors);
    if (!group.empty()) errors.NotSupportedText(path.Child("apiGroup"), group, {""});
    if (!namespaced && subject.Get("namespace").AsString().empty()) errors.Required(path.Child("namespace"));
  } else if (kind == "User" || kind == "Group") {
    if (group != kGroup) errors.NotSupportedText(path.Child("apiGroup"), group, {kGroup});
  } else {
    errors.NotSupportedText(path.Child("kind"), kind, {"ServiceAccount", "User", "Group"});
  }
}

void CheckBinding(const Value& binding, bool namespaced, FieldErrors& errors) {
  FieldPath path("roleRef"), subjects_path("subjects");
  Value role = binding.Get("roleRef"), subjects = binding.Get("subjects");
  std::string_view group = role.Get("apiGroup").AsString(), kind = role.Get("kind").AsString(), name = role.Get("name").AsString();
  if (group != kGroup) errors.NotSupportedText(path.Child("apiGroup"), group, {kGroup});
  if (kind != "ClusterRole" && !namespaced) errors.NotSupportedText(path.Child("kind"), kind, {"ClusterRole"});
  else if (kind != "ClusterRole" && kind != "Role") errors.NotSupportedText(path.Child("kind"), kind, {"Role", "ClusterRole"});
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    CheckPathSegment(name, path.Child("name"), errors);
  }
  for (size_t i = 0; i < subjects.size(); ++i) CheckSubject(subjects.At(i), namespaced, subjects_path.Index(i), errors);
}

void CheckCreate(RuleContext& context, Value binding, FieldErrors& errors) {
  CheckBinding(binding, context.kind.namespaced, errors);
}

void CheckUpdate(RuleContext& context, Value binding, Value old, FieldErrors& errors) {
  CheckBinding(binding, context.kind.namespaced, errors);
  CheckRestOfMetadata(context, errors);
  const schema::Type& type = api::rbac::v1::RoleRef::SchemaType();
  Value role = binding.Get("roleRef");
  if (!schema::IsEqual(type, role, old.Get("roleRef"))) {
    errors.Invalid(FieldPath("roleRef"), InternalValue(type, role), "cannot change roleRef");
  }
}

Value Cell(object::Arena& arena, std::string_view cell, Value binding, WallTime) {
  if (cell == "role") {
    Value role = binding.Get("roleRef");
    return TextCell(arena, std::string(role.Get("kind").AsString()) + "/" + std::string(role.Get("name").AsString()));
  }
  std::string_view wanted = cell == "users" ? "User" : cell == "groups" ? "Group" : "ServiceAccount";
  std::string text;
  for (const Value& subject : binding.Get("subjects").items()) {
    if (subject.Get("kind").AsString() != wanted) continue;
    if (!text.empty()) text += ", ";
    if (wanted == "ServiceAccount") text += std::string(subject.Get("namespace").AsString()) + "/";
    text += subject.Get("name").AsString();
  }
  return TextCell(arena, text);
}

}  // namespace

const Behaviour kRoleBinding{.group = kGroup, .kind = "RoleBinding", .validate_name = NameIsPathSegment,
                             .may_write = MayWriteBinding, .validate_create = CheckCreate, .validate_update = CheckUpdate, .cell = Cell};
const Behaviour kClusterRoleBinding{.group = kGroup, .kind = "ClusterRoleBinding", .validate_name = NameIsPathSegment,
                                    .may_write = MayWriteBinding, .validate_create = CheckCreate, .validate_update = CheckUpdate, .cell = Cell};

}  // namespace homeostat::kinds
