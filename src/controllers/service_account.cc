#include "controllers/service_account.h"

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::Namespace;
using api::core::v1::ServiceAccount;
using api::core::v1::ServiceAccountBuilder;

namespace {

constexpr std::string_view kName = "default";

std::vector<std::string> NamespaceOf(const sdk::Change& change) {
  const object::DocumentPtr& object = change.current ? change.current : change.previous;
  return {std::string(sdk::meta::Namespace(object->root()))};
}

}  // namespace

ServiceAccountController::ServiceAccountController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      namespaces_(informers.For<Namespace>()),
      accounts_(informers.For<ServiceAccount>()),
      controller_(runtime, {.name = "serviceaccount", .workers = 1, .backoff = {}, .log = client_.options().log}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(namespaces_);
  controller_.WatchMapped(accounts_, NamespaceOf);
}

Task<Result<sdk::ReconcileOutcome>> ServiceAccountController::Reconcile(std::string ns) {
  sdk::Object<Namespace> space = sdk::Lister<Namespace>(namespaces_).GetByKey(ns);
  if (!space || space->status().phase() == "Terminating" || sdk::meta::IsDeleting(space->Raw())) co_return sdk::ReconcileOutcome();
  if (sdk::Lister<ServiceAccount>(accounts_).Get(ns, kName)) co_return sdk::ReconcileOutcome();
  ServiceAccountBuilder account;
  account.mutable_metadata().set_name(kName).set_namespace(ns);
  sdk::Object<ServiceAccount> object(account.Freeze());
  auto create = client_.Create<ServiceAccount>(ns, object);
  auto created = co_await std::move(create);
  if (!created && !created.error().IsAlreadyExists() && !created.error().IsNotFound()) co_return Fail(created.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
