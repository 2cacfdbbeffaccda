#include "node/atomic_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "homeostat/base/files.h"
#include "node/errors.h"
#include "node/files.h"

namespace homeostat::node {

namespace {

constexpr const char* kData = "..data";
constexpr const char* kNewData = "..data_tmp";
constexpr uint32_t kGroupReads = 0440, kGroupEnters = 02110;

std::string LinkTarget(const std::string& path) {
  std::string target(4096, '\0');
  ssize_t size = readlink(path.c_str(), target.data(), target.size());
  target.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return target;
}

// Adds the files below a folder, as they are now.
Result<void> ReadInto(const std::string& folder, const std::string& prefix, VolumeFiles& files) {
  TRY_ASSIGN(std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    std::string path = folder + "/" + name;
    struct stat about;
    if (lstat(path.c_str(), &about) != 0) return Fail(FileError(path, errno));
    if (S_ISDIR(about.st_mode)) {
      TRY(ReadInto(path, prefix + name + "/", files));
    } else {
      TRY_ASSIGN(std::string content, ReadFile(path));
      files[prefix + name] = {std::move(content), about.st_mode & 0777};
    }
  }
  return {};
}

VolumeFiles WithGroup(VolumeFiles files, bool group) {
  for (auto& [path, file] : files) {
    if (group) file.mode |= kGroupReads;
  }
  return files;
}

Result<void> MakeFolder(const std::string& path, std::optional<int64_t> group) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return Fail(FileError("can't make " + path, errno));
  // Whatever the umask: containers of any user read here.
  chmod(path.c_str(), 0755);
  if (!group) return {};
  if (chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*group)) != 0) return Fail(FileError("can't give " + path, errno));
  chmod(path.c_str(), 0755 | kGroupEnters | kGroupReads);
  return {};
}

Result<void> WriteFiles(const std::string& folder, const VolumeFiles& files, std::optional<int64_t> group) {
  TRY(MakeFolder(folder, group));
  for (const auto& [path, file] : files) {
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      TRY(MakeFolder(folder + "/" + path.substr(0, slash), group));
    }
    std::string full = folder + "/" + path;
    TRY(ReplaceFile(full, file.content, file.mode));
    if (group && lchown(full.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*group)) != 0) {
      return Fail(FileError("can't give " + full, errno));
    }
  }
  return {};
}

std::set<std::string> FirstParts(const VolumeFiles& files) {
  std::set<std::string> parts;
  for (const auto& [path, file] : files) parts.insert(path.substr(0, path.find('/')));
  return parts;
}

Result<void> SetLink(const std::string& path, const std::string& target) {
  if (LinkTarget(path) == target) return {};
  unlink(path.c_str());
  if (symlink(target.c_str(), path.c_str()) != 0) return Fail(FileError("can't make link " + path, errno));
  return {};
}

// Links for what is new, none for what is gone.
Result<void> SetUserLinks(const std::string& target, const VolumeFiles& files) {
  std::set<std::string> wanted = FirstParts(files);
  for (const std::string& part : wanted) TRY(SetLink(target + "/" + part, std::string(kData) + "/" + part));
  TRY_ASSIGN(std::vector<std::string> names, ListFolder(target));
  for (const std::string& name : names) {
    if (!name.starts_with("..") && !wanted.contains(name)) unlink((target + "/" + name).c_str());
  }
  return {};
}

Result<void> RemoveOldFolders(const std::string& target, const std::string& current) {
  TRY_ASSIGN(std::vector<std::string> names, ListFolder(target));
  for (const std::string& name : names) {
    if (name.starts_with("..") && name != current && name != kData) TRY(RemoveTree(target + "/" + name));
  }
  return {};
}

}  // namespace

Result<bool> WriteAtomically(const std::string& target, const VolumeFiles& wanted, const std::string& stamp,
                             std::optional<int64_t> group) {
  VolumeFiles files = WithGroup(wanted, group.has_value());
  for (const auto& [path, file] : files) TRY(CheckVolumePath(path));
  std::string current = LinkTarget(target + "/" + kData);
  bool known = !current.empty() && current.find('/') == std::string::npos && PathExists(target + "/" + current);
  if (known) {
    VolumeFiles now;
    TRY(ReadInto(target + "/" + current, "", now));
    if (now == files) {
      TRY(SetUserLinks(target, files));
      return false;
    }
  }
  std::string next = ".." + stamp;
  TRY(RemoveTree(target + "/" + next));
  TRY(WriteFiles(target + "/" + next, files, group));
  TRY(SetLink(target + "/" + kNewData, next));
  if (rename((target + "/" + kNewData).c_str(), (target + "/" + kData).c_str()) != 0) {
    return Fail(FileError("can't replace " + target + "/" + kData, errno));
  }
  TRY(SetUserLinks(target, files));
  TRY(RemoveOldFolders(target, next));
  return true;
}

}  // namespace homeostat::node
