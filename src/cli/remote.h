// The commands that ask a cluster through a kubeconfig: apply, get, wait. Small on purpose: kubectl does the rest.
#pragma once

#include <string>
#include <vector>

namespace homeostat::cli {

struct RemoteOptions {
  std::string kubeconfig;
  std::string ns;                  // empty: the context's
};

// Server-side apply of every document of the files. 0 if all were applied.
int RunApply(const RemoteOptions& remote, const std::vector<std::string>& files);
// The server's tables of the resources (comma separated plurals, e.g. deployments,pods).
int RunGet(const RemoteOptions& remote, const std::string& resources);
// Until the object has that condition with status True. target: deployments/web.
int RunWait(const RemoteOptions& remote, const std::string& target, const std::string& condition, int seconds);

}  // namespace homeostat::cli
