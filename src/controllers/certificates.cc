#include "controllers/certificates.h"

#include <utility>

#include "homeostat/api/authorization/v1_builders.h"
#include "homeostat/api/certificates/v1_builders.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::authorization::v1::SubjectAccessReview;
using api::authorization::v1::SubjectAccessReviewBuilder;
using api::certificates::v1::CertificateSigningRequest;
using api::certificates::v1::CertificateSigningRequestBuilder;
using Request = sdk::Object<CertificateSigningRequest>;

namespace {

constexpr Duration kCleanEvery = std::chrono::hours(1);
constexpr std::string_view kGroup = "certificates.k8s.io", kResource = "certificatesigningrequests";

}  // namespace

// --- Signing.

CertificateSigner::CertificateSigner(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority)
    : runtime_(runtime),
      client_(std::move(client)),
      authority_(std::move(authority)),
      requests_(informers.For<CertificateSigningRequest>()),
      controller_(runtime, {.name = "certificate", .workers = 2, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(requests_);
}

Task<Result<sdk::ReconcileOutcome>> CertificateSigner::Reconcile(std::string key) {
  Request request(requests_.Get(key));
  if (!request || !IsOwnSigner(request->spec().signer_name()) || !request->status().certificate().empty()) co_return sdk::ReconcileOutcome();
  bool wanted = HasTrueCondition(*request, "Approved") && !HasTrueCondition(*request, "Denied") && !HasTrueCondition(*request, "Failed");
  if (!wanted) co_return sdk::ReconcileOutcome();
  CO_TRY_ASSIGN(CertificateSubject subject, authority_.read(request->spec().request()));
  std::vector<std::string> usages = UsagesOf(*request);
  CertificateSigningRequestBuilder next{schema::Subtree(request.document())};
  auto status = next.mutable_status();
  if (auto refusal = RefusalOf(request->spec().signer_name(), subject, usages)) {
    auto condition = status.add_conditions();
    condition.set_type("Failed").set_status("True").set_reason("SignerValidationFailure").set_message(*refusal);
    condition.set_last_update_time(object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())));
  } else {
    CO_TRY_ASSIGN(std::string certificate, authority_.sign(request->spec().request(), usages, LifetimeOf(*request)));
    status.set_certificate(certificate);
  }
  auto update = client_.UpdateStatus<CertificateSigningRequest>(Request(next.Freeze()));
  Result<Request> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

// --- Approving.

CertificateApprover::CertificateApprover(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority)
    : client_(std::move(client)),
      authority_(std::move(authority)),
      requests_(informers.For<CertificateSigningRequest>()),
      controller_(runtime, {.name = "csrapproving", .workers = 1, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(requests_);
}

Task<Result<bool>> CertificateApprover::May(Request request, std::string subresource) {
  SubjectAccessReviewBuilder review;
  auto spec = review.mutable_spec();
  spec.set_user(request->spec().username()).set_uid(request->spec().uid());
  for (std::string_view group : request->spec().groups()) spec.add_groups(group);
  if (object::Value extra = request->spec().extra().Raw()) spec.set_extra(schema::Subtree(extra));
  auto attributes = spec.mutable_resource_attributes();
  attributes.set_group(kGroup).set_resource(kResource).set_verb("create").set_subresource(subresource).set_version("*");
  auto create = client_.Create<SubjectAccessReview>("", sdk::Object<SubjectAccessReview>(review.Freeze()));
  CO_TRY_ASSIGN(sdk::Object<SubjectAccessReview> answer, co_await create);
  co_return answer->status().allowed();
}

Task<Result<sdk::ReconcileOutcome>> CertificateApprover::Reconcile(std::string key) {
  Request request(requests_.Get(key));
  if (!request || request->spec().signer_name() != kKubeletClientSigner || !request->status().certificate().empty()) co_return sdk::ReconcileOutcome();
  if (HasTrueCondition(*request, "Approved") || HasTrueCondition(*request, "Denied")) co_return sdk::ReconcileOutcome();
  CO_TRY_ASSIGN(CertificateSubject subject, authority_.read(request->spec().request()));
  if (RefusalOf(kKubeletClientSigner, subject, UsagesOf(*request))) co_return sdk::ReconcileOutcome();
  std::string message;
  if (request->spec().username() == subject.common_name) {
    auto ask = May(request, "selfnodeclient");
    CO_TRY_ASSIGN(bool may, co_await ask);
    if (may) message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
  }
  if (message.empty()) {
    auto ask = May(request, "nodeclient");
    CO_TRY_ASSIGN(bool may, co_await ask);
    if (may) message = "Auto approving kubelet client certificate after SubjectAccessReview.";
  }
  if (message.empty()) co_return sdk::ReconcileOutcome();
  CertificateSigningRequestBuilder next{schema::Subtree(request.document())};
  next.mutable_status().add_conditions().set_type("Approved").set_status("True").set_reason("AutoApproved").set_message(message);
  auto update = client_.Update(CertificateSigningRequest::SchemaKind(), next.Freeze(), "approval");
  Result<object::DocumentPtr> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

// --- Cleaning.

CertificateCleaner::CertificateCleaner(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CertificateAuthority authority)
    : runtime_(runtime), client_(std::move(client)), authority_(std::move(authority)), requests_(informers.For<CertificateSigningRequest>()), group_(runtime) {}

Task<void> CertificateCleaner::Run() {
  auto sync = requests_.WaitForSync();
  co_await sync;
  while (true) {
    auto clean = Clean();
    co_await clean;
    auto pause = Sleep(runtime_, kCleanEvery);
    co_await pause;
  }
}

Task<void> CertificateCleaner::Clean() {
  for (const object::DocumentPtr& document : requests_.List()) {
    Request request(document);
    std::optional<WallTime> end;
    if (!request->status().certificate().empty()) {
      if (auto read = authority_.end_of(request->status().certificate())) end = *read;
    }
    if (!IsRequestOld(*request, end, runtime_.WallNow())) continue;
    sdk::DeleteOptions options;
    options.precondition_uid = request->metadata().uid();
    auto deletion = client_.Delete<CertificateSigningRequest>("", std::string(request->metadata().name()), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) {
      client_.options().log.Warning("Could not remove an old certificate signing request", {{"name", request->metadata().name()}, {"err", deleted.error()}});
    }
  }
}

}  // namespace homeostat::controllers
