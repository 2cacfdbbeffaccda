#include "controllers/endpoint_slice.h"

#include <algorithm>
#include <utility>

#include "homeostat/base/go_text.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;
using api::discovery::v1::EndpointSlice;
using object::Value;

namespace {

constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

}  // namespace

std::vector<std::string> ServicesSelecting(const sdk::Informer& services, const sdk::Change& change) {
  std::vector<std::string> keys;
  const Value& object = (change.current ? change.current : change.previous)->root();
  for (const object::DocumentPtr& service : services.List(sdk::meta::Namespace(object))) {
    Value selector = Service(service->root()).spec().selector().Raw();
    if (selector.empty()) continue;
    auto wanted = object::LabelSelector::FromMap(selector);
    bool selects = (change.current && wanted.Matches(sdk::meta::Labels(change.current->root()))) ||
                   (change.previous && wanted.Matches(sdk::meta::Labels(change.previous->root())));
    if (selects) keys.push_back(sdk::meta::Key(service->root()));
  }
  return keys;
}

std::vector<object::DocumentPtr> PodsSelected(const sdk::Informer& pods, const Service& service) {
  auto selector = object::LabelSelector::FromMap(service.spec().selector().Raw());
  std::vector<object::DocumentPtr> selected = pods.List(service.metadata().namespace_());
  std::erase_if(selected, [&](const object::DocumentPtr& pod) { return !selector.Matches(sdk::meta::Labels(pod->root())); });
  return selected;
}

EndpointSliceController::EndpointSliceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                 EndpointSliceOptions options)
    : client_(std::move(client)),
      services_(informers.For<Service>()),
      pods_(informers.For<Pod>()),
      nodes_(informers.For<Node>()),
      events_(runtime, client_, "endpoint-slice-controller"),
      slices_(client_, informers.For<EndpointSlice>(), kSliceManager, "Service"),
      controller_(runtime,
                  {.name = "endpoint_slice", .workers = options.workers, .backoff = {.base = std::chrono::seconds(1)}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.WaitFor(nodes_);
  controller_.Watch(services_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return ServicesSelecting(services_, change); });
  controller_.WatchMapped(informers.For<EndpointSlice>(), [this](const sdk::Change& change) { return slices_.KeysConcerned(change); });
}

WantedEndpoints EndpointSliceController::Wanted(const Service& service, const std::vector<object::DocumentPtr>& pods,
                                                std::vector<std::string>& skipped) const {
  WantedEndpoints wanted;
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    if (!BelongsInEndpoints(pod, true)) continue;
    object::DocumentPtr node = nodes_.Get(pod.spec().node_name());
    if (!node && !service.spec().publish_not_ready_addresses()) {
      skipped.push_back("skipping Pod " + std::string(pod.metadata().name()) + " for Service " + sdk::meta::Key(service.Raw()) + ": Node " +
                        std::string(pod.spec().node_name()) + " Not Found");
      continue;
    }
    std::string_view zone = node ? sdk::meta::Labels(node->root()).Get(kZoneLabel).AsString() : std::string_view();
    for (const std::string& type : AddressTypes(service)) {
      PlannedEndpoint endpoint = EndpointOf(service, pod, type, zone);
      if (!endpoint.address.empty()) wanted[{type, PortsOf(service, pod)}].push_back(std::move(endpoint));
    }
  }
  return wanted;
}

Task<Result<sdk::ReconcileOutcome>> EndpointSliceController::Reconcile(std::string key) {
  if (!services_.Get(key)) {
    // Its slices are its dependents, and go with it.
    slices_.Forget(key);
    trigger_times_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  auto check = slices_.IsUpToDate(key);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Service> service(services_.Get(key));
  if (!service || service->spec().type() == "ExternalName" || service->spec().selector().empty()) co_return sdk::ReconcileOutcome();
  std::vector<object::DocumentPtr> slices = slices_.Of(key);
  std::erase_if(slices, [](const object::DocumentPtr& slice) { return sdk::meta::IsDeleting(slice->root()); });
  std::vector<object::DocumentPtr> pods = PodsSelected(pods_, *service);
  std::string changed = trigger_times_.Next(key, *service, pods);
  std::vector<std::string> faults;
  SlicePlan plan = PlanSlices(*service, slices, Wanted(*service, pods, faults), AddressTypes(*service), changed);
  // The garbage collector removes what this would make again.
  if (sdk::meta::IsDeleting(service->Raw())) plan.create.clear();
  auto write = slices_.Write(key, std::move(plan));
  Result<void> written = co_await write;
  if (!written) faults.push_back(written.error().message());
  if (faults.empty()) co_return sdk::ReconcileOutcome();
  std::string message = AggregateText(faults);
  events_.Record(Service::SchemaKind(), service->Raw(), "Warning", "FailedToUpdateEndpointSlices",
                 "Error updating Endpoint Slices for Service " + key + ": " + message);
  co_return Fail(written ? SystemError(std::move(message)) : written.error());
}

}  // namespace homeostat::controllers
