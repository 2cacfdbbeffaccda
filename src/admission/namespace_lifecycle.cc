// NamespaceLifecycle: nothing is created in a namespace that is not there or is going; the namespaces the cluster lives
// in can't be deleted.
#include "admission/plugins.h"

namespace homeostat::admission {
namespace {

using object::Value;

class NamespaceLifecycle : public Plugin {
 public:
  explicit NamespaceLifecycle(const PluginParts& parts) : objects_(parts.objects) {}
  std::string_view name() const override { return "NamespaceLifecycle"; }

  bool Handles(const Request& request) const override {
    return request.operation == Operation::kCreate || request.operation == Operation::kDelete;
  }

  Task<Result<Value>> Mutate(const Request& request) override {
    if (request.operation == Operation::kDelete) CO_TRY(CheckDelete(request));
    else CO_TRY(CheckCreate(request));
    co_return request.object;
  }

 private:
  static bool IsNamespace(const Request& request) { return request.kind.gvk.group.empty() && request.kind.plural == "namespaces"; }

  static bool IsReview(std::string_view plural) { return plural == "localsubjectaccessreviews"; }

  Result<void> CheckDelete(const Request& request) const {
    if (!IsNamespace(request)) return {};
    for (std::string_view kept : {"default", "kube-system", "kube-public"}) {
      if (request.name == kept) {
        return Fail(ForbiddenError("", "namespaces", request.name, "this namespace may not be deleted"));
      }
    }
    return {};
  }

  Result<void> CheckCreate(const Request& request) const {
    if (!request.kind.namespaced || request.ns.empty() || IsReview(request.kind.plural)) return {};
    object::DocumentPtr ns = objects_.Get("", "namespaces", "", request.ns);
    if (!ns) return Fail(NotFoundError("", "namespaces", request.ns));
    bool terminating = ns->root().Path({"status", "phase"}).AsString() == "Terminating" ||
                       ns->root().Path({"metadata", "deletionTimestamp"});
    if (!terminating || !request.subresource.empty()) return {};
    Status refusal = ForbiddenError(request.kind.gvk.group, request.kind.plural, request.name,
                                    "unable to create new content in namespace " + std::string(request.ns) +
                                        " because it is being terminated");
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
