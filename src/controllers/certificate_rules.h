// The pure rules of CertificateSigningRequests: which signer takes which request, how long certificates last, which requests are
// old. Source: upstream's certificate controllers and the well-known signers of kubernetes.io.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/certificates/v1.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::controllers {

struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> organizations;
  size_t dns_names = 0, emails = 0, addresses = 0, uris = 0;
};

// What takes the authority's key, which stays with whoever has it: controllers get these three. All texts are PEM.
struct CertificateAuthority {
  std::function<Result<CertificateSubject>(std::string_view request)> read;
  std::function<Result<std::string>(std::string_view request, const std::vector<std::string>& usages, Duration lifetime)> sign;
  std::function<Result<WallTime>(std::string_view certificate)> end_of;
};

// Signers of this cluster.
inline constexpr std::string_view kApiServerClientSigner = "kubernetes.io/kube-apiserver-client";
inline constexpr std::string_view kKubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
inline constexpr std::string_view kKubeletServingSigner = "kubernetes.io/kubelet-serving";
inline constexpr std::string_view kLegacySigner = "kubernetes.io/legacy-unknown";
bool IsOwnSigner(std::string_view name);

// What keeps the signer from signing it, in upstream's words; nullopt: nothing.
std::optional<std::string> RefusalOf(std::string_view signer, const CertificateSubject& subject, const std::vector<std::string>& usages);
std::vector<std::string> UsagesOf(const api::certificates::v1::CertificateSigningRequest& request);
// As asked, within ten minutes and a year.
Duration LifetimeOf(const api::certificates::v1::CertificateSigningRequest& request);
bool HasTrueCondition(const api::certificates::v1::CertificateSigningRequest& request, std::string_view type);

// It has been dealt with, or waited, long enough to go. end: of its certificate, if that can be read.
bool IsRequestOld(const api::certificates::v1::CertificateSigningRequest& request, std::optional<WallTime> end, WallTime now);

}  // namespace homeostat::controllers
