#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/stand_in.h"
#include "homeostat/base/files.h"

namespace homeostat::cli {
namespace {

namespace fs = std::filesystem;

std::optional<int> Complain(const std::string& what, const std::error_code& error) {
  if (!error) return std::nullopt;
  fmt::print(stderr, "homeostat: {}: {}\n", what, error.message());
  return 1;
}

// A symbolic link, in place of what was there.
std::optional<int> Link(const fs::path& target, const fs::path& link) {
  std::error_code error;
  fs::remove(link, error);
  if (!error) fs::create_symlink(target, link, error);
  return Complain("cannot make " + link.string(), error);
}

fs::path OnPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    std::error_code error;
    fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (fs::is_regular_file(candidate, error)) return fs::canonical(candidate, error);
    rest.remove_prefix(colon == rest.npos ? rest.size() : colon + 1);
  }
  return {};
}

}  // namespace

std::optional<int> RunStandIn(std::string_view called, std::span<const std::string_view> words) {
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (name == "kube-apiserver") return RunKubeApiserver(words);
  if (name == "etcd") return RunEtcd(words);
  return std::nullopt;
}

int RunEnvtestInstall(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (auto code = Complain("cannot make " + directory, error)) return *code;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (auto code = Complain("cannot find this program", error)) return *code;
  for (const char* name : {"kube-apiserver", "etcd"}) {
    if (auto code = Link(self, fs::path(directory) / name)) return *code;
  }
  if (fs::path kubectl = OnPath("kubectl"); !kubectl.empty()) {
    if (auto code = Link(kubectl, fs::path(directory) / "kubectl")) return *code;
  } else {
    fmt::print(stderr, "There is no kubectl on PATH; tests that use one will miss it in {}.\n", directory);
  }
  fmt::print("export KUBEBUILDER_ASSETS={}\n", fs::absolute(directory).lexically_normal().string());
  return 0;
}

}  // namespace homeostat::cli
