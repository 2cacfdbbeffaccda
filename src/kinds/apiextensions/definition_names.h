// What a CustomResourceDefinition's status says of it: the names it was given, which no other definition of its group may
// have, and the conditions that follow. Upstream's controllers for that run a moment later; here it is part of the write,
// so that a definition is established before its create is answered.
// Source of the rules: apiextensions-apiserver's naming_controller, establishing_controller, apiapproval_controller.
#pragma once

#include <string_view>

#include "kinds/behaviour.h"

namespace homeostat::kinds {

inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// The pool of names, "GROUP/resources/NAME" and "GROUP/kinds/KIND".
const Pool& DefinitionNamesPool();
// Names that a stored definition holds.
void HoldNames(Value definition, const std::function<void(std::string_view pool, std::string_view thing)>& held);

// The definition with its status brought up to its spec: acceptedNames, and the conditions NamesAccepted, Established and
// KubernetesAPIApprovalPolicyConformant. old is absent on create. Claims what is taken.
Value WithAcceptedNames(RuleContext& context, Value definition, Value old);
bool HasAcceptedNames(const Value& definition);

// Marked for deletion: held until its instances are gone.
Value MarkDefinitionDeleting(RuleContext& context, Value definition);
Value WithTerminating(object::Arena& arena, const Value& definition, WallTime now, bool terminating, std::string_view reason,
                      std::string_view message);
Value WithoutCleanupFinalizer(object::Arena& arena, const Value& definition);

// Why the annotation api-approved.kubernetes.io does not approve a definition, and whether it says that it isn't to be.
enum class ApiApproval : uint8_t { kMissing, kInvalid, kBypassed, kApproved };
struct ApiApprovalState {
  ApiApproval state;
  std::string text;  // upstream's explanation
};
ApiApprovalState ApprovalOf(const Value& definition);
// Groups that are Kubernetes' community's.
bool IsProtectedGroup(std::string_view group);

}  // namespace homeostat::kinds
