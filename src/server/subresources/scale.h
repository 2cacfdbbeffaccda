// scale: the number of replicas of any kind that has one, as an autoscaling/v1 Scale. Where the numbers stand is data of
// the kind.
#pragma once

#include "server/api_server.h"

namespace homeostat::server {

void ServeScale(ApiServer& server);

}  // namespace homeostat::server
