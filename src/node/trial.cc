#include "node/trial.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "homeostat/base/files.h"
#include "node/cgroups.h"
#include "node/containerd.h"
#include "node/errors.h"
#include "node/files.h"

namespace homeostat::node {

namespace {

// Runs the function in a child; answers with what it returned, an errno, or with nothing when there could be no child. It may
// only make system calls: the child of a process with threads has nothing else.
template <class F>
std::optional<int> TryInChild(F function) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) _exit(function());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
}

// Mounts that are made from then on are nobody else's. 0 or an errno.
int EnterMountsOfOwn(int further_namespaces) {
  if (unshare(CLONE_NEWNS | further_namespaces) != 0) return errno;
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? 0 : errno;
}

// Whoever enters mounts of a container, as a command that is run in it does, comes out at the root of its mounts. Below a chroot that
// is not the container's: it would see, and write to, what the machine has there. 0, EXDEV below a chroot, or another errno.
int CompareRoots() {
  struct stat before, after;
  const int mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (mounts < 0 || stat("/", &before) != 0 || setns(mounts, CLONE_NEWNS) != 0 || stat("/", &after) != 0) return errno;
  return before.st_dev == after.st_dev && before.st_ino == after.st_ino ? 0 : EXDEV;
}

Result<void> TryCgroups() {
  const CgroupSetup setup = DetectCgroups(DetectHost().systemd_cgroups);
  if (setup.systemd) return {};
  if (!setup.unified && setup.hierarchies.empty()) return Fail(NodeError("no cgroups are mounted"));
  const std::string group = "/homeostat-trial-" + std::to_string(getpid());
  cri::LinuxResources least;
  least.cpu_shares = 2;
  Result<void> made = MakePodCgroup(setup, group, least);
  Result<void> removed = RemovePodCgroup(setup, group);
  return made ? removed : made;
}

}  // namespace

Result<void> TryWhatContainersNeed() {
  const auto namespaces = TryInChild([] { return EnterMountsOfOwn(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWPID); });
  if (namespaces.value_or(EAGAIN) != 0) return Fail(FileError("no namespaces can be made", namespaces.value_or(EAGAIN)));
  const auto mounts = TryInChild([] {
    if (int error = EnterMountsOfOwn(0); error != 0) return error;
    return mount("tmpfs", "/", "tmpfs", 0, nullptr) == 0 ? 0 : errno;
  });
  if (mounts.value_or(EAGAIN) != 0) return Fail(FileError("no file systems can be mounted", mounts.value_or(EAGAIN)));
  const auto roots = TryInChild(CompareRoots);
  if (roots.value_or(EAGAIN) == EXDEV) return Fail(NodeError("it runs below a chroot, out of which commands run in containers would reach"));
  if (roots.value_or(EAGAIN) != 0) return Fail(FileError("no mounts can be entered", roots.value_or(EAGAIN)));
  return TryCgroups();
}

bool CanMountOverlay(const std::string& folder) {
  const std::string trial = folder + "/overlay-trial";
  const std::array<std::string, 4> parts = {trial + "/lower", trial + "/upper", trial + "/work", trial + "/merged"};
  for (const std::string& part : parts) {
    if (!MakeDirectories(part, 0700)) return false;
  }
  const std::string options = "lowerdir=" + parts[0] + ",upperdir=" + parts[1] + ",workdir=" + parts[2];
  const auto error = TryInChild([&] {
    if (int failed = EnterMountsOfOwn(0); failed != 0) return failed;
    return mount("overlay", parts[3].c_str(), "overlay", 0, options.c_str()) == 0 ? 0 : errno;
  });
  (void)RemoveTree(trial);
  // Only the kernel's no is one: a runtime that was given overlayfs before must not change for want of a process.
  return error.value_or(0) == 0;
}

}  // namespace homeostat::node
