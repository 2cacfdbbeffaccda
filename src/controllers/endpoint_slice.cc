#include "controllers/endpoint_slice.h"

#include <algorithm>
#include <utility>

#include "controllers/answers.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;
using api::discovery::v1::EndpointSlice;
using object::Value;

namespace {

constexpr std::string_view kServiceIndex = "service";
constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

std::string ServiceKey(const Value& slice) {
  std::string_view service = sdk::meta::Labels(slice).Get(kSliceServiceLabel).AsString();
  bool ours = sdk::meta::Labels(slice).Get(kSliceManagedByLabel).AsString() == kSliceManager;
  return service.empty() || !ours ? std::string() : std::string(sdk::meta::Namespace(slice)) + "/" + std::string(service);
}

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

EndpointSliceController::EndpointSliceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                 EndpointSliceOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      services_(informers.For<Service>()),
      pods_(informers.For<Pod>()),
      slices_(informers.For<EndpointSlice>()),
      nodes_(informers.For<Node>()),
      events_(runtime, client_, "endpoint-slice-controller"),
      controller_(runtime,
                  {.name = "endpoint_slice", .workers = options.workers, .backoff = {.base = std::chrono::seconds(1)}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  slices_.AddIndex(std::string(kServiceIndex), [](const Value& slice, std::vector<std::string>& values) {
    if (std::string key = ServiceKey(slice); !key.empty()) values.push_back(std::move(key));
  });
  controller_.WaitFor(nodes_);
  controller_.Watch(services_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return ServicesSelecting(services_, change); });
  controller_.WatchMapped(slices_, [](const sdk::Change& change) -> std::vector<std::string> {
    std::string key = ServiceKey((change.current ? change.current : change.previous)->root());
    return key.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(key)};
  });
}

WantedEndpoints EndpointSliceController::Wanted(const Service& service, bool& complete) const {
  WantedEndpoints wanted;
  auto selector = object::LabelSelector::FromMap(service.spec().selector().Raw());
  for (const object::DocumentPtr& document : pods_.List(service.metadata().namespace_())) {
    Pod pod(document->root());
    if (!selector.Matches(sdk::meta::Labels(pod.Raw())) || !BelongsInEndpoints(pod, true)) continue;
    object::DocumentPtr node = nodes_.Get(pod.spec().node_name());
    if (!node && !pod.spec().node_name().empty() && !service.spec().publish_not_ready_addresses()) {
      complete = false;
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
  if (!own_writes_.Seen(key)) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Service> service = sdk::Lister<Service>(services_).GetByKey(key);
  if (!service) {
    // Its slices are its dependents, and go with it.
    own_writes_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  bool selects = service->spec().type() != "ExternalName" && !service->spec().selector().empty();
  if (!selects || sdk::meta::IsDeleting(service->Raw())) co_return sdk::ReconcileOutcome();
  std::vector<object::DocumentPtr> slices = slices_.ByIndex(kServiceIndex, key);
  std::erase_if(slices, [](const object::DocumentPtr& slice) { return sdk::meta::IsDeleting(slice->root()); });
  bool complete = true;
  WantedEndpoints wanted = Wanted(*service, complete);
  auto write = Write(key, PlanSlices(*service, slices, wanted, AddressTypes(*service)));
  Result<void> written = co_await write;
  if (!written) {
    if (!written.error().IsConflict()) {
      events_.Record(Service::SchemaKind(), service->Raw(), "Warning", "FailedToUpdateEndpointSlices",
                     "Error updating Endpoint Slices for Service " + key + ": " + written.error().message());
    }
    co_return Fail(written.error());
  }
  if (!complete) co_return sdk::ReconcileOutcome{kRecheck};
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> EndpointSliceController::Write(std::string key, SlicePlan plan) {
  for (const object::DocumentPtr& slice : plan.create) {
    auto create = client_.Create<EndpointSlice>(std::string(sdk::meta::Namespace(slice->root())), sdk::Object<EndpointSlice>(slice));
    Result<sdk::Object<EndpointSlice>> created = co_await create;
    if (!created && IsNamespaceTerminating(created.error())) co_return Done();
    if (!created) co_return Fail(created.error());
    own_writes_.Wrote(key, slices_, (*created)->metadata().resource_version());
  }
  for (const object::DocumentPtr& slice : plan.update) {
    auto update = client_.Update<EndpointSlice>(sdk::Object<EndpointSlice>(slice));
    CO_TRY_ASSIGN(sdk::Object<EndpointSlice> updated, co_await update);
    own_writes_.Wrote(key, slices_, updated->metadata().resource_version());
  }
  for (const object::DocumentPtr& slice : plan.remove) {
    sdk::DeleteOptions options;
    options.precondition_uid = sdk::meta::Uid(slice->root());
    auto deletion = client_.Delete<EndpointSlice>(std::string(sdk::meta::Namespace(slice->root())), std::string(sdk::meta::Name(slice->root())), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
  }
  co_return Done();
}

}  // namespace homeostat::controllers
