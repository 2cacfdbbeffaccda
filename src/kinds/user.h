// User: who a request is from, once authenticated.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace homeostat {

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  // Keys are lower case; e.g. authentication.kubernetes.io/credential-id.
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;

  bool InGroup(std::string_view group) const {
    for (const std::string& g : groups) if (g == group) return true;
    return false;
  }
};

inline constexpr std::string_view kGroupMasters = "system:masters";
inline constexpr std::string_view kGroupAuthenticated = "system:authenticated";
inline constexpr std::string_view kGroupUnauthenticated = "system:unauthenticated";
inline constexpr std::string_view kGroupNodes = "system:nodes";
inline constexpr std::string_view kUserAnonymous = "system:anonymous";

}  // namespace homeostat
