// What containers need of the kernel, tried before a node relies on it: inside of other containers root alone says little.
// Blocking. What is tried happens in a child process with mounts of its own, and nothing of it stays.
#pragma once

#include <string>

#include "homeostat/base/result.h"

namespace homeostat::node {

// Whether this process may make namespaces, mounts and cgroups with limits. The error says in one line what it may not.
Result<void> TryWhatContainersNeed();

// Whether the layers of images can be mounted over each other in the folder, which must be there: not every file system
// carries overlayfs, nor another overlay.
bool CanMountOverlay(const std::string& folder);

}  // namespace homeostat::node
