#include "controllers/endpoint_slice.h"

#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/api/discovery/v1_builders.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::core::v1::Endpoints;
using api::core::v1::EndpointsBuilder;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::EndpointSlice;
using api::discovery::v1::EndpointSliceBuilder;
using object::Value;

namespace {

constexpr size_t kEndpointsPerSlice = 100;
constexpr std::string_view kManagedBy = "endpointslice-controller.k8s.io";
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";
constexpr std::string_view kManagedByLabel = "endpointslice.kubernetes.io/managed-by";

bool IsReady(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

bool HasEnded(const Pod& pod) { return pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed"; }

// The number of a service's port on this pod; 0 if a named one is not there.
int32_t TargetPort(const ServicePort& port, const Pod& pod) {
  Value target = port.target_port();
  if (target.IsInt() && target.AsInt() != 0) return static_cast<int32_t>(target.AsInt());
  if (!target.IsString() || target.AsString().empty()) return port.port();
  for (auto container : pod.spec().containers()) {
    for (auto open : container.ports()) {
      if (open.name() == target.AsString() && open.protocol() == port.protocol()) return open.container_port();
    }
  }
  return 0;
}

// Pods that can be addressed, in order of their names.
std::vector<object::DocumentPtr> Addressable(const Service& service, const sdk::Informer& pods) {
  std::vector<object::DocumentPtr> chosen;
  auto selector = object::LabelSelector::FromMap(service.spec().Raw().Get("selector"));
  for (const object::DocumentPtr& document : pods.List(service.metadata().namespace_())) {
    Pod pod(document->root());
    if (!selector.Matches(pod.metadata().Raw().Get("labels"))) continue;
    if (pod.status().pod_ip().empty() || pod.spec().node_name().empty() || HasEnded(pod)) continue;
    chosen.push_back(document);
  }
  std::ranges::sort(chosen, {}, [](const object::DocumentPtr& d) { return sdk::meta::Name(d->root()); });
  return chosen;
}

void AddPort(api::discovery::v1::EndpointPortBuilder target, const ServicePort& port, int32_t number) {
  target.set_name(port.name()).set_protocol(port.protocol().empty() ? "TCP" : port.protocol()).set_port(number);
  if (!port.app_protocol().empty()) target.set_app_protocol(port.app_protocol());
}

void AddEndpoint(EndpointSliceBuilder& slice, const Service& service, const Pod& pod, std::string_view zone) {
  auto endpoint = slice.add_endpoints();
  endpoint.add_addresses(pod.status().pod_ip());
  bool terminating = sdk::meta::IsDeleting(pod.Raw()), ready = IsReady(pod);
  auto conditions = endpoint.mutable_conditions();
  conditions.set_ready((ready && !terminating) || service.spec().publish_not_ready_addresses());
  conditions.set_serving(ready);
  conditions.set_terminating(terminating);
  endpoint.set_node_name(pod.spec().node_name());
  if (!zone.empty()) endpoint.set_zone(zone);
  if (!pod.spec().hostname().empty() && pod.spec().subdomain() == service.metadata().name()) endpoint.set_hostname(pod.spec().hostname());
  auto target = endpoint.mutable_target_ref();
  target.set_kind("Pod").set_namespace(pod.metadata().namespace_()).set_name(pod.metadata().name()).set_uid(pod.metadata().uid());
}

// Everything of a slice that the controller decides, to tell whether it must be written.
bool SameContent(const EndpointSlice& a, const EndpointSlice& b) {
  return object::Equal(a.Raw().Get("endpoints"), b.Raw().Get("endpoints")) &&
         object::Equal(a.Raw().Get("ports"), b.Raw().Get("ports")) &&
         object::Equal(a.metadata().Raw().Get("labels"), b.metadata().Raw().Get("labels"));
}

EndpointSliceBuilder NewSlice(const Service& service) {
  EndpointSliceBuilder slice;
  auto metadata = slice.mutable_metadata();
  metadata.set_generate_name(std::string(service.metadata().name()) + "-").set_namespace(service.metadata().namespace_());
  for (auto [key, value] : service.metadata().labels()) metadata.set_labels(key, value);
  if (service.spec().cluster_ip() == "None") metadata.set_labels("service.kubernetes.io/headless", "");
  metadata.set_labels(kServiceLabel, service.metadata().name()).set_labels(kManagedByLabel, kManagedBy);
  auto owner = metadata.add_owner_references();
  owner.set_api_version("v1").set_kind("Service").set_name(service.metadata().name()).set_uid(service.metadata().uid());
  owner.set_controller(true).set_block_owner_deletion(true);
  slice.set_address_type("IPv4");
  return slice;
}

}  // namespace

EndpointSliceController::EndpointSliceController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      services_(informers.For<Service>()),
      pods_(informers.For<Pod>()),
      slices_(informers.For<EndpointSlice>()),
      endpoints_(informers.For<Endpoints>()),
      nodes_(informers.For<Node>()),
      controller_(runtime, {.name = "endpointslice"}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(services_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return ServicesOf(change); });
  controller_.WatchMapped(slices_, [](const sdk::Change& change) -> std::vector<std::string> {
    const object::DocumentPtr& object = change.current ? change.current : change.previous;
    std::string_view service = sdk::meta::Labels(object->root()).Get(kServiceLabel).AsString();
    if (service.empty()) return {};
    return {std::string(sdk::meta::Namespace(object->root())) + "/" + std::string(service)};
  });
}

std::vector<std::string> EndpointSliceController::ServicesOf(const sdk::Change& change) const {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& pod : {change.previous, change.current}) {
    if (!pod) continue;
    for (const object::DocumentPtr& document : services_.List(sdk::meta::Namespace(pod->root()))) {
      Value selector = Service(document->root()).spec().Raw().Get("selector");
      if (selector.empty()) continue;
      if (object::LabelSelector::FromMap(selector).Matches(sdk::meta::Labels(pod->root()))) keys.push_back(sdk::meta::Key(document->root()));
    }
  }
  return keys;
}

Task<Result<void>> EndpointSliceController::RemoveSlices(std::string ns, std::string service, size_t keep) {
  std::vector<object::DocumentPtr> own;
  for (const object::DocumentPtr& slice : slices_.List(ns)) {
    Value labels = sdk::meta::Labels(slice->root());
    if (labels.Get(kServiceLabel).AsString() == service && labels.Get(kManagedByLabel).AsString() == kManagedBy) own.push_back(slice);
  }
  std::ranges::sort(own, {}, [](const object::DocumentPtr& d) { return sdk::meta::Name(d->root()); });
  for (size_t i = keep; i < own.size(); ++i) {
    auto deletion = client_.Delete<EndpointSlice>(ns, std::string(sdk::meta::Name(own[i]->root())));
    auto deleted = co_await std::move(deletion);
    if (!deleted && !deleted.error().IsNotFound()) co_return Fail(deleted.error());
  }
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> EndpointSliceController::Reconcile(std::string key) {
  auto [ns, name] = sdk::SplitKey(key);
  sdk::Object<Service> service = sdk::Lister<Service>(services_).GetByKey(key);
  bool selects = service && !service->spec().Raw().Get("selector").empty() && service->spec().type() != "ExternalName";
  if (!service || sdk::meta::IsDeleting(service->Raw())) {
    auto remove = RemoveSlices(ns, name, 0);
    CO_TRY(co_await std::move(remove));
    co_return sdk::ReconcileOutcome();
  }
  if (!selects) co_return sdk::ReconcileOutcome();

  std::vector<object::DocumentPtr> pods = Addressable(*service, pods_);
  std::vector<object::DocumentPtr> own;
  for (const object::DocumentPtr& slice : slices_.List(ns)) {
    Value labels = sdk::meta::Labels(slice->root());
    if (labels.Get(kServiceLabel).AsString() == name && labels.Get(kManagedByLabel).AsString() == kManagedBy) own.push_back(slice);
  }
  std::ranges::sort(own, {}, [](const object::DocumentPtr& d) { return sdk::meta::Name(d->root()); });

  size_t count = std::max<size_t>(1, (pods.size() + kEndpointsPerSlice - 1) / kEndpointsPerSlice);
  for (size_t i = 0; i < count; ++i) {
    EndpointSliceBuilder slice = NewSlice(*service);
    size_t begin = i * kEndpointsPerSlice, end = std::min(pods.size(), begin + kEndpointsPerSlice);
    for (ServicePort port : service->spec().ports()) {
      int32_t number = begin < end ? TargetPort(port, Pod(pods[begin]->root())) : 0;
      if (number != 0) AddPort(slice.add_ports(), port, number);
    }
    for (size_t p = begin; p < end; ++p) {
      Pod pod(pods[p]->root());
      object::DocumentPtr node = nodes_.Get(pod.spec().node_name());
      std::string zone(node ? sdk::meta::Labels(node->root()).Get("topology.kubernetes.io/zone").AsString() : "");
      AddEndpoint(slice, *service, pod, zone);
    }
    if (i < own.size()) {
      EndpointSlice before(own[i]->root());
      slice.mutable_metadata().clear_generate_name().set_name(before.metadata().name()).set_resource_version(before.metadata().resource_version());
      sdk::Object<EndpointSlice> next(slice.Freeze());
      if (SameContent(before, *next)) continue;
      auto update = client_.Update<EndpointSlice>(next);
      CO_TRY(co_await std::move(update));
    } else {
      auto create = client_.Create<EndpointSlice>(ns, sdk::Object<EndpointSlice>(slice.Freeze()));
      auto created = co_await std::move(create);
      if (!created && !created.error().IsNotFound()) co_return Fail(created.error());
    }
  }
  auto remove = RemoveSlices(ns, name, count);
  CO_TRY(co_await std::move(remove));
  auto endpoints = WriteEndpoints(service.document(), std::move(pods));
  CO_TRY(co_await std::move(endpoints));
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> EndpointSliceController::WriteEndpoints(object::DocumentPtr document, std::vector<object::DocumentPtr> pods) {
  Service service(document->root());
  std::string ns(service.metadata().namespace_()), name(service.metadata().name());
  EndpointsBuilder endpoints;
  auto metadata = endpoints.mutable_metadata();
  metadata.set_name(name).set_namespace(ns);
  for (auto [key, value] : service.metadata().labels()) metadata.set_labels(key, value);
  metadata.set_labels("endpoints.kubernetes.io/managed-by", "endpoint-controller");
  if (!pods.empty()) {
    auto subset = endpoints.add_subsets();
    for (const object::DocumentPtr& one : pods) {
      Pod pod(one->root());
      bool ready = (IsReady(pod) && !sdk::meta::IsDeleting(pod.Raw())) || service.spec().publish_not_ready_addresses();
      auto address = ready ? subset.add_addresses() : subset.add_not_ready_addresses();
      address.set_ip(pod.status().pod_ip()).set_node_name(pod.spec().node_name());
      address.mutable_target_ref().set_kind("Pod").set_namespace(ns).set_name(pod.metadata().name()).set_uid(pod.metadata().uid());
    }
    for (ServicePort port : service.spec().ports()) {
      int32_t number = TargetPort(port, Pod(pods.front()->root()));
      if (number == 0) continue;
      auto target = subset.add_ports();
      target.set_port(number).set_protocol(port.protocol().empty() ? "TCP" : port.protocol());
      if (!port.name().empty()) target.set_name(port.name());
    }
  }
  sdk::Object<Endpoints> before = sdk::Lister<Endpoints>(endpoints_).Get(ns, name);
  sdk::Object<Endpoints> next(endpoints.Freeze());
  if (before && object::Equal(before->Raw().Get("subsets"), next->Raw().Get("subsets")) &&
      object::Equal(sdk::meta::Labels(before->Raw()), sdk::meta::Labels(next->Raw()))) {
    co_return Done();
  }
  auto write = before ? client_.Update<Endpoints>(next) : client_.Create<Endpoints>(ns, next);
  auto written = co_await std::move(write);
  if (!written && !written.error().IsAlreadyExists() && !written.error().IsNotFound()) co_return Fail(written.error());
  co_return Done();
}

}  // namespace homeostat::controllers
