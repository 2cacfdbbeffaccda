#include "controllers/policy_status.h"

#include <utility>

#include "homeostat/api/admissionregistration/v1_builders.h"
#include "homeostat/object/json.h"
#include "sdk/apply.h"

namespace homeostat::controllers {

using api::admissionregistration::v1::ValidatingAdmissionPolicy;
using api::admissionregistration::v1::ValidatingAdmissionPolicyBuilder;
using object::DocumentPtr;
using object::Value;

namespace {

constexpr std::string_view kManager = "validatingadmissionpolicy-status";
constexpr size_t kLargestDocument = 32 << 20;
constexpr const char* kDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
constexpr int kWorkers = 5;

}  // namespace

ValidatingAdmissionPolicyStatusController::ValidatingAdmissionPolicyStatusController(Runtime& runtime, sdk::Client client,
                                                                                     sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      policies_(informers.For<ValidatingAdmissionPolicy>()),
      controller_(runtime, {.name = "validatingadmissionpolicy-status", .workers = kWorkers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(policies_);
}

Task<Result<DocumentPtr>> ValidatingAdmissionPolicyStatusController::Fetch(std::string path, std::string accept) {
  http::Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.headers.Set("Accept", accept);
  auto ask = client_.Raw(std::move(request));
  auto response = co_await std::move(ask);
  if (!response && response.error().IsNotFound()) co_return DocumentPtr();
  if (!response) co_return Fail(response.error());
  if (response->code == 404) co_return DocumentPtr();
  auto read = http::ReadAll(*std::move(response), kLargestDocument);
  CO_TRY_ASSIGN(Bytes body, co_await std::move(read));
  co_return object::ParseJsonDocument(body.view());
}

Task<Result<TypedKind>> ValidatingAdmissionPolicyStatusController::FindType(KindName kind, std::map<std::string, DocumentPtr>* documents) {
  if (kind.kind.empty()) co_return TypedKind{};
  std::string path = kind.group.empty() ? "api/" + kind.version : "apis/" + kind.group + "/" + kind.version;
  if (!documents->contains(path)) {
    auto fetch = Fetch("/openapi/v3/" + path, "application/json");
    CO_TRY_ASSIGN(DocumentPtr document, co_await std::move(fetch));
    documents->emplace(path, std::move(document));
  }
  const DocumentPtr& document = documents->at(path);
  if (!document) co_return TypedKind{kind, nullptr};
  // Upstream makes names unique by the time, too.
  int64_t nanos = runtime_.WallNow().time_since_epoch().count() % 1'000'000'000;
  co_return TypedKind{kind, TypeOfKind(document->root(), kind, kind.kind + std::to_string(nanos))};
}

Task<Result<sdk::ReconcileOutcome>> ValidatingAdmissionPolicyStatusController::Reconcile(std::string name) {
  sdk::Object<ValidatingAdmissionPolicy> policy = sdk::Lister<ValidatingAdmissionPolicy>(policies_).GetByKey(name);
  if (!policy || policy->metadata().generation() <= policy->status().observed_generation()) co_return sdk::ReconcileOutcome();
  Value raw = policy->Raw();
  std::vector<DocumentPtr> lists;
  std::vector<Value> discovery;
  for (const char* path : {"/api", "/apis"}) {
    auto fetch = Fetch(path, kDiscovery);
    CO_TRY_ASSIGN(DocumentPtr list, co_await std::move(fetch));
    if (!list) continue;
    for (const Value& group : list->root().Get("items").items()) discovery.push_back(group);
    lists.push_back(std::move(list));
  }
  std::map<std::string, DocumentPtr> documents;
  std::vector<TypedKind> kinds;
  for (const KindName& kind : KindsOfPolicy(raw, discovery)) {
    auto find = FindType(kind, &documents);
    CO_TRY_ASSIGN(TypedKind typed, co_await std::move(find));
    bool described = typed.type != nullptr;
    if (described) kinds.push_back(std::move(typed));
  }
  auto find = FindType(ParamKindOfPolicy(raw), &documents);
  CO_TRY_ASSIGN(TypedKind params, co_await std::move(find));

  ValidatingAdmissionPolicyBuilder applied;
  applied.mutable_metadata().set_name(name);
  auto status = applied.mutable_status();
  status.set_observed_generation(policy->metadata().generation());
  auto checking = status.mutable_type_checking();
  for (const ExpressionWarning& warning : CheckTypes(raw, kinds, params)) {
    auto item = checking.add_expression_warnings();
    item.set_field_ref(warning.field).set_warning(warning.warning);
  }
  auto apply = sdk::Apply(client_, ValidatingAdmissionPolicy::SchemaKind(), applied.Freeze(), "status", kManager);
  CO_TRY(co_await apply);
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
