// apiVersion, as objects carry it: taken apart, and as messages name kinds.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/schema/kind.h"

namespace homeostat::schema {

struct GroupVersion {
  std::string_view group, version;
  // An apiVersion has at most one slash; in one that has more, all behind the first counts as its version here.
  bool IsValid() const { return version.find('/') == version.npos; }
};

// "apps/v1", or "v1" of the core group. The parts are pieces of the text.
inline GroupVersion ParseApiVersion(std::string_view api_version) {
  size_t slash = api_version.find('/');
  if (slash == api_version.npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod": how Go's messages name a kind.
inline std::string KindText(std::string_view group, std::string_view version, std::string_view kind) {
  return std::string(group) + "/" + std::string(version) + ", Kind=" + std::string(kind);
}
inline std::string KindText(const GroupVersionKind& gvk) { return KindText(gvk.group, gvk.version, gvk.kind); }

}  // namespace homeostat::schema
