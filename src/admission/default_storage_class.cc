// DefaultStorageClass: a volume claim that names no class gets the default one.
#include "admission/default_classes.h"
#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using kinds::Edit;
using object::Value;

class DefaultStorageClass : public PlainPlugin {
 public:
  explicit DefaultStorageClass(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "DefaultStorageClass"; }
  bool Handles(const Request& request) const override { return request.creates() && request.IsWhole("", "persistentvolumeclaims"); }

  Result<Value> MutateNow(const Request& request) override {
    // "" asks for no class, and the annotation of old for one.
    if (request.object.Path({"spec", "storageClassName"}) ||
        request.object.Path({"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"})) {
      return request.object;
    }
    object::DocumentPtr chosen = FindDefaultClass(objects_, "storage.k8s.io", "storageclasses",
                                                  {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"});
    if (!chosen) return request.object;
    return kinds::Edited(request.arena(), types::kPersistentVolumeClaim, request.object, [&](Edit& claim) {
      claim.In("spec", [&](Edit& spec) { spec.SetText("storageClassName", chosen->root().Path({"metadata", "name"}).AsString()); });
    });
  }

 private:
  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeDefaultStorageClass(const PluginParts& parts) { return std::make_unique<DefaultStorageClass>(parts); }

}  // namespace homeostat::admission
