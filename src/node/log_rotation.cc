#include "node/log_rotation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "node/files.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

// Moves the log away if it is over the limit; says whether it did. Blocking.
Result<bool> MoveAway(const std::string& path, const std::string& stamp, LogLimits limits) {
  struct stat about;
  if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < limits.bytes) return false;
  size_t slash = path.rfind('/');
  std::string folder = path.substr(0, slash), prefix = path.substr(slash + 1) + ".";
  TRY_ASSIGN(std::vector<std::string> names, ListFolder(folder));
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
  // Stamps sort by time; the current file and the one that joins it now count as well.
  size_t keep = limits.files > 2 ? limits.files - 2 : 0;
  for (size_t i = 0; i + keep < names.size(); ++i) TRY(RemoveTree(folder + "/" + names[i]));
  if (rename(path.c_str(), (path + "." + stamp).c_str()) != 0) return Fail(FileError("can't rotate " + path, errno));
  return true;
}

}  // namespace

Task<Result<void>> RotateLog(Runtime& runtime, cri::Cri& cri, std::string container_id, std::string path, LogLimits limits) {
  std::string stamp;
  for (char c : FormatTime(runtime.WallNow())) {
    if (std::isdigit(static_cast<unsigned char>(c))) stamp += c;
    if (c == 'T') stamp += '-';
  }
  std::move_only_function<Result<bool>()> work = [=] { return MoveAway(path, stamp, limits); };
  auto run = RunOffLoop<Result<bool>>(runtime, std::move(work));
  CO_TRY_ASSIGN(bool moved, co_await std::move(run));
  if (!moved) co_return Done();
  auto reopen = cri.ReopenContainerLog(container_id);
  Result<void> reopened = co_await std::move(reopen);
  if (!reopened) {
    // The container still writes to the old file: back to where everyone looks for it.
    (void)rename((path + "." + stamp).c_str(), path.c_str());
  }
  co_return reopened;
}

}  // namespace homeostat::node
