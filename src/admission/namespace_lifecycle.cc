// NamespaceLifecycle: nothing is created in a namespace that is not there or is going; the namespaces the cluster lives
// in can't be deleted.
// Source of the rules and texts: apiserver's admission/plugin/namespace/lifecycle.
#include "admission/plugins.h"

namespace homeostat::admission {
namespace {

using object::Value;

class NamespaceLifecycle : public PlainPlugin {
 public:
  explicit NamespaceLifecycle(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "NamespaceLifecycle"; }

  bool Handles(const Request& request) const override { return request.operation != Operation::kConnect; }

  Result<Value> MutateNow(const Request& request) override {
    if (request.operation == Operation::kDelete) TRY(CheckDelete(request));
    else TRY(CheckWrite(request));
    return request.object;
  }

 private:
  static Result<void> CheckDelete(const Request& request) {
    if (!request.Is("", "namespaces")) return {};
    for (std::string_view kept : {"default", "kube-system", "kube-public"}) {
      if (request.name == kept) return Fail(ForbiddenError("", "namespaces", request.name, "this namespace may not be deleted"));
    }
    return {};
  }

  Result<void> CheckWrite(const Request& request) const {
    // Whether a namespace exists is not to be learnt by asking what one may do in it.
    bool review = request.Is("authorization.k8s.io", "localsubjectaccessreviews");
    if (request.ns.empty() || request.Is("", "namespaces") || review) return {};
    object::DocumentPtr ns = objects_.Get("", "namespaces", "", request.ns);
    if (!ns) return Fail(NotFoundError("", "namespaces", request.ns));
    if (!request.creates() || ns->root().Path({"status", "phase"}).AsString() != "Terminating") return {};
    Status refusal = Forbid(request, "unable to create new content in namespace " + std::string(request.ns) + " because it is being terminated");
    StatusDetails details = refusal.details();
    details.causes.push_back({"NamespaceTerminating", "namespace " + std::string(request.ns) + " is being terminated",
                              "metadata.namespace"});
    return Fail(refusal.WithDetails(details));
  }

  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeNamespaceLifecycle(const PluginParts& parts) { return std::make_unique<NamespaceLifecycle>(parts); }

}  // namespace homeostat::admission
