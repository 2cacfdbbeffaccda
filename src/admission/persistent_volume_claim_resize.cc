// PersistentVolumeClaimResize: a claim may grow only when it is bound and its class can expand volumes.
#include "admission/plugins.h"
#include "homeostat/object/quantity.h"

namespace homeostat::admission {
namespace {

using object::Quantity;
using object::Value;

Quantity SizeOf(const Value& claim) {
  auto size = Quantity::Parse(claim.Path({"spec", "resources", "requests", "storage"}).AsString());
  return size ? *size : Quantity();
}

std::string_view ClassOf(const Value& claim) {
  Value annotation = claim.Path({"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
  return annotation ? annotation.AsString() : claim.Path({"spec", "storageClassName"}).AsString();
}

class PersistentVolumeClaimResize : public PlainPlugin {
 public:
  explicit PersistentVolumeClaimResize(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "PersistentVolumeClaimResize"; }
  bool Handles(const Request& request) const override { return request.updates() && request.IsWhole("", "persistentvolumeclaims"); }

  Result<void> ValidateNow(const Request& request) override {
    if (SizeOf(request.object) <= SizeOf(request.old_object)) return {};
    if (request.old_object.Path({"status", "phase"}).AsString() != "Bound") {
      return Fail(Forbid(request, "Only bound persistent volume claims can be expanded"));
    }
    if (CanGrow(request)) return {};
    return Fail(Forbid(request, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"));
  }

 private:
  bool CanGrow(const Request& request) const {
    std::string_view storage_class = ClassOf(request.object);
    if (storage_class.empty() || storage_class != ClassOf(request.old_object)) return false;
    object::DocumentPtr document = objects_.Get("storage.k8s.io", "storageclasses", "", storage_class);
    return document && document->root().Get("allowVolumeExpansion").AsBool();
  }

  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakePersistentVolumeClaimResize(const PluginParts& parts) { return std::make_unique<PersistentVolumeClaimResize>(parts); }

}  // namespace homeostat::admission
