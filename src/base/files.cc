#include "homeostat/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace homeostat {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status Failure(std::string_view what, const std::string& path, int error) {
  std::string context = std::string(what) + " " + path;
  Status status = SystemError(context, error);
  return error == ENOENT ? Status(404, "NotFound", status.message()) : status;
}

Result<void> WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return Fail(Failure("write", path, errno));
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

std::string ParentOf(const std::string& path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes a rename in the directory durable.
Result<void> SyncDirectory(const std::string& path) {
  OpenFile directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() < 0) return Fail(Failure("open", path, errno));
  if (::fsync(directory.fd()) != 0) return Fail(Failure("fsync", path, errno));
  return {};
}

Result<void> FillAndRename(int fd, const std::string& temporary, const std::string& path, std::string_view bytes, mode_t mode) {
  TRY(WriteAll(fd, bytes, temporary));
  if (::fchmod(fd, mode) != 0) return Fail(Failure("chmod", temporary, errno));
  if (::fsync(fd) != 0) return Fail(Failure("fsync", temporary, errno));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return Fail(Failure("rename", path, errno));
  return {};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return Fail(Failure("open", path, errno));
  struct stat about;
  std::string out;
  if (::fstat(file.fd(), &about) == 0 && S_ISREG(about.st_mode)) out.reserve(static_cast<size_t>(about.st_size) + 1);
  // Until the end and not for the size: files in /proc and /sys have none.
  while (true) {
    size_t have = out.size();
    out.resize(std::max(out.capacity(), have + 4096));
    ssize_t got = ::read(file.fd(), out.data() + have, out.size() - have);
    int error = errno;
    out.resize(have + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) return out;
    if (got < 0 && error != EINTR) return Fail(Failure("read", path, error));
  }
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes, mode_t mode) {
  std::string temporary = path + ".XXXXXX";
  OpenFile file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.fd() < 0) return Fail(Failure("open", path, errno));
  auto filled = FillAndRename(file.fd(), temporary, path, bytes, mode);
  if (!filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  return SyncDirectory(ParentOf(path));
}

Result<void> MakeDirectories(const std::string& path, mode_t mode) {
  struct stat about;
  if (::stat(path.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) return {};
    return Fail(Failure("mkdir", path, ENOTDIR));
  }
  if (std::string parent = ParentOf(path); parent != path) TRY(MakeDirectories(parent, mode));
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};  // someone else was faster, or "a//b"
    return Fail(Failure("mkdir", path, errno));
  }
  if (::chmod(path.c_str(), mode) != 0) return Fail(Failure("chmod", path, errno));
  return {};
}

Result<void> RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Fail(Failure("remove", path, errno));
  return {};
}

Result<DirectoryLock> DirectoryLock::Acquire(const std::string& directory) {
  std::string path = directory + "/LOCK";
  OpenFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.fd() < 0) return Fail(Failure("open", path, errno));
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Fail(Failure("lock", path, errno));
    std::string holder;
    if (auto text = ReadFile(path); text && !text->empty()) holder = " (process " + *text + ")";
    return Fail(SystemError("directory " + directory + " is in use by another process" + holder));
  }
  // Only for the message above: what counts is the lock, which ends with the process.
  std::string self = std::to_string(::getpid());
  if (::ftruncate(file.fd(), 0) != 0) return Fail(Failure("truncate", path, errno));
  TRY(WriteAll(file.fd(), self, path));
  return DirectoryLock(file.Release());
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace homeostat
