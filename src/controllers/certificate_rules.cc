#include "controllers/certificate_rules.h"

#include <algorithm>
#include <set>

#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::certificates::v1::CertificateSigningRequest;

namespace {

constexpr Duration kLongest = std::chrono::hours(24 * 365), kShortest = std::chrono::minutes(10);
constexpr Duration kHandled = std::chrono::hours(1), kUnhandled = std::chrono::hours(24);
constexpr std::string_view kNodes = "system:nodes", kNodePrefix = "system:node:";

using Usages = std::set<std::string_view>;

// With or without "key encipherment", which only RSA keys need.
std::optional<std::string> UsageFault(const std::vector<std::string>& usages, std::string_view purpose) {
  Usages asked(usages.begin(), usages.end());
  Usages full{"digital signature", "key encipherment", purpose}, without{"digital signature", purpose};
  if (asked == full || asked == without) return std::nullopt;
  std::string list;
  for (std::string_view usage : full) list += (list.empty() ? "" : " ") + std::string(usage);
  return "usages did not match [" + list + "]";
}

std::optional<std::string> KubeletFault(const CertificateSubject& subject, const std::vector<std::string>& usages, bool serving) {
  if (subject.organizations != std::vector<std::string>{std::string(kNodes)}) return "subject organization is not system:nodes";
  if (serving) {
    if (subject.dns_names == 0 && subject.addresses == 0) return "DNS or IP subjectAltName is required";
  } else if (subject.dns_names > 0) {
    return "DNS subjectAltNames are not allowed";
  }
  if (subject.emails > 0) return "Email subjectAltNames are not allowed";
  if (!serving && subject.addresses > 0) return "IP subjectAltNames are not allowed";
  if (subject.uris > 0) return "URI subjectAltNames are not allowed";
  bool node = subject.common_name.starts_with(kNodePrefix);
  if (!serving && !node) return "subject common name does not begin with system:node:";
  if (auto fault = UsageFault(usages, serving ? "server auth" : "client auth")) return fault;
  if (!node) return "subject common name does not begin with system:node:";
  return std::nullopt;
}

std::optional<std::string> ClientFault(const std::vector<std::string>& usages) {
  bool client = false;
  for (const std::string& usage : usages) {
    if (usage == "client auth") {
      client = true;
    } else if (usage != "digital signature" && usage != "key encipherment") {
      return "invalid usage for client certificate: " + usage;
    }
  }
  if (!client) return "missing required usage for client certificate: client auth";
  return std::nullopt;
}

bool IsOlder(std::string_view time, Duration age, WallTime now) {
  auto parsed = object::ParseTime(time);
  return parsed && now - parsed->ToClock() > age;
}

}  // namespace

bool IsOwnSigner(std::string_view name) {
  return name == kApiServerClientSigner || name == kKubeletClientSigner || name == kKubeletServingSigner || name == kLegacySigner;
}

std::optional<std::string> RefusalOf(std::string_view signer, const CertificateSubject& subject, const std::vector<std::string>& usages) {
  if (signer == kKubeletServingSigner) return KubeletFault(subject, usages, true);
  if (signer == kKubeletClientSigner) return KubeletFault(subject, usages, false);
  if (signer == kApiServerClientSigner) return ClientFault(usages);
  return std::nullopt;
}

std::vector<std::string> UsagesOf(const CertificateSigningRequest& request) {
  std::vector<std::string> usages;
  for (std::string_view usage : request.spec().usages()) usages.emplace_back(usage);
  return usages;
}

Duration LifetimeOf(const CertificateSigningRequest& request) {
  if (!request.spec().has_expiration_seconds()) return kLongest;
  return std::clamp<Duration>(std::chrono::seconds(request.spec().expiration_seconds()), kShortest, kLongest);
}

bool HasTrueCondition(const CertificateSigningRequest& request, std::string_view type) {
  return std::ranges::any_of(request.status().conditions(), [&](auto condition) {
    return condition.type() == type && (condition.status().empty() || condition.status() == "True");
  });
}

bool IsRequestOld(const CertificateSigningRequest& request, std::optional<WallTime> end, WallTime now) {
  bool issued = !request.status().certificate().empty();
  if (request.status().conditions().empty()) return IsOlder(request.metadata().creation_timestamp(), kUnhandled, now);
  for (auto condition : request.status().conditions()) {
    std::string_view type = condition.type();
    bool old = IsOlder(condition.last_update_time(), type == "Approved" && !issued ? kUnhandled : kHandled, now);
    bool expired = type == "Approved" && issued && end && now > *end;
    if (expired || (old && (type == "Approved" || type == "Denied" || type == "Failed"))) return true;
  }
  return false;
}

}  // namespace homeostat::controllers
