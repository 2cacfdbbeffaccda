// The image of the process that holds a pod's namespaces. The node agent carries it, so that a pod can start on a
// machine that has nothing but a container runtime.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::node {

inline constexpr std::string_view kPauseImage = "docker.io/local/pause:1";

// The image as a tar that a runtime imports; a few tens of kilobytes.
std::string PauseImageArchive();

}  // namespace homeostat::node
