#include "controllers/endpoints.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "controllers/answers.h"
#include "controllers/endpoint_plan.h"
#include "controllers/endpoint_slice.h"
#include "controllers/pods.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::Endpoints;
using api::core::v1::EndpointsBuilder;
using api::core::v1::Pod;
using api::core::v1::Service;

namespace {

constexpr size_t kMostAddresses = 1000;
constexpr std::string_view kManagedBy = "endpoints.kubernetes.io/managed-by";
constexpr std::string_view kManager = "endpoint-controller";
constexpr std::string_view kOverCapacity = "endpoints.kubernetes.io/over-capacity";

struct Address {
  std::string ip;
  object::DocumentPtr pod;
  bool ready = false;
};
// Addresses by the ports they have; each group is a subset.
using Subsets = std::map<std::vector<PlannedPort>, std::vector<Address>>;

Subsets SubsetsOf(const Service& service, const std::vector<object::DocumentPtr>& pods) {
  bool publish = service.spec().publish_not_ready_addresses();
  std::string type = AddressTypes(service).front();
  Subsets subsets;
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    if (!BelongsInEndpoints(pod, publish)) continue;
    std::string ip = AddressOf(pod, type);
    std::vector<PlannedPort> ports = PortsOf(service, pod);
    bool without_ports = service.spec().ports().empty() && service.spec().cluster_ip() == "None";
    if (ip.empty() || (ports.empty() && !without_ports)) continue;
    subsets[std::move(ports)].push_back({std::move(ip), document, publish || IsPodReady(pod)});
  }
  for (auto& [ports, addresses] : subsets) {
    std::ranges::sort(addresses, {}, [](const Address& address) { return std::tuple(address.ip, sdk::meta::Uid(address.pod->root())); });
  }
  return subsets;
}

// Drops what is too much, those that are not ready first. Says whether there was too much.
bool Truncate(Subsets& subsets) {
  size_t total = 0;
  for (const auto& [ports, addresses] : subsets) total += addresses.size();
  bool truncated = total > kMostAddresses;
  for (bool ready : {false, true}) {
    for (auto& [ports, addresses] : subsets) {
      while (total > kMostAddresses) {
        auto last = std::find_if(addresses.rbegin(), addresses.rend(), [&](const Address& address) { return address.ready == ready; });
        if (last == addresses.rend()) break;
        addresses.erase(std::next(last).base());
        --total;
      }
    }
  }
  return truncated;
}

void WriteSubset(EndpointsBuilder& endpoints, const Service& service, const std::vector<PlannedPort>& ports, const std::vector<Address>& addresses) {
  auto subset = endpoints.add_subsets();
  for (const Address& address : addresses) {
    Pod pod(address.pod->root());
    auto target = address.ready ? subset.add_addresses() : subset.add_not_ready_addresses();
    target.set_ip(address.ip);
    if (HasHostname(pod, service)) target.set_hostname(pod.spec().hostname());
    if (!pod.spec().node_name().empty()) target.set_node_name(pod.spec().node_name());
    target.mutable_target_ref().set_kind("Pod").set_namespace(pod.metadata().namespace_()).set_name(pod.metadata().name()).set_uid(pod.metadata().uid());
  }
  for (const PlannedPort& port : ports) {
    auto target = subset.add_ports();
    target.set_name(port.name).set_port(port.port).set_protocol(port.protocol);
    if (port.app_protocol) target.set_app_protocol(*port.app_protocol);
  }
}

}  // namespace

EndpointsController::EndpointsController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, EndpointsOptions options)
    : client_(std::move(client)),
      services_(informers.For<Service>()),
      pods_(informers.For<Pod>()),
      endpoints_(informers.For<Endpoints>()),
      events_(runtime, client_, "endpoint-controller"),
      controller_(runtime,
                  {.name = "endpoint", .workers = options.workers, .backoff = {.base = std::chrono::seconds(1)}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  services_.AddHandler([this](const sdk::Change& change) {
    if (!change.current) without_service_.insert(sdk::meta::Key(change.previous->root()));
  });
  controller_.Watch(services_);
  controller_.Watch(endpoints_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return ServicesSelecting(services_, change); });
}

object::DocumentPtr EndpointsController::Wanted(const Service& service, const std::vector<object::DocumentPtr>& pods,
                                                const object::DocumentPtr& current, std::string_view changed) const {
  EndpointsBuilder endpoints;
  if (current) endpoints = EndpointsBuilder(schema::Subtree(current));
  auto metadata = endpoints.mutable_metadata();
  metadata.set_name(service.metadata().name()).set_namespace(service.metadata().namespace_());
  metadata.clear_labels().set_labels(schema::Subtree(service.metadata().labels()));
  metadata.erase_labels(kHeadlessLabel);
  if (!HasClusterAddress(service)) metadata.set_labels(kHeadlessLabel, "");
  metadata.set_labels(kManagedBy, kManager);
  SetTriggerTime(metadata, changed);
  Subsets subsets = SubsetsOf(service, pods);
  if (Truncate(subsets)) {
    metadata.set_annotations(kOverCapacity, "truncated");
  } else if (metadata.View().annotations().contains(kOverCapacity)) {
    metadata.erase_annotations(kOverCapacity);
  }
  endpoints.clear_subsets();
  for (const auto& [ports, addresses] : subsets) WriteSubset(endpoints, service, ports, addresses);
  return endpoints.Freeze();
}

Task<Result<sdk::ReconcileOutcome>> EndpointsController::Remove(std::string key) {
  own_writes_.Forget(key);
  trigger_times_.Forget(key);
  object::DocumentPtr current = endpoints_.Get(key);
  // Endpoints by hand go too, when their Service does; those that never had one stay. Of what went while nobody looked, the label
  // tells.
  bool ours = current && sdk::meta::Labels(current->root()).Get(kManagedBy).AsString() == kManager;
  if (ours || (current && without_service_.contains(key))) {
    auto [ns, name] = sdk::SplitKey(key);
    sdk::DeleteOptions options;
    options.precondition_uid = sdk::meta::Uid(current->root());
    auto deletion = client_.Delete<Endpoints>(ns, name, options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return Fail(deleted.error());
  }
  without_service_.erase(key);
  co_return sdk::ReconcileOutcome();
}

Task<Result<sdk::ReconcileOutcome>> EndpointsController::Reconcile(std::string key) {
  if (!services_.Get(key)) {
    auto remove = Remove(key);
    co_return co_await remove;
  }
  without_service_.erase(key);
  auto check = own_writes_.IsUpToDate(key, std::string(sdk::SplitKey(key).first), client_);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Service> service(services_.Get(key));
  if (!service || service->spec().type() == "ExternalName" || service->spec().selector().empty()) co_return sdk::ReconcileOutcome();
  object::DocumentPtr current = endpoints_.Get(key);
  std::vector<object::DocumentPtr> pods = PodsSelected(pods_, *service);
  sdk::Object<Endpoints> wanted(Wanted(*service, pods, current, trigger_times_.Next(key, *service, pods)));
  auto is_truncated = [](const object::DocumentPtr& endpoints) { return sdk::meta::Annotations(endpoints->root()).Get(kOverCapacity).AsString() == "truncated"; };
  bool same = current && object::Equal(current->root().Get("subsets"), wanted->Raw().Get("subsets")) &&
              object::Equal(sdk::meta::Labels(current->root()), sdk::meta::Labels(wanted->Raw())) && is_truncated(current) == is_truncated(wanted.document());
  if (same) co_return sdk::ReconcileOutcome();
  auto write = current ? client_.Update<Endpoints>(wanted) : client_.Create<Endpoints>(std::string(service->metadata().namespace_()), wanted);
  Result<sdk::Object<Endpoints>> written = co_await write;
  own_writes_.Note(key, endpoints_, written);
  if (written || (!current && IsNamespaceTerminating(written.error()))) co_return sdk::ReconcileOutcome();
  events_.Record(Endpoints::SchemaKind(), wanted->Raw(), "Warning", current ? "FailedToUpdateEndpoint" : "FailedToCreateEndpoint",
                 (current ? "Failed to update endpoint " : "Failed to create endpoint for service ") + key + ": " + written.error().message());
  co_return Fail(written.error());
}

}  // namespace homeostat::controllers
