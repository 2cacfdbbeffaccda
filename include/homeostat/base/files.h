// Files and directories. Every call blocks: at start-up call it directly, later through RunOffLoop.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat {

// The whole file. Errors read "open PATH: no such file or directory"; a missing file is NotFound (IsNotFound()).
Result<std::string> ReadFile(const std::string& path);

// The file appears with all of the bytes and the mode, or stays as it was, also when the machine stops meanwhile.
Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes, mode_t mode = 0600);

// Makes the directory and its parents where they are missing, with that mode whatever the umask.
Result<void> MakeDirectories(const std::string& path, mode_t mode = 0700);

// Removes a file; one that is not there is fine.
Result<void> RemoveFile(const std::string& path);

// Holds a directory for this process alone, until destroyed or the process ends. The error of a second one names the
// directory and the process that has it.
class DirectoryLock {
 public:
  static Result<DirectoryLock> Acquire(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace homeostat
