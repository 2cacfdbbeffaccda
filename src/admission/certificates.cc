// CertificateApproval, CertificateSigning, CertificateSubjectRestriction, ClusterTrustBundleAttest: who approves, signs and attests
// for a signer must have been allowed to do so for that signer, and nobody gets a certificate of the masters.
// Source of the rules and texts: plugin/pkg/admission/certificates and pkg/certauthorization.
#include "admission/plugins.h"
#include "homeostat/base/text.h"
#include "kinds/certificates/certificates.h"

namespace homeostat::admission {
namespace {

using object::Value;

constexpr std::string_view kGroup = "certificates.k8s.io", kRequests = "certificatesigningrequests", kBundles = "clustertrustbundles";

bool MayForSigner(auth::Authorizer& authorizer, const User& user, std::string_view verb, std::string_view signer) {
  // Either for the signer itself or for all of its domain.
  std::string domain(signer.substr(0, signer.find('/')));
  for (const std::string& name : {std::string(signer), domain + "/*"}) {
    auth::Attributes asked;
    asked.user = &user;
    asked.verb = verb;
    asked.resource_request = true;
    asked.group = kGroup;
    asked.version = "*";
    asked.resource = "signers";
    asked.name = name;
    if (authorizer.Authorize(asked).decision == auth::Decision::kAllow) return true;
  }
  return false;
}

std::string_view SignerOf(const Value& object) { return object.Path({"spec", "signerName"}).AsString(); }

class CertificateApproval : public PlainPlugin {
 public:
  explicit CertificateApproval(const PluginParts& parts) : authorizer_(parts.authorizer) {}
  std::string_view name() const override { return "CertificateApproval"; }
  bool Handles(const Request& request) const override {
    return request.updates() && request.subresource == "approval" && request.Is(kGroup, kRequests);
  }
  Result<void> ValidateNow(const Request& request) override {
    // By what was stored: the signer is not to be changed on the way.
    std::string_view signer = SignerOf(request.old_object);
    if (MayForSigner(authorizer_, request.user(), "approve", signer)) return {};
    return Fail(Forbid(request, "user not permitted to approve requests with signerName " + GoQuote(signer)));
  }

 private:
  auth::Authorizer& authorizer_;
};

class CertificateSigning : public PlainPlugin {
 public:
  explicit CertificateSigning(const PluginParts& parts) : authorizer_(parts.authorizer) {}
  std::string_view name() const override { return "CertificateSigning"; }
  bool Handles(const Request& request) const override {
    return request.updates() && request.subresource == "status" && request.Is(kGroup, kRequests);
  }
  Result<void> ValidateNow(const Request& request) override {
    Value now = request.object.Get("status"), before = request.old_object.Get("status");
    bool same = now.Get("certificate").AsString() == before.Get("certificate").AsString() && object::Equal(now.Get("conditions"), before.Get("conditions"));
    std::string_view signer = SignerOf(request.old_object);
    if (same || MayForSigner(authorizer_, request.user(), "sign", signer)) return {};
    return Fail(Forbid(request, "user not permitted to sign requests with signerName " + GoQuote(signer)));
  }

 private:
  auth::Authorizer& authorizer_;
};

class CertificateSubjectRestriction : public PlainPlugin {
 public:
  std::string_view name() const override { return "CertificateSubjectRestriction"; }
  bool Handles(const Request& request) const override { return request.creates() && request.IsWhole(kGroup, kRequests); }
  Result<void> ValidateNow(const Request& request) override {
    constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";
    if (SignerOf(request.object) != kClientSigner) return {};
    auto subject = kinds::SigningRequestSubject(request.object.Path({"spec", "request"}).AsString());
    if (!subject) return Fail(Forbid(request, "failed to parse CSR: " + subject.error()));
    for (const std::string& organization : subject->organizations) {
      if (organization == kGroupMasters) {
        return Fail(Forbid(request, "use of " + std::string(kClientSigner) + " signer with system:masters group is not allowed"));
      }
    }
    return {};
  }
};

class ClusterTrustBundleAttest : public PlainPlugin {
 public:
  explicit ClusterTrustBundleAttest(const PluginParts& parts) : authorizer_(parts.authorizer) {}
  std::string_view name() const override { return "ClusterTrustBundleAttest"; }
  bool Handles(const Request& request) const override {
    return (request.creates() || request.updates()) && request.IsWhole(kGroup, kBundles);
  }
  Result<void> ValidateNow(const Request& request) override {
    std::string_view signer = SignerOf(request.object);
    // What only the collector and storage migration change says nothing new.
    bool same = request.updates() && object::Equal(request.object.Get("spec"), request.old_object.Get("spec"));
    if (signer.empty() || same || MayForSigner(authorizer_, request.user(), "attest", signer)) return {};
    return Fail(Forbid(request, "user not permitted to attest for signerName " + GoQuote(signer)));
  }

 private:
  auth::Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<Plugin> MakeCertificateApproval(const PluginParts& parts) { return std::make_unique<CertificateApproval>(parts); }
std::unique_ptr<Plugin> MakeCertificateSigning(const PluginParts& parts) { return std::make_unique<CertificateSigning>(parts); }
std::unique_ptr<Plugin> MakeCertificateSubjectRestriction(const PluginParts&) { return std::make_unique<CertificateSubjectRestriction>(); }
std::unique_ptr<Plugin> MakeClusterTrustBundleAttest(const PluginParts& parts) { return std::make_unique<ClusterTrustBundleAttest>(parts); }

}  // namespace homeostat::admission
