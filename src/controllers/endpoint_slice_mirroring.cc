#include "controllers/endpoint_slice_mirroring.h"

#include <utility>

#include "controllers/endpoint_plan.h"

namespace homeostat::controllers {

using api::core::v1::Endpoints;
using api::core::v1::Service;
using api::discovery::v1::EndpointSlice;

EndpointSliceMirroringController::EndpointSliceMirroringController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      endpoints_(informers.For<Endpoints>()),
      services_(informers.For<Service>()),
      events_(runtime, client_, "endpoint-slice-mirroring-controller"),
      slices_(client_, informers.For<EndpointSlice>(), kMirrorManager, "Endpoints"),
      controller_(runtime, {.name = "endpoint_slice_mirroring", .workers = 5, .backoff = {.base = std::chrono::seconds(1)}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(endpoints_);
  controller_.Watch(services_);
  controller_.WatchMapped(informers.For<EndpointSlice>(), [this](const sdk::Change& change) { return slices_.KeysConcerned(change); });
}

Task<Result<sdk::ReconcileOutcome>> EndpointSliceMirroringController::Reconcile(std::string key) {
  auto check = slices_.IsUpToDate(key);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Endpoints> endpoints(endpoints_.Get(key));
  sdk::Object<Service> service(services_.Get(key));
  std::vector<object::DocumentPtr> slices = slices_.Of(key);
  bool mirrors = endpoints && service && WantsMirror(*endpoints) && service->spec().selector().empty();
  MirrorPlan plan;
  if (mirrors) {
    plan = PlanMirror(*endpoints, slices);
  } else {
    plan.remove = std::move(slices);
    if (!endpoints) slices_.Forget(key);
  }
  if (plan.invalid > 0) {
    events_.Record(Endpoints::SchemaKind(), endpoints->Raw(), "Warning", "InvalidIPAddress",
                   "Skipped " + std::to_string(plan.invalid) + " invalid IP addresses when mirroring to EndpointSlices");
  }
  if (plan.too_many > 0) {
    events_.Record(Endpoints::SchemaKind(), endpoints->Raw(), "Warning", "TooManyAddressesToMirror",
                   "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. " + std::to_string(plan.too_many + plan.invalid) +
                       " addresses were skipped");
  }
  if (endpoints && sdk::meta::IsDeleting(endpoints->Raw())) plan.create.clear();
  auto write = slices_.Write(key, std::move(plan));
  CO_TRY(co_await write);
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
