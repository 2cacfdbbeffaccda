// Server-side apply, as those use it that own a few fields of an object.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/sdk/client.h"

namespace homeostat::sdk {

// Has the manager own exactly the fields of `wanted`, which says no more than those and its name (and namespace, where the kind has
// one), in place of anybody else who owns them. subresource: "" for the object itself. Gives the object as it is then; null where it
// is gone.
Task<Result<object::DocumentPtr>> Apply(Client client, const schema::Kind& kind, object::DocumentPtr wanted, std::string subresource,
                                        std::string_view manager);

}  // namespace homeostat::sdk
