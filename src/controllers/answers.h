// What the server's answers to a controller's writes mean, and how a write without one is settled.
#pragma once

#include <string>

#include "homeostat/sdk/client.h"

namespace homeostat::controllers {

// It may have been done or not.
bool HadNoAnswer(const Status& status);
// Nothing more can be made in that namespace.
bool IsNamespaceTerminating(const Status& status);

// The version that the server is at now: an informer of that kind which has reached it shows what became of every earlier write
// in the namespace.
Task<Result<std::string>> NewestVersion(sdk::Client client, const schema::Kind& kind, std::string ns);

}  // namespace homeostat::controllers
