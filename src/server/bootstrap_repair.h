// BootstrapRepair: what a start brings back into objects that every cluster has, when somebody has changed them.
//
// Roles and bindings get what they lack and keep what was added, unless they are annotated
// rbac.authorization.kubernetes.io/autoupdate: "false". Flow schemas and priority levels get their spec back while they are
// annotated apf.kubernetes.io/autoupdate-spec: "true"; the two mandatory ones always.
// Source of the rules: component-helpers' auth/rbac/reconciliation and pkg/registry/flowcontrol/ensurer. Pure.
#pragma once

#include <string>

#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"

namespace homeostat::server {

struct Repair {
  bool recreate = false;   // the object is of no use: it must be deleted and made anew
  std::string merge_patch; // JSON; empty: nothing to do
  bool needed() const { return recreate || !merge_patch.empty(); }
};

// Both are typed trees of the kind, `wanted` with its defaults. Kinds that are not repaired never need it.
Repair RepairOf(const schema::Kind& kind, const object::Value& existing, const object::Value& wanted);

}  // namespace homeostat::server
