// Pki: the cluster's own certificate authority and what it has signed. Made at first start, kept in a folder of mode 0700
// with files of mode 0600, read again afterwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::auth {

// PEM texts.
struct KeyPair {
  std::string certificate;
  std::string private_key;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;      // server names
  std::vector<std::string> ip_addresses;
  bool server = false;                     // extended key usage: server, else client authentication
  Duration lifetime = std::chrono::hours(24 * 365);
};

// A new authority, valid ten years. ECDSA P-256, since it is made at every first start.
Result<KeyPair> MakeAuthority(Runtime& runtime, std::string_view common_name);
// A certificate with a new key, signed by the authority.
Result<KeyPair> IssueCertificate(Runtime& runtime, const KeyPair& authority, const CertificateRequest& request);
// A new RSA key of 2048 bits, PEM. Takes around a tenth of a second of CPU: not for the loop.
Result<std::string> MakeRsaKey();

// True unless the certificate ends within that time.
Result<bool> IsValidFor(Runtime& runtime, std::string_view certificate, Duration time);

struct PkiOptions {
  std::string directory;                   // empty: nothing is kept
  std::vector<std::string> server_dns_names, server_ip_addresses;
};

// What `homeostat up` needs at start. Service account keys come later (ServiceAccountKey).
struct Pki {
  KeyPair authority;
  KeyPair server;
  KeyPair admin;                           // CN admin, O system:masters
  // Extension servers know this server by a certificate of an authority that signs nothing else.
  KeyPair proxy_authority;
  KeyPair proxy_client;                    // CN front-proxy-client
};
// The common name of proxy_client.
inline constexpr std::string_view kProxyClientName = "front-proxy-client";

// Loads what is there, makes what is missing or about to expire, or, for the server, lacks a name.
Result<Pki> LoadPki(Runtime& runtime, const PkiOptions& options);

// A kubeconfig with everything in it.
std::string MakeKubeconfig(std::string_view server_url, std::string_view authority, const KeyPair& user,
                           std::string_view cluster_name, std::string_view user_name);

}  // namespace homeostat::auth
