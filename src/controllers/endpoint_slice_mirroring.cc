#include "controllers/endpoint_slice_mirroring.h"

#include <utility>

#include "controllers/answers.h"
#include "controllers/endpoint_plan.h"

namespace homeostat::controllers {

using api::core::v1::Endpoints;
using api::core::v1::Service;
using api::discovery::v1::EndpointSlice;
using object::Value;

namespace {

constexpr std::string_view kMirrorIndex = "mirrored";

// Of the Endpoints that the slice mirrors; empty if it mirrors none.
std::string MirroredKey(const Value& slice) {
  std::string_view name = sdk::meta::Labels(slice).Get(kSliceServiceLabel).AsString();
  bool ours = sdk::meta::Labels(slice).Get(kSliceManagedByLabel).AsString() == kMirrorManager;
  return name.empty() || !ours ? std::string() : std::string(sdk::meta::Namespace(slice)) + "/" + std::string(name);
}

}  // namespace

EndpointSliceMirroringController::EndpointSliceMirroringController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      endpoints_(informers.For<Endpoints>()),
      services_(informers.For<Service>()),
      slices_(informers.For<EndpointSlice>()),
      events_(runtime, client_, "endpoint-slice-mirroring-controller"),
      controller_(runtime, {.name = "endpoint_slice_mirroring", .workers = 5, .backoff = {.base = std::chrono::seconds(1)}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  slices_.AddIndex(std::string(kMirrorIndex), [](const Value& slice, std::vector<std::string>& values) {
    if (std::string key = MirroredKey(slice); !key.empty()) values.push_back(std::move(key));
  });
  controller_.Watch(endpoints_);
  controller_.Watch(services_);
  controller_.WatchMapped(slices_, [](const sdk::Change& change) {
    std::vector<std::string> keys;
    for (const object::DocumentPtr& slice : {change.previous, change.current}) {
      if (std::string key = slice ? MirroredKey(slice->root()) : std::string(); !key.empty()) keys.push_back(std::move(key));
    }
    return keys;
  });
}

Task<Result<sdk::ReconcileOutcome>> EndpointSliceMirroringController::Reconcile(std::string key) {
  if (!own_writes_.Seen(key)) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Endpoints> endpoints(endpoints_.Get(key));
  sdk::Object<Service> service(services_.Get(key));
  std::vector<object::DocumentPtr> slices = slices_.ByIndex(kMirrorIndex, key);
  bool mirrors = endpoints && service && WantsMirror(*endpoints) && !service->spec().selector().Raw();
  MirrorPlan plan;
  if (mirrors) {
    plan = PlanMirror(*endpoints, slices);
  } else {
    plan.remove = std::move(slices);
    if (!endpoints) own_writes_.Forget(key);
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
  auto write = Write(key, std::move(plan));
  CO_TRY(co_await write);
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> EndpointSliceMirroringController::Write(std::string key, MirrorPlan plan) {
  std::string ns = sdk::SplitKey(key).first;
  for (const object::DocumentPtr& slice : plan.create) {
    auto create = client_.Create<EndpointSlice>(ns, sdk::Object<EndpointSlice>(slice));
    Result<sdk::Object<EndpointSlice>> created = co_await create;
    if (!created && IsNamespaceTerminating(created.error())) co_return Done();
    if (!created) co_return Fail(created.error().WithContext("failed to create EndpointSlice for Endpoints " + key));
    own_writes_.Wrote(key, slices_, (*created)->metadata().resource_version());
  }
  for (const object::DocumentPtr& slice : plan.update) {
    auto update = client_.Update<EndpointSlice>(sdk::Object<EndpointSlice>(slice));
    CO_TRY_ASSIGN(sdk::Object<EndpointSlice> updated, co_await update);
    own_writes_.Wrote(key, slices_, updated->metadata().resource_version());
  }
  for (const object::DocumentPtr& slice : plan.remove) {
    if (sdk::meta::IsDeleting(slice->root())) continue;
    sdk::DeleteOptions options;
    options.precondition_uid = sdk::meta::Uid(slice->root());
    auto deletion = client_.Delete<EndpointSlice>(ns, std::string(sdk::meta::Name(slice->root())), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
  }
  co_return Done();
}

}  // namespace homeostat::controllers
