// Kubeconfig: which cluster to speak to and as whom, from the files that kubectl uses or from inside a pod.
//
//   KubeconfigOptions options = KubeconfigOptions::FromEnvironment();
//   TRY_ASSIGN(ClientConfig config, LoadClientConfig(options));
//   TRY_ASSIGN(auto transport, MakeTransport(runtime, config));
//   sdk::Client client(transport, {.runtime = &runtime});
//
// Source of the rules: client-go's clientcmd. Reading blocks: at start-up, or off the loop.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::sdk {

struct KubeconfigOptions {
  std::string explicit_file;              // --kubeconfig: only this one, which must be there
  std::string environment;                // KUBECONFIG: a list separated by ':'; missing files are passed over
  std::string home;                       // HOME: .kube/config in it, where neither of the above is set
  std::string context;                    // "": current-context
  // Of a pod: KUBERNETES_SERVICE_HOST and _PORT, and the directory of its service account. Used where no file says more.
  std::string service_host, service_port;
  std::string service_account_directory = "/var/run/secrets/kubernetes.io/serviceaccount";

  static KubeconfigOptions FromEnvironment();
};

// Everything that a connection needs. Certificates and keys are PEM texts, whether they stood in the file or beside it.
struct ClientConfig {
  std::string server;                     // https://10.0.0.1:6443/prefix
  std::string certificate_authority;      // empty: the system's
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::string client_certificate, client_key;
  std::string token;
  std::string token_file;                 // wins over token; read again as it changes
  std::string username, password;
  std::string impersonate_user;
  std::string ns = "default";             // the context's namespace
  std::string context;                    // its name; empty inside a pod
};

// Named entries of one or several files, first come first served. What they hold is JSON's names and values.
struct KubeconfigCluster {
  std::string server, certificate_authority, certificate_authority_file, tls_server_name, proxy_url;
  bool insecure_skip_tls_verify = false;
};
struct KubeconfigUser {
  std::string client_certificate, client_certificate_file, client_key, client_key_file, token, token_file, username, password, impersonate;
  bool exec = false, auth_provider = false;
};
struct KubeconfigContext {
  std::string cluster, user, ns;
};
struct Kubeconfig {
  std::vector<std::pair<std::string, KubeconfigCluster>> clusters;
  std::vector<std::pair<std::string, KubeconfigUser>> users;
  std::vector<std::pair<std::string, KubeconfigContext>> contexts;
  std::string current_context;

  // Takes over what `other` has and this one lacks, entry by entry.
  void MergeFrom(const Kubeconfig& other);
};

// Reads the text of one file. Paths in it are taken from `directory`.
Result<Kubeconfig> ParseKubeconfig(std::string_view text, std::string_view directory);
// Reads and merges the files that the options name. None at all is an empty config.
Result<Kubeconfig> LoadKubeconfig(const KubeconfigOptions& options);
// What the context of that name ("": the current one) means; reads the files that its entries name.
Result<ClientConfig> ResolveContext(const Kubeconfig& kubeconfig, std::string_view context);
// What a pod of that environment uses.
Result<ClientConfig> InClusterConfig(const KubeconfigOptions& options);
// The files' context, or else the pod's own account.
Result<ClientConfig> LoadClientConfig(const KubeconfigOptions& options);

}  // namespace homeostat::sdk
