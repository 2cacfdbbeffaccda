#include "node/cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "node/errors.h"
#include "node/files.h"
#include "node/resources.h"

namespace homeostat::node {

namespace {

constexpr const char* kUnifiedRoot = "/sys/fs/cgroup";

Result<void> WriteControl(const std::string& path, const std::string& value) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return Fail(FileError(path, errno));
  if (write(file.get(), value.data(), value.size()) < 0) return Fail(FileError("can't write " + value + " to " + path, errno));
  return {};
}

// Makes the folders of a cgroup below a hierarchy's root, calling `enter` for each parent.
Result<void> MakeGroup(const std::string& root, const std::string& cgroup, const std::function<void(const std::string&)>& enter) {
  for (size_t slash = 0; slash != std::string::npos;) {
    enter(root + cgroup.substr(0, slash));
    slash = cgroup.find('/', slash + 1);
    std::string folder = root + cgroup.substr(0, slash);
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return Fail(FileError("can't make cgroup " + folder, errno));
  }
  return {};
}

Result<void> MakeUnified(const std::string& cgroup, const cri::LinuxResources& resources) {
  TRY(MakeGroup(kUnifiedRoot, cgroup, [](const std::string& parent) {
    // A controller that the kernel doesn't have, or that is on already, changes nothing.
    for (const char* controller : {"+cpu", "+cpuset", "+memory", "+pids", "+io"}) {
      (void)WriteControl(parent + "/cgroup.subtree_control", controller);
    }
  }));
  std::string folder = kUnifiedRoot + cgroup;
  std::string quota = resources.cpu_quota > 0 ? std::to_string(resources.cpu_quota) : "max";
  TRY(WriteControl(folder + "/cpu.weight", std::to_string(CpuWeight(resources.cpu_shares))));
  TRY(WriteControl(folder + "/cpu.max", quota + " " + std::to_string(kQuotaPeriod)));
  return WriteControl(folder + "/memory.max", resources.memory_limit > 0 ? std::to_string(resources.memory_limit) : "max");
}

Result<void> MakeByController(const CgroupSetup& setup, const std::string& cgroup, const cri::LinuxResources& resources) {
  auto none = [](const std::string&) {};
  if (auto cpu = setup.hierarchies.find("cpu"); cpu != setup.hierarchies.end()) {
    TRY(MakeGroup(cpu->second, cgroup, none));
    TRY(WriteControl(cpu->second + cgroup + "/cpu.shares", std::to_string(resources.cpu_shares)));
    int64_t quota = resources.cpu_quota > 0 ? resources.cpu_quota : -1;
    // A kernel without CPU bandwidth control lacks the file; then there is nothing to limit with.
    std::string file = cpu->second + cgroup + "/cpu.cfs_quota_us";
    if (PathExists(file)) TRY(WriteControl(file, std::to_string(quota)));
  }
  if (auto memory = setup.hierarchies.find("memory"); memory != setup.hierarchies.end()) {
    TRY(MakeGroup(memory->second, cgroup, none));
    int64_t limit = resources.memory_limit > 0 ? resources.memory_limit : -1;
    TRY(WriteControl(memory->second + cgroup + "/memory.limit_in_bytes", std::to_string(limit)));
  }
  return {};
}

// Groups below go first: a runtime leaves empty ones behind now and then.
Result<void> RemoveGroup(const std::string& folder) {
  Result<std::vector<std::string>> names = ListFolder(folder);
  if (!names) return Fail(names.error());
  for (const std::string& name : *names) {
    struct stat about;
    std::string child = folder + "/" + name;
    if (lstat(child.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) TRY(RemoveGroup(child));
  }
  if (rmdir(folder.c_str()) != 0 && errno != ENOENT) return Fail(FileError("can't remove cgroup " + folder, errno));
  return {};
}

}  // namespace

CgroupSetup DetectCgroups(bool systemd) {
  CgroupSetup setup;
  setup.systemd = systemd;
  setup.unified = PathExists(std::string(kUnifiedRoot) + "/cgroup.controllers");
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    size_t dash = line.find(" - cgroup ");
    if (size_t second = line.find(" - cgroup2 "); second != std::string::npos && !setup.unified) {
      // Mounted beside those of version 1, it has no controllers; runtimes leave folders in it all the same.
      std::istringstream fields(line.substr(0, second));
      std::string skip, point;
      fields >> skip >> skip >> skip >> skip >> point;
      setup.hierarchies.emplace("unified", point);
    }
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 10));
    std::string skip, root, point, source, options;
    left >> skip >> skip >> skip >> root >> point;
    right >> source >> options;
    std::istringstream names(options);
    for (std::string name; std::getline(names, name, ',');) setup.hierarchies.emplace(name, point);
  }
  return setup;
}

Result<void> MakePodCgroup(const CgroupSetup& setup, const std::string& cgroup, const cri::LinuxResources& resources) {
  if (setup.systemd) return {};
  return setup.unified ? MakeUnified(cgroup, resources) : MakeByController(setup, cgroup, resources);
}

Result<void> RemovePodCgroup(const CgroupSetup& setup, const std::string& cgroup) {
  if (setup.systemd) return {};
  if (setup.unified) return RemoveGroup(kUnifiedRoot + cgroup);
  std::set<std::string> roots;
  for (const auto& [controller, root] : setup.hierarchies) roots.insert(root);
  for (const std::string& root : roots) TRY(RemoveGroup(root + cgroup));
  return {};
}

}  // namespace homeostat::node
