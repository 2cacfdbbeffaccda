// What requests hand to admission beside their objects: the options that came with them, and connections, which have nothing else.
//
// Source: apiserver's endpoints/handlers (create.go, update.go, patch.go, delete.go, rest.go), apimachinery's queryparams.
#pragma once

#include "server/context.h"
#include "server/options.h"

namespace homeostat::server {

// CreateOptions or UpdateOptions of a write as clients of admission see them: JSON form, with apiVersion and kind. What a patch was
// sent with counts as UpdateOptions, or CreateOptions where it creates.
Value WriteOptionsValue(RequestContext& context, admission::Operation operation, bool dry_run);
// DeleteOptions, from the query or a body.
Value DeleteOptionsValue(RequestContext& context, const DeleteQuery& options);

// Asks admission whether the request may connect (exec, attach, port-forward, proxy). The object it shows is the subresource's
// options as the query says them; path: what follows the subresource in the URL, for those whose options have it.
Task<Result<void>> AdmitConnect(RequestContext& context, std::string path = {});

}  // namespace homeostat::server
