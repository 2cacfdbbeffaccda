// Names of container images: [domain[:port]/]path[:tag][@digest].
// Source of the grammar: the distribution project's reference specification.
#pragma once

#include <string_view>

namespace homeostat::kinds {

// The tag that pulling will use: "latest" if the name has neither tag nor digest; "" if it has a digest only, or is no
// valid name.
std::string_view ImageTag(std::string_view image);

// The pull policy that fits a name: what can change under it is pulled always.
inline std::string_view DefaultPullPolicy(std::string_view image) {
  return ImageTag(image) == "latest" ? "Always" : "IfNotPresent";
}

}  // namespace homeostat::kinds
