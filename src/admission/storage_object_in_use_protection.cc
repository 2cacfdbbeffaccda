// StorageObjectInUseProtection: volumes, claims to them and their classes stay as long as they are in use; a controller takes the
// finalizer away when they are not.
#include <algorithm>

#include "admission/plugins.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

using kinds::Edit;
using object::Value;

std::string_view FinalizerFor(const Request& request) {
  if (!request.creates()) return {};
  if (request.IsWhole("", "persistentvolumes")) return "kubernetes.io/pv-protection";
  if (request.IsWhole("", "persistentvolumeclaims")) return "kubernetes.io/pvc-protection";
  if (request.IsWhole("storage.k8s.io", "volumeattributesclasses")) return "kubernetes.io/vac-protection";
  return {};
}

class StorageObjectInUseProtection : public PlainPlugin {
 public:
  std::string_view name() const override { return "StorageObjectInUseProtection"; }
  bool Handles(const Request& request) const override { return !FinalizerFor(request).empty(); }

  Result<Value> MutateNow(const Request& request) override {
    std::string_view finalizer = FinalizerFor(request);
    return kinds::Edited(request.arena(), *request.kind.type, request.object, [&](Edit& object) {
      object.In("metadata", [&](Edit& metadata) {
        Value finalizers = metadata.Get("finalizers");
        if (std::ranges::any_of(finalizers.items(), [&](const Value& known) { return known.AsString() == finalizer; })) return;
        object::ListBuilder more(metadata.arena(), finalizers);
        more.Append(Value::StringRef(finalizer));
        metadata.Set("finalizers", more.Build());
      });
    });
  }
};

}  // namespace

std::unique_ptr<Plugin> MakeStorageObjectInUseProtection(const PluginParts&) { return std::make_unique<StorageObjectInUseProtection>(); }

}  // namespace homeostat::admission
