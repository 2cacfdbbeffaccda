// Our own containerd: started with a configuration and folders of our own, so that nothing else on the machine is
// touched, and left running when homeostat ends, so that containers outlive it.
//
// States of the instance, as seen at a start:
//   not running                        → started
//   running with this configuration    → adopted
//   running with another configuration → stopped and started; containers go on, their shims don't depend on it
//
// What identifies it is the pid file (in /run, so that it outlives the folder) together with the configuration's path among
// the process' arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "node/cri.h"

namespace homeostat::node {

struct ContainerdOptions {
  std::string directory;                 // absolute; holds images and container layers
  std::string cni_binaries = "/usr/lib/cni";
  std::string cni_configurations;        // folder that the node's network configuration is written to; empty: directory/cni
  std::string sandbox_image = "docker.io/local/pause:1";
};

// What of the host shapes the configuration.
struct HostFacts {
  bool systemd_cgroups = false;   // systemd runs and cgroups are version 2
  bool may_lower_oom_score = true;// CAP_SYS_RESOURCE
  bool overlay = true;            // layers can be mounted over each other in its folder; otherwise they are copied
};
HostFacts DetectHost();           // blocking; all but `overlay`, which is tried where the folder is

// Whether this machine has what it takes; the error says what is missing, in one line. Blocking.
Result<void> CanRunContainerd(const ContainerdOptions& options);

// Where things are, derived from the options alone. The socket is in /run: paths of sockets must be short, and what
// is there goes with a reboot, as does what it describes.
struct ContainerdPaths {
  std::string config, log, pid_file, root, run, socket, cni_configurations, imported;
};
ContainerdPaths PathsOf(const ContainerdOptions& options);

// The configuration file's text.
std::string ContainerdConfiguration(const ContainerdOptions& options, const HostFacts& host);

// Sees to it that it runs and serves CRI; answers with the socket's path. Fails with one line that says what is
// missing: root, the package, or what containerd printed last.
Task<Result<std::string>> StartContainerd(Runtime& runtime, ContainerdOptions options);

// Stops it. Containers go on running; stop pods first if they should not.
Task<Result<void>> StopContainerd(Runtime& runtime, ContainerdOptions options);

// Waits until the runtime at the socket answers, at most `limit`.
Task<Result<cri::RuntimeVersion>> WaitForCri(Runtime& runtime, cri::Cri& cri, Duration limit);

// Imports image tars (docker-archive or OCI layout, also compressed) from a folder and pins the images. Tars that were
// imported before and have not changed are passed over. Answers with one line a file that failed.
struct ImportOptions {
  std::string socket, folder;
  std::string record;             // file that remembers what was imported
};
Task<Result<std::vector<std::string>>> ImportImages(Runtime& runtime, cri::Cri& cri, ImportOptions options);

// Imports one image tar held in memory, unless the image is there.
Task<Result<void>> ImportImage(Runtime& runtime, cri::Cri& cri, std::string socket, std::string name, std::string archive,
                               std::string work_folder);

}  // namespace homeostat::node
