// What the node agent does with files and folders beyond homeostat/base/files.h. Blocking: call these off the loop. Nothing here follows a
// symbolic link where it writes or removes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::node {

// A file descriptor that closes itself.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// "what: reason of errno".
Status FileError(const std::string& what, int error);

// Writes beside and renames over, so that a reader sees the old or the new content. Not made durable: what is written
// here is made anew after a crash.
Result<void> ReplaceFile(const std::string& path, std::string_view content, uint32_t mode);
// Removes a file or a whole folder; what is not there is fine. Stays below `path` whatever links are in it, and on its
// file system: what is mounted inside makes it fail.
Result<void> RemoveTree(const std::string& path);
// Names in a folder, sorted; none for a folder that is not there.
Result<std::vector<std::string>> ListFolder(const std::string& path);
bool PathExists(const std::string& path);
// Mount points at or below the path, deepest first.
std::vector<std::string> MountsBelow(const std::string& path);

}  // namespace homeostat::node
