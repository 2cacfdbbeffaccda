// Who may write roles and bindings: those who already have what these give, or the verb escalate (for a role) or bind (for a
// binding). Hooks for Behaviour::may_write. Source of the rules: pkg/registry/rbac, the policybased storages.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

Result<void> MayWriteRole(RuleContext& context, Value role, Value old);
Result<void> MayWriteClusterRole(RuleContext& context, Value role, Value old);
Result<void> MayWriteBinding(RuleContext& context, Value binding, Value old);

}  // namespace homeostat::kinds
