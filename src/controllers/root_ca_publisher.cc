#include "controllers/root_ca_publisher.h"

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::ConfigMap;
using api::core::v1::ConfigMapBuilder;
using api::core::v1::Namespace;

namespace {

constexpr std::string_view kName = "kube-root-ca.crt";
constexpr std::string_view kKey = "ca.crt";
constexpr std::string_view kDescriptionKey = "kubernetes.io/description";
// Clients see it, so it is upstream's to the letter.
constexpr std::string_view kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service "
    "IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

std::vector<std::string> NamespaceOf(const sdk::Change& change) {
  return {std::string(sdk::meta::Namespace((change.current ? change.current : change.previous)->root()))};
}

// Only the maps of that name: the others, which may be large, are of no interest.
sdk::InformerOptions OwnMaps() {
  sdk::InformerOptions options;
  options.managed_fields = false;
  options.field_selector = "metadata.name=" + std::string(kName);
  return options;
}

}  // namespace

RootCaPublisher::RootCaPublisher(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, std::string authority)
    : client_(std::move(client)),
      authority_(std::move(authority)),
      namespaces_(informers.For<Namespace>()),
      maps_(informers.For(ConfigMap::SchemaKind(), OwnMaps())),
      controller_(runtime, {.name = "root-ca-certificate-publisher", .workers = 1, .backoff = {}, .log = client_.options().log}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(namespaces_);
  controller_.WatchMapped(maps_, NamespaceOf);
}

object::DocumentPtr RootCaPublisher::Wanted(const std::string& ns, const object::DocumentPtr& current) const {
  ConfigMapBuilder map;
  if (current) map = ConfigMapBuilder(schema::Subtree(current));
  map.mutable_metadata().set_name(kName).set_namespace(ns).set_annotations(kDescriptionKey, kDescription);
  map.clear_data().set_data(kKey, authority_);
  return map.Freeze();
}

Task<Result<sdk::ReconcileOutcome>> RootCaPublisher::Reconcile(std::string ns) {
  sdk::Object<Namespace> space = sdk::Lister<Namespace>(namespaces_).GetByKey(ns);
  if (!space || space->status().phase() == "Terminating" || sdk::meta::IsDeleting(space->Raw())) co_return sdk::ReconcileOutcome();
  sdk::Object<ConfigMap> current = sdk::Lister<ConfigMap>(maps_).Get(ns, kName);
  if (current && current->data().size() == 1 && current->data().Get(kKey) == authority_) co_return sdk::ReconcileOutcome();
  sdk::Object<ConfigMap> wanted(Wanted(ns, current.document()));
  auto write = current ? client_.Update<ConfigMap>(wanted) : client_.Create<ConfigMap>(ns, wanted);
  auto written = co_await std::move(write);
  if (!written && !written.error().IsAlreadyExists() && !written.error().IsNotFound()) co_return Fail(written.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
