// Uids in fewer bytes, for those who keep very many.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::sdk {

// 17 bytes for a UUID as Kubernetes writes it (lower case, with hyphens); one more than the text's for any other text. Equal
// if, and only if, the uids are.
std::string PackUid(std::string_view uid);
std::string UnpackUid(std::string_view packed);

}  // namespace homeostat::sdk
