#include "node/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "homeostat/base/files.h"
#include "node/errors.h"
#include "node/files.h"

namespace homeostat::node {

namespace {

int OpenBeneath(int folder, const std::string& path, int flags) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

// Opens the sub path, making folders that are missing.
Result<FileDescriptor> OpenSubPath(const FileDescriptor& volume, const std::string& sub_path, bool may_make) {
  FileDescriptor found(OpenBeneath(volume.get(), sub_path, O_PATH));
  if (found || errno != ENOENT || !may_make) {
    if (!found) return Fail(FileError("failed to open subPath " + sub_path, errno));
    return found;
  }
  struct stat about;
  uint32_t mode = fstat(volume.get(), &about) == 0 ? about.st_mode & 07777 : 0755;
  FileDescriptor folder(OpenBeneath(volume.get(), ".", O_PATH | O_DIRECTORY));
  for (size_t begin = 0; begin < sub_path.size();) {
    size_t end = sub_path.find('/', begin);
    std::string part = sub_path.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end == std::string::npos ? sub_path.size() : end + 1;
    if (part.empty() || part == ".") continue;
    if (mkdirat(folder.get(), part.c_str(), mode) == 0) {
      fchmodat(folder.get(), part.c_str(), mode, 0);
    } else if (errno != EEXIST) {
      return Fail(FileError("failed to create subPath " + sub_path, errno));
    }
    FileDescriptor next(OpenBeneath(folder.get(), part, O_PATH | O_DIRECTORY));
    if (!next) return Fail(FileError("failed to open subPath " + sub_path, errno));
    folder = std::move(next);
  }
  return folder;
}

Result<void> MakeTarget(const std::string& target, bool folder) {
  size_t slash = target.rfind('/');
  TRY(MakeDirectories(target.substr(0, slash), 0750));
  if (folder) {
    if (mkdir(target.c_str(), 0750) != 0 && errno != EEXIST) return Fail(FileError("can't make " + target, errno));
    return {};
  }
  FileDescriptor file(open(target.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file) return Fail(FileError("can't make " + target, errno));
  return {};
}

}  // namespace

Result<void> MountMemory(const std::string& folder, int64_t size_bytes, uint32_t mode) {
  for (const std::string& mount : MountsBelow(folder)) {
    if (mount == folder) return {};
  }
  char options[64];
  std::snprintf(options, sizeof options, size_bytes > 0 ? "mode=%o,size=%lld" : "mode=%o", mode, static_cast<long long>(size_bytes));
  if (mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) {
    return Fail(FileError("can't mount tmpfs on " + folder, errno));
  }
  return {};
}

Result<void> UnmountBelow(const std::string& path) {
  for (const std::string& mount : MountsBelow(path)) {
    if (umount2(mount.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
    if (errno == EINVAL || errno == ENOENT) continue;
    if (umount2(mount.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) != 0) return Fail(FileError("can't unmount " + mount, errno));
  }
  return {};
}

Result<void> BindSubPath(const std::string& volume, const std::string& sub_path, const std::string& target, bool read_only_volume) {
  FileDescriptor root(open(volume.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Fail(FileError(volume, errno));
  TRY_ASSIGN(FileDescriptor part, OpenSubPath(root, sub_path, !read_only_volume));
  struct stat about;
  if (fstat(part.get(), &about) != 0) return Fail(FileError(sub_path, errno));
  TRY(UnmountBelow(target));
  TRY(MakeTarget(target, S_ISDIR(about.st_mode)));
  // By the descriptor, not by the name: between looking and mounting the name may come to mean something else.
  std::string source = "/proc/thread-self/fd/" + std::to_string(part.get());
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return Fail(FileError("can't bind " + sub_path + " of " + volume, errno));
  }
  return {};
}

}  // namespace homeostat::node
