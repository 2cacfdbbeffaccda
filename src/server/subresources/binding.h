// binding: gives a pod to a node, once. What the scheduler calls.
#pragma once

#include "server/api_server.h"

namespace homeostat::server {

// pods/NAME/binding, and the older bindings resource.
void ServeBinding(ApiServer& server);

}  // namespace homeostat::server
