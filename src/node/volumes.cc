#include "node/volumes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "homeostat/base/files.h"
#include "node/atomic_writer.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/mounts.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

// Upstream's names of volume kinds, which tools that look into the folder know.
std::string_view KindFolder(core::Volume volume) {
  if (volume.has_empty_dir()) return "kubernetes.io~empty-dir";
  if (volume.has_config_map()) return "kubernetes.io~configmap";
  if (volume.has_secret()) return "kubernetes.io~secret";
  if (volume.has_projected()) return "kubernetes.io~projected";
  if (volume.has_downward_api()) return "kubernetes.io~downward-api";
  return "";
}

std::string UnsupportedMessage(core::Volume volume) {
  for (const object::Member& member : volume.Raw().members()) {
    if (member.name() != "name") return "volumes of kind " + std::string(member.name()) + " are not supported on this node";
  }
  return "the volume has no source";
}

std::optional<int64_t> FsGroup(core::Pod pod) {
  core::PodSecurityContext context = pod.spec().security_context();
  if (!context.has_fs_group()) return std::nullopt;
  return context.fs_group();
}

Result<void> SetUpEmptyDir(core::Pod pod, core::Volume volume, const std::string& path) {
  core::EmptyDirVolumeSource source = volume.empty_dir();
  std::optional<int64_t> group = FsGroup(pod);
  uint32_t mode = group ? 02777 : 0777;
  struct stat about;
  bool existed = stat(path.c_str(), &about) == 0;
  TRY(MakeDirectories(path, 0777));
  if (source.medium() == core::kStorageMediumMemory) {
    TRY(MountMemory(path, source.has_size_limit() ? UnitValue(source.size_limit()) : 0, mode));
  } else if (!source.medium().empty()) {
    return Fail(NodeError("emptyDir volumes of medium " + std::string(source.medium()) + " are not supported on this node"));
  }
  if (existed && source.medium().empty()) return {};
  if (group && chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*group)) != 0) return Fail(FileError(path, errno));
  if (chmod(path.c_str(), mode) != 0) return Fail(FileError(path, errno));
  return {};
}

Result<void> SetUpFiles(core::Pod pod, core::Volume volume, const std::string& path, const VolumeFiles& files,
                        const std::string& stamp) {
  TRY(MakeDirectories(path, 0755));
  // What is confidential never touches the disk.
  if (!volume.has_config_map()) TRY(MountMemory(path, 0, 0755));
  TRY(WriteAtomically(path, files, stamp, FsGroup(pod)));
  return {};
}

Result<void> CheckHostPath(core::HostPathVolumeSource source) {
  std::string path(source.path());
  std::string_view type = source.type();
  struct stat about;
  bool exists = stat(path.c_str(), &about) == 0;
  auto wrong = [&](std::string_view what) { return Fail(NodeError("hostPath type check failed: " + path + " is not a " + std::string(what))); };
  if (type.empty()) return {};
  if (type == core::kHostPathTypeDirectoryOrCreate) {
    if (!exists) return MakeDirectories(path, 0755);
    if (!S_ISDIR(about.st_mode)) return wrong("directory");
  } else if (type == core::kHostPathTypeFileOrCreate) {
    if (!exists) return ReplaceFile(path, "", 0644);
    if (!S_ISREG(about.st_mode)) return wrong("file");
  } else if (type == core::kHostPathTypeDirectory) {
    if (!exists || !S_ISDIR(about.st_mode)) return wrong("directory");
  } else if (type == core::kHostPathTypeFile) {
    if (!exists || !S_ISREG(about.st_mode)) return wrong("file");
  } else if (type == core::kHostPathTypeSocket) {
    if (!exists || !S_ISSOCK(about.st_mode)) return wrong("socket file");
  } else if (type == core::kHostPathTypeCharDevice) {
    if (!exists || !S_ISCHR(about.st_mode)) return wrong("character device");
  } else if (type == core::kHostPathTypeBlockDevice) {
    if (!exists || !S_ISBLK(about.st_mode)) return wrong("block device");
  } else {
    return Fail(NodeError(std::string(type) + " is an invalid volume type"));
  }
  return {};
}

using TokensByVolume = std::map<std::string, std::map<std::string, std::string>>;

// Off the loop.
std::vector<VolumeFailure> SetUpAll(const object::DocumentPtr& document, const PodReferences& references,
                                    const PodSurroundings& around, const TokensByVolume& tokens, const std::string& folder,
                                    const std::string& stamp) {
  core::Pod pod(document->root());
  std::vector<VolumeFailure> failures;
  Result<void> made = MakeDirectories(folder + "/volumes", 0750);
  for (core::Volume volume : pod.spec().volumes()) {
    std::string path = VolumePath(folder, volume);
    Result<void> done = made;
    if (path.empty()) {
      done = Fail(NodeError(UnsupportedMessage(volume)));
    } else if (!made) {
      done = made;
    } else if (volume.has_host_path()) {
      done = CheckHostPath(volume.host_path());
    } else if (volume.has_empty_dir()) {
      done = SetUpEmptyDir(pod, volume, path);
    } else {
      auto own = tokens.find(std::string(volume.name()));
      static const std::map<std::string, std::string> kNone;
      Result<VolumeFiles> files = MakeVolumeFiles(pod, volume, references, around, own == tokens.end() ? kNone : own->second);
      done = files ? SetUpFiles(pod, volume, path, *files, stamp) : Result<void>(Fail(files.error()));
    }
    if (!done) failures.push_back({std::string(volume.name()), done.error().message()});
  }
  return failures;
}

}  // namespace

std::string VolumePath(const std::string& pod_folder, core::Volume volume) {
  if (volume.has_host_path()) return std::string(volume.host_path().path());
  std::string_view kind = KindFolder(volume);
  if (kind.empty()) return "";
  return pod_folder + "/volumes/" + std::string(kind) + "/" + std::string(volume.name());
}

Task<std::vector<VolumeFailure>> Volumes::SetUp(object::DocumentPtr pod, PodReferences references, PodSurroundings around) {
  core::Pod view(pod->root());
  TokensByVolume tokens;
  std::vector<VolumeFailure> failures;
  for (core::Volume volume : view.spec().volumes()) {
    for (const TokenWish& wish : TokensOf(volume)) {
      auto ask = tokens_.Get(pod, wish);
      Result<std::string> token = co_await std::move(ask);
      if (token) {
        tokens[std::string(volume.name())][wish.path] = *token;
      } else {
        failures.push_back({std::string(volume.name()), token.error().message()});
      }
    }
  }
  if (!failures.empty()) co_return failures;
  std::string folder = PodFolder(view.metadata().uid());
  std::string stamp = FormatMicroTime(runtime_.WallNow()) + "." + std::to_string(runtime_.Random() % 1'000'000'000);
  for (char& c : stamp) {
    if (c == '-' || c == ':' || c == 'T') c = '_';
  }
  using Failures = std::vector<VolumeFailure>;
  std::move_only_function<Failures()> work = [=] { return SetUpAll(pod, references, around, tokens, folder, stamp); };
  auto run = RunOffLoop<Failures>(runtime_, std::move(work));
  failures = co_await std::move(run);
  co_return failures;
}

Task<Result<void>> Volumes::TearDown(std::string uid) {
  std::string folder = PodFolder(uid);
  tokens_.Forget(uid);
  std::move_only_function<Result<void>()> work = [folder] -> Result<void> {
    TRY(UnmountBelow(folder));
    return RemoveTree(folder);
  };
  auto run = RunOffLoop<Result<void>>(runtime_, std::move(work));
  co_return co_await std::move(run);
}

Task<Result<std::vector<std::string>>> Volumes::Known() {
  using Names = Result<std::vector<std::string>>;
  std::move_only_function<Names()> work = [folder = pods_folder_] { return ListFolder(folder); };
  auto run = RunOffLoop<Names>(runtime_, std::move(work));
  co_return co_await std::move(run);
}

}  // namespace homeostat::node
