// Mounts on the node: memory volumes, and parts of volumes. Blocking; needs root.
#pragma once

#include <cstdint>
#include <string>

#include "homeostat/base/result.h"

namespace homeostat::node {

// Mounts a file system in memory on a folder, unless one is there. size_bytes 0: the kernel's limit.
Result<void> MountMemory(const std::string& folder, int64_t size_bytes, uint32_t mode);
// Unmounts all that is mounted at or below the path; nothing there is fine.
Result<void> UnmountBelow(const std::string& path);

// Binds `sub_path` of a volume onto `target`, which is made. Missing folders of the sub path are made. Whatever links
// the volume's users have put into it, the result is inside the volume: the path is resolved by the kernel, beneath the
// volume, and what was found is what is mounted.
Result<void> BindSubPath(const std::string& volume, const std::string& sub_path, const std::string& target, bool read_only_volume);

}  // namespace homeostat::node
