#include "node/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "node/errors.h"

namespace homeostat::node {

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.Release();
  }
  return *this;
}
FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}
int FileDescriptor::Release() { return std::exchange(fd_, -1); }

Status FileError(const std::string& what, int error) {
  std::string message = what + ": " + std::strerror(error);
  if (error == ENOENT) return Status(404, "NotFound", message);
  return NodeError(message);
}

namespace {

Result<void> WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t wrote = write(fd, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Fail(FileError("can't write " + path, errno));
    content.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
}

// Removes what is in the open folder, which it closes.
Result<void> EmptyFolder(FileDescriptor folder, dev_t device, const std::string& shown) {
  DIR* stream = fdopendir(folder.get());
  if (stream == nullptr) return Fail(FileError(shown, errno));
  int fd = folder.Release();
  struct Closer {
    DIR* stream;
    ~Closer() { closedir(stream); }
  } closer{stream};
  while (dirent* entry = readdir(stream)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (unlinkat(fd, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return Fail(FileError("can't remove " + shown + "/" + name, errno));
    FileDescriptor child(openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat about;
    if (!child || fstat(child.get(), &about) != 0) return Fail(FileError("can't remove " + shown + "/" + name, errno));
    if (about.st_dev != device) return Fail(NodeError(shown + "/" + name + " is still mounted"));
    TRY(EmptyFolder(std::move(child), device, shown + "/" + name));
    if (unlinkat(fd, name.c_str(), AT_REMOVEDIR) != 0) return Fail(FileError("can't remove " + shown + "/" + name, errno));
  }
  return {};
}

}  // namespace

Result<void> ReplaceFile(const std::string& path, std::string_view content, uint32_t mode) {
  std::string beside = path + ".new";
  unlink(beside.c_str());
  FileDescriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return Fail(FileError("can't write " + beside, errno));
  fchmod(file.get(), mode);
  TRY(WriteAll(file.get(), content, beside));
  if (rename(beside.c_str(), path.c_str()) != 0) return Fail(FileError("can't replace " + path, errno));
  return {};
}

Result<void> RemoveTree(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return Fail(FileError("can't remove " + path, errno));
  FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about;
  if (!folder || fstat(folder.get(), &about) != 0) return Fail(FileError("can't remove " + path, errno));
  TRY(EmptyFolder(std::move(folder), about.st_dev, path));
  if (rmdir(path.c_str()) != 0) return Fail(FileError("can't remove " + path, errno));
  return {};
}

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  DIR* stream = opendir(path.c_str());
  if (stream == nullptr) {
    if (errno == ENOENT) return names;
    return Fail(FileError(path, errno));
  }
  while (dirent* entry = readdir(stream)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

bool PathExists(const std::string& path) {
  struct stat about;
  return lstat(path.c_str(), &about) == 0;
}

std::vector<std::string> MountsBelow(const std::string& path) {
  std::vector<std::string> mounts;
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string skip, point;
    fields >> skip >> skip >> skip >> skip >> point;
    // The kernel writes blanks in paths as octal escapes; ours have none but what users name, which is never a path here.
    if (point == path || point.starts_with(path + "/")) mounts.push_back(point);
  }
  std::sort(mounts.begin(), mounts.end(), [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return mounts;
}

}  // namespace homeostat::node
