// Volumes: makes the volumes of a pod on this node, keeps their files up to date, and takes them away.
//
// Where things are, below the pods' folder:
//   UID/volumes/kubernetes.io~KIND/NAME   a volume (upstream's names of kinds)
//   UID/volume-subpaths/NAME/CONTAINER/N  a part of one, bound there
//   UID/containers/NAME/ID                a container's termination message
//   UID/etc-hosts
// Loop only; the work on disk is done off it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/cri.h"
#include "node/pod_facts.h"
#include "node/tokens.h"
#include "node/volume_files.h"

namespace homeostat::node {

// Names of volumes to folders (or files, with hostPath) on the node.
using VolumePaths = std::map<std::string, std::string>;

// One volume could not be set up: said in the pod's FailedMount event.
struct VolumeFailure {
  std::string volume, message;
};

class Volumes {
 public:
  Volumes(Runtime& runtime, Tokens& tokens, std::string pods_folder)
      : runtime_(runtime), tokens_(tokens), pods_folder_(std::move(pods_folder)) {}

  // Makes what is missing and updates what changed: may be called at any time of a pod's life.
  Task<std::vector<VolumeFailure>> SetUp(object::DocumentPtr pod, PodReferences references, PodSurroundings around);
  // Unmounts and removes all of the pod's folder. Fails, to be tried again, while something is still mounted or in use.
  Task<Result<void>> TearDown(std::string uid);
  // uids that have a folder: after a restart, those without a pod are to be torn down.
  Task<Result<std::vector<std::string>>> Known();

  std::string PodFolder(std::string_view uid) const { return pods_folder_ + "/" + std::string(uid); }

 private:
  Runtime& runtime_;
  Tokens& tokens_;
  std::string pods_folder_;
};

// Where a volume of the pod is, whether it has been made or not; "" for kinds this node doesn't have. Pure.
std::string VolumePath(const std::string& pod_folder, core::Volume volume);

// The mounts of a container: its volumes (parts of them bound first), /etc/hosts and the termination message. Off the
// loop: it mounts. `environment` is for subPathExpr.
struct ContainerMounts {
  std::vector<cri::Mount> mounts;
  std::string termination_message_file;
};
struct MountInput {
  object::DocumentPtr pod;
  std::string container;
  std::string pod_folder;
  std::vector<std::pair<std::string, std::string>> environment;
  PodSurroundings around;
  std::string unique;                 // part of the name of the termination message's file
};
Result<ContainerMounts> PrepareMounts(const MountInput& input);

}  // namespace homeostat::node
