// Kubeconfig: where a cluster is and as whom to ask it, from the files that kubectl reads; and the transport made from it.
//
// Files: --kubeconfig alone if given; else those that KUBECONFIG lists, the first to name a thing winning; else
// ~/.kube/config; else, within a pod, its service account. Source: client-go's loading rules.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::sdk {

struct ClusterAccess {
  std::string server;              // https://127.0.0.1:6443
  std::string authority;           // PEM; empty: the system's
  std::string server_name;         // that the certificate must have, where it isn't the server's
  bool insecure_skip_verify = false;
  std::string client_certificate, client_key;   // PEM
  std::string token;
  std::string ns;                  // of the context; "default" if it names none
};

// The access of a context (empty: the current one). Errors name the file and what is missing.
Result<ClusterAccess> LoadClusterAccess(const std::string& kubeconfig_flag, const std::string& context = {});
// The same from one text; paths in it are relative to `directory`.
Result<ClusterAccess> ParseKubeconfig(std::string_view text, const std::string& context, const std::string& directory);

// Speaks HTTP/2 or HTTP/1.1 over TLS to that server. The runtime must outlive it. A bearer token is added to each request.
Result<std::shared_ptr<http::Handler>> MakeTransport(Runtime& runtime, const ClusterAccess& access);

}  // namespace homeostat::sdk
