// What others than the verb need of deleting.
#pragma once

#include "server/context.h"
#include "server/options.h"

namespace homeostat::server {

// Marks or removes an object of the context's resource as a DELETE does, without asking admission, which has been asked about the
// request that this is a part of.
Task<Result<void>> DeleteAdmitted(RequestContext& context, DeleteQuery options, std::string ns, std::string name);

// A conflict unless the object is the one that the preconditions mean.
Result<void> CheckPreconditions(const RequestContext& context, const DeleteQuery& options, const Value& object);

}  // namespace homeostat::server
