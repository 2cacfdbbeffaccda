#include "controllers/kept_slices.h"

#include <utility>

#include "controllers/answers.h"

namespace homeostat::controllers {

using api::discovery::v1::EndpointSlice;
using object::Value;

namespace {

// Empty if that manager keeps none for anything.
std::string KeyOf(const Value& slice, std::string_view manager) {
  Value labels = sdk::meta::Labels(slice);
  std::string_view name = labels.Get(kSliceServiceLabel).AsString();
  if (name.empty() || labels.Get(kSliceManagedByLabel).AsString() != manager) return {};
  return std::string(sdk::meta::Namespace(slice)) + "/" + std::string(name);
}

}  // namespace

KeptSlices::KeptSlices(sdk::Client client, sdk::Informer& slices, std::string_view manager, std::string_view owner)
    : client_(std::move(client)), slices_(slices), manager_(manager), owner_(owner) {
  slices_.AddIndex(manager_, [manager = manager_](const Value& slice, std::vector<std::string>& values) {
    if (std::string key = KeyOf(slice, manager); !key.empty()) values.push_back(std::move(key));
  });
}

std::vector<std::string> KeptSlices::KeysConcerned(const sdk::Change& change) const {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& slice : {change.previous, change.current}) {
    if (std::string key = slice ? KeyOf(slice->root(), manager_) : std::string(); !key.empty()) keys.push_back(std::move(key));
  }
  return keys;
}

Task<Result<bool>> KeptSlices::IsUpToDate(std::string key) {
  auto look = own_writes_.IsUpToDate(key, std::string(sdk::SplitKey(key).first), client_);
  co_return co_await look;
}

Status KeptSlices::Fault(const std::string& key, std::string_view doing, const Status& error) const {
  return error.WithContext("failed to " + std::string(doing) + " EndpointSlice for " + owner_ + " " + key);
}

Task<Result<void>> KeptSlices::Write(std::string key, SlicePlan plan) {
  std::string ns(sdk::SplitKey(key).first);
  for (const object::DocumentPtr& slice : plan.create) {
    auto create = client_.Create<EndpointSlice>(ns, sdk::Object<EndpointSlice>(slice));
    Result<sdk::Object<EndpointSlice>> created = co_await create;
    own_writes_.Note(key, slices_, created);
    if (!created && IsNamespaceTerminating(created.error())) co_return Done();
    if (!created) co_return Fail(Fault(key, "create", created.error()));
  }
  for (const object::DocumentPtr& slice : plan.update) {
    auto update = client_.Update<EndpointSlice>(sdk::Object<EndpointSlice>(slice));
    Result<sdk::Object<EndpointSlice>> updated = co_await update;
    own_writes_.Note(key, slices_, updated);
    if (!updated) co_return Fail(Fault(key, "update " + std::string(sdk::meta::Name(slice->root())), updated.error()));
  }
  for (const object::DocumentPtr& slice : plan.remove) {
    if (sdk::meta::IsDeleting(slice->root())) continue;
    std::string name(sdk::meta::Name(slice->root()));
    sdk::DeleteOptions options;
    options.precondition_uid = sdk::meta::Uid(slice->root());
    auto deletion = client_.Delete<EndpointSlice>(ns, name, options);
    Result<void> deleted = co_await deletion;
    bool gone = deleted || deleted.error().IsNotFound() || deleted.error().IsConflict();
    if (!gone) co_return Fail(Fault(key, "delete " + name, deleted.error()));
  }
  co_return Done();
}

}  // namespace homeostat::controllers
