// DefaultIngressClass: an Ingress that names no class gets the default one.
#include "admission/default_classes.h"
#include "admission/plugins.h"
#include "homeostat/api/networking/v1.h"
#include "kinds/edit.h"

namespace homeostat::admission {
namespace {

namespace types = api::networking::v1::types;
using kinds::Edit;
using object::Value;

class DefaultIngressClass : public PlainPlugin {
 public:
  explicit DefaultIngressClass(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "DefaultIngressClass"; }
  bool Handles(const Request& request) const override { return request.creates() && request.IsWhole("networking.k8s.io", "ingresses"); }

  Result<Value> MutateNow(const Request& request) override {
    if (request.object.Path({"spec", "ingressClassName"}) ||
        request.object.Path({"metadata", "annotations", "kubernetes.io/ingress.class"})) {
      return request.object;
    }
    object::DocumentPtr chosen =
        FindDefaultClass(objects_, "networking.k8s.io", "ingressclasses", {"ingressclass.kubernetes.io/is-default-class"});
    if (!chosen) return request.object;
    return kinds::Edited(request.arena(), types::kIngress, request.object, [&](Edit& ingress) {
      ingress.In("spec", [&](Edit& spec) { spec.SetText("ingressClassName", chosen->root().Path({"metadata", "name"}).AsString()); });
    });
  }

 private:
  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeDefaultIngressClass(const PluginParts& parts) { return std::make_unique<DefaultIngressClass>(parts); }

}  // namespace homeostat::admission
