// The cgroup of a pod: made with the pod's limits before its sandbox, removed after it. Blocking; needs root.
//
// With cgroups of version 1 a pod has a folder in each hierarchy, with version 2 one in all. With the systemd driver
// slices are systemd's own: nothing is written here.
#pragma once

#include <string>

#include "node/cri.h"

namespace homeostat::node {

struct CgroupSetup {
  bool systemd = false;            // systemd's driver: groups are slices
  bool unified = false;            // version 2
  // Version 1: where the hierarchies are mounted, by controller.
  std::map<std::string, std::string> hierarchies;
};

// What of it the mounts of this process show.
CgroupSetup DetectCgroups(bool systemd);

Result<void> MakePodCgroup(const CgroupSetup& setup, const std::string& cgroup, const cri::LinuxResources& resources);
// Fine if it is not there. Fails while processes are in it.
Result<void> RemovePodCgroup(const CgroupSetup& setup, const std::string& cgroup);

}  // namespace homeostat::node
