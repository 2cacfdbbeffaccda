#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "homeostat/base/files.h"
#include "node/environment.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/mounts.h"
#include "node/volumes.h"

namespace homeostat::node {

namespace {

constexpr std::string_view kHostsPath = "/etc/hosts";

class Preparer {
 public:
  explicit Preparer(const MountInput& input)
      : input_(input), pod_(input.pod->root()), spec_(FindContainer(pod_.spec(), input.container)) {}

  Result<ContainerMounts> Prepare() {
    size_t index = 0;
    bool own_hosts = false;
    for (core::VolumeMount mount : spec_.container.volume_mounts()) {
      TRY(AddVolume(mount, index++));
      own_hosts = own_hosts || mount.mount_path() == kHostsPath;
    }
    if (!own_hosts) TRY(AddHosts());
    if (!spec_.container.termination_message_path().empty()) TRY(AddTerminationMessage());
    return std::move(result_);
  }

 private:
  core::Volume FindVolume(std::string_view name) const {
    for (core::Volume volume : pod_.spec().volumes()) {
      if (volume.name() == name) return volume;
    }
    return {};
  }

  Result<void> AddVolume(core::VolumeMount mount, size_t index) {
    core::Volume volume = FindVolume(mount.name());
    std::string path = volume ? VolumePath(input_.pod_folder, volume) : "";
    if (path.empty()) {
      return Fail(NodeError("cannot find volume \"" + std::string(mount.name()) + "\" to mount into container \"" + input_.container + "\""));
    }
    if (volume.has_host_path() && volume.host_path().type().empty() && !PathExists(path)) {
      // Without a type a missing path becomes a folder, as container runtimes have always done.
      TRY(MakeDirectories(path, 0755));
    }
    TRY_ASSIGN(std::string sub_path, SubPath(mount));
    bool files = IsFilesVolume(volume);
    if (!sub_path.empty()) {
      std::string target = input_.pod_folder + "/volume-subpaths/" + std::string(mount.name()) + "/" + input_.container + "/" +
                           std::to_string(index);
      Result<void> bound = BindSubPath(path, sub_path, target, files);
      if (!bound) {
        return Fail(NodeError("failed to prepare subPath for volumeMount \"" + std::string(mount.name()) + "\" of container \"" +
                              input_.container + "\": " + bound.error().message()));
      }
      path = target;
    }
    cri::Mount out;
    out.container_path = mount.mount_path().starts_with('/') ? std::string(mount.mount_path()) : "/" + std::string(mount.mount_path());
    out.host_path = path;
    out.readonly = mount.read_only() || files;
    if (mount.mount_propagation() == core::kMountPropagationModeHostToContainer) out.propagation = cri::Propagation::kHostToContainer;
    if (mount.mount_propagation() == core::kMountPropagationModeBidirectional) out.propagation = cri::Propagation::kBidirectional;
    if (mount.recursive_read_only() == "Enabled") {
      return Fail(NodeError("volume \"" + std::string(mount.name()) +
                            "\" requested recursive read-only mode, but it is not supported by the runtime"));
    }
    result_.mounts.push_back(std::move(out));
    return {};
  }

  Result<std::string> SubPath(core::VolumeMount mount) const {
    std::string sub_path(mount.sub_path());
    if (!mount.sub_path_expr().empty()) sub_path = Expand(mount.sub_path_expr(), input_.environment);
    if (sub_path.find("$(") != std::string::npos && !mount.sub_path_expr().empty()) {
      return Fail(NodeError("subPathExpr " + std::string(mount.sub_path_expr()) + " names a variable that is not set"));
    }
    if (sub_path.empty()) return sub_path;
    if (sub_path.starts_with('/')) return Fail(NodeError("error SubPath `" + sub_path + "` must not be an absolute path"));
    for (size_t begin = 0; begin <= sub_path.size();) {
      size_t end = std::min(sub_path.find('/', begin), sub_path.size());
      if (sub_path.substr(begin, end - begin) == "..") {
        return Fail(NodeError("unable to provision SubPath `" + sub_path + "`: must not contain '..'"));
      }
      begin = end + 1;
    }
    return sub_path;
  }

  Result<void> AddHosts() {
    std::string path = input_.pod_folder + "/etc-hosts";
    std::string content;
    if (pod_.spec().host_network()) {
      TRY_ASSIGN(content, ReadFile(std::string(kHostsPath)));
      content += HostsAliases(pod_.spec());
    } else {
      content = HostsFile(pod_, input_.around);
    }
    TRY(MakeDirectories(input_.pod_folder, 0750));
    // Written in place where it exists: containers that run have this very file mounted.
    FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return Fail(FileError(path, errno));
    size_t wrote = std::fwrite(content.data(), 1, content.size(), file);
    if (std::fclose(file) != 0 || wrote != content.size()) return Fail(FileError(path, EIO));
    chmod(path.c_str(), 0644);
    result_.mounts.push_back({std::string(kHostsPath), path, spec_.container.security_context().read_only_root_filesystem()});
    return {};
  }

  Result<void> AddTerminationMessage() {
    std::string folder = input_.pod_folder + "/containers/" + input_.container;
    TRY(MakeDirectories(folder, 0750));
    result_.termination_message_file = folder + "/" + input_.unique;
    TRY(ReplaceFile(result_.termination_message_file, "", 0666));
    result_.mounts.push_back({std::string(spec_.container.termination_message_path()), result_.termination_message_file});
    return {};
  }

  const MountInput& input_;
  core::Pod pod_;
  ContainerSpec spec_;
  ContainerMounts result_;
};

}  // namespace

Result<ContainerMounts> PrepareMounts(const MountInput& input) { return Preparer(input).Prepare(); }

}  // namespace homeostat::node
