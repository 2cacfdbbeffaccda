// ServiceAccount: every pod runs as a service account that exists, with a token for it mounted where clients look for one.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/ids.h"

namespace homeostat::admission {
namespace {

using api::core::v1::Container;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using api::core::v1::ServiceAccount;
using object::Value;

constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
// An hour and some seconds, by which the server sees that the lifetime was not chosen by hand.
constexpr int64_t kTokenSeconds = 3607;

template <class List>
bool MountsToken(const List& containers_of_one) {
  for (auto mount : containers_of_one.volume_mounts()) if (mount.mount_path() == kMountPath) return true;
  return false;
}

bool WantsToken(const Pod& pod, const ServiceAccount& account) {
  if (pod.spec().has_automount_service_account_token()) return pod.spec().automount_service_account_token();
  if (account.has_automount_service_account_token()) return account.automount_service_account_token();
  return true;
}

void AddTokenVolume(PodBuilder& pod, std::string_view name) {
  auto volume = pod.mutable_spec().add_volumes();
  volume.set_name(name);
  auto projected = volume.mutable_projected();
  projected.set_default_mode(0644);
  auto token = projected.add_sources().mutable_service_account_token();
  token.set_path("token");
  token.set_expiration_seconds(kTokenSeconds);
  auto authority = projected.add_sources().mutable_config_map();
  authority.set_name("kube-root-ca.crt");
  authority.add_items().set_key("ca.crt").set_path("ca.crt");
  auto item = projected.add_sources().mutable_downward_api().add_items();
  item.set_path("namespace");
  item.mutable_field_ref().set_api_version("v1").set_field_path("metadata.namespace");
}

class ServiceAccountPlugin : public Plugin {
 public:
  explicit ServiceAccountPlugin(const PluginParts& parts) : runtime_(parts.runtime), objects_(parts.objects) {}
  std::string_view name() const override { return "ServiceAccount"; }

  bool Handles(const Request& request) const override {
    return request.operation == Operation::kCreate && request.subresource.empty() && request.kind.gvk.group.empty() &&
           request.kind.plural == "pods";
  }

  Task<Result<Value>> Mutate(const Request& request) override { co_return Complete(request); }

 private:
  Result<Value> Complete(const Request& request) const {
    Pod pod(request.object);
    if (pod.metadata().annotations().contains(kMirrorAnnotation)) return CheckMirror(request, pod);
    std::string account_name(pod.spec().service_account_name().empty() ? std::string_view("default")
                                                                       : pod.spec().service_account_name());
    object::DocumentPtr document = objects_.Get("", "serviceaccounts", request.ns, account_name);
    if (!document) {
      return Fail(ForbiddenError("", "pods", request.name,
                                 "error looking up service account " + std::string(request.ns) + "/" + account_name +
                                     ": serviceaccount \"" + account_name + "\" not found"));
    }
    ServiceAccount account(document->root());
    PodBuilder builder{schema::Subtree(pod)};
    auto spec = builder.mutable_spec();
    spec.set_service_account_name(account_name);
    spec.set_service_account(account_name);
    if (WantsToken(pod, account)) MountToken(builder, pod);
    if (pod.spec().image_pull_secrets().empty()) {
      for (auto secret : account.image_pull_secrets()) spec.add_image_pull_secrets().set_name(secret.name());
    }
    return builder.FreezeInto(request.context.arena);
  }

  // A mirror of a static pod must not use what only the API can give.
  Result<Value> CheckMirror(const Request& request, const Pod& pod) const {
    if (!pod.spec().service_account_name().empty()) {
      return Fail(ForbiddenError("", "pods", request.name, "a mirror pod may not reference service accounts"));
    }
    for (auto volume : pod.spec().volumes()) {
      if (volume.has_secret()) return Fail(ForbiddenError("", "pods", request.name, "a mirror pod may not reference secrets"));
    }
    return request.object;
  }

  void MountToken(PodBuilder& builder, const Pod& pod) const {
    std::string volume = "kube-api-access-" + RandomSuffix(runtime_, 5);
    bool needed = false;
    size_t index = 0;
    for (Container container : pod.spec().init_containers()) {
      if (!MountsToken(container)) {
        needed = true;
        Mount(builder.mutable_spec().mutable_init_containers(index), volume);
      }
      ++index;
    }
    index = 0;
    for (Container container : pod.spec().containers()) {
      if (!MountsToken(container)) {
        needed = true;
        Mount(builder.mutable_spec().mutable_containers(index), volume);
      }
      ++index;
    }
    if (needed) AddTokenVolume(builder, volume);
  }

  template <class ContainerBuilder>
  static void Mount(ContainerBuilder container, std::string_view volume) {
    container.add_volume_mounts().set_name(volume).set_read_only(true).set_mount_path(kMountPath);
  }

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
};

}  // namespace

std::unique_ptr<Plugin> MakeServiceAccount(const PluginParts& parts) { return std::make_unique<ServiceAccountPlugin>(parts); }

}  // namespace homeostat::admission
