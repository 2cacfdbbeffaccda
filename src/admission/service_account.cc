// ServiceAccount: every pod runs as a service account that exists, with a token for it mounted where clients look for one; it uses no
// secrets but its account's, where the account says so.
// Source of the rules and texts: plugin/pkg/admission/serviceaccount.
#include <algorithm>

#include "admission/plugins.h"
#include "admission/pod_references.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/ids.h"
#include "homeostat/object/names.h"

namespace homeostat::admission {
namespace {

using api::core::v1::Container;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using api::core::v1::ServiceAccount;
using object::Value;

constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::string_view kDefault = "default";
constexpr int kAttempts = 10;
constexpr std::string_view kEnforceMountable = "kubernetes.io/enforce-mountable-secrets";
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

// Why a pod refers to a secret that its account does not list; "" if it doesn't. what: how messages call the containers.
std::string UnlistedSecret(const Value& containers, std::string_view what, const Value& account) {
  std::string of_account = "is not allowed because service account " + std::string(account.Path({"metadata", "name"}).AsString()) +
                           " does not reference that secret";
  auto listed = [&](std::string_view name) {
    return std::ranges::any_of(account.Get("secrets").items(), [&](const Value& secret) { return secret.Get("name").AsString() == name; });
  };
  for (const Value& container : containers.items()) {
    std::string of_container = std::string(what) + " " + std::string(container.Get("name").AsString());
    for (const Value& variable : container.Get("env").items()) {
      Value secret = variable.Get("valueFrom").Get("secretKeyRef");
      if (!secret || listed(secret.Get("name").AsString())) continue;
      return of_container + " with envVar " + std::string(variable.Get("name").AsString()) + " referencing secret.secretName=\"" +
             std::string(secret.Get("name").AsString()) + "\" " + of_account;
    }
    for (const Value& source : container.Get("envFrom").items()) {
      Value secret = source.Get("secretRef");
      if (!secret || listed(secret.Get("name").AsString())) continue;
      return of_container + " with envFrom referencing secret.secretName=\"" + std::string(secret.Get("name").AsString()) + "\" " + of_account;
    }
  }
  return {};
}

// What of the pod the account does not list, secrets and pull secrets.
std::string UnlistedReference(const Value& pod, const Value& account) {
  Value spec = pod.Get("spec");
  std::string name(account.Path({"metadata", "name"}).AsString());
  auto listed = [&](std::string_view list, std::string_view wanted) {
    return std::ranges::any_of(account.Get(list).items(), [&](const Value& secret) { return secret.Get("name").AsString() == wanted; });
  };
  for (const Value& volume : spec.Get("volumes").items()) {
    Value secret = volume.Get("secret");
    std::string wanted(secret.Get("secretName").AsString());
    if (secret && !listed("secrets", wanted)) {
      return "volume with secret.secretName=\"" + wanted + "\" is not allowed because service account " + name + " does not reference that secret";
    }
  }
  for (auto [list, what] : {std::pair("initContainers", "init container"), std::pair("containers", "container")}) {
    std::string fault = UnlistedSecret(spec.Get(list), what, account);
    if (!fault.empty()) return fault;
  }
  Value pull = spec.Get("imagePullSecrets");
  for (size_t i = 0; i < pull.size(); ++i) {
    std::string wanted(pull.At(i).Get("name").AsString());
    if (listed("imagePullSecrets", wanted)) continue;
    return "imagePullSecrets[" + std::to_string(i) + "].name=\"" + wanted + "\" is not allowed because service account " + name +
           " does not reference that imagePullSecret";
  }
  return {};
}

// As Go's ParseBool.
bool IsTrue(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" || text == "True";
}

class ServiceAccountPlugin : public Plugin {
 public:
  explicit ServiceAccountPlugin(const PluginParts& parts) : runtime_(parts.runtime), objects_(parts.objects) {}
  std::string_view name() const override { return "ServiceAccount"; }

  bool Handles(const Request& request) const override {
    if (!request.Is("", "pods")) return false;
    return request.subresource.empty() ? request.creates() : request.updates() && request.subresource == "ephemeralcontainers";
  }

  // The account that every namespace has comes a moment after the namespace.
  Task<Result<Value>> Mutate(const Request& request) override {
    bool waits = request.creates() && !IsMirror(request.object) && AccountNameOf(request.object) == kDefault;
    for (int attempt = 1; waits && attempt < kAttempts; ++attempt) {
      if (objects_.Get("", "serviceaccounts", request.ns, kDefault)) break;
      auto pause = Sleep(runtime_, std::chrono::milliseconds(100 + runtime_.Random() % 100));
      co_await std::move(pause);
    }
    co_return MutateNow(request);
  }
  Task<Result<void>> Validate(const Request& request) override { co_return ValidateNow(request); }

 private:
  Result<Value> MutateNow(const Request& request) const {
    if (!request.creates()) return request.object;
    Pod pod(request.object);
    // What the node made is to stay as it is.
    if (IsMirror(request.object)) {
      TRY(CheckMirror(request));
      return request.object;
    }
    std::string_view account_name = AccountNameOf(request.object);
    TRY_ASSIGN(object::DocumentPtr document, FindAccount(request, account_name));
    ServiceAccount account(document->root());
    bool wants_token = WantsToken(pod, account);
    bool wants_secrets = pod.spec().image_pull_secrets().empty() && !account.image_pull_secrets().empty();
    if (!wants_token && !wants_secrets && IsNamed(request.object, account_name)) {
      TRY(ValidateNow(request));
      return request.object;
    }
    // The pod lives where the result will, and need not be copied.
    PodBuilder builder{schema::Subtree(object::OwnedValue{std::make_shared<object::Document>(), request.object})};
    auto spec = builder.mutable_spec();
    spec.set_service_account_name(account_name);
    spec.set_service_account(account_name);
    if (wants_token) MountToken(builder, pod);
    if (wants_secrets) {
      for (auto secret : account.image_pull_secrets()) spec.add_image_pull_secrets().set_name(secret.name());
    }
    Request changed = request;
    changed.object = builder.FreezeInto(request.arena());
    TRY(ValidateNow(changed));
    return changed.object;
  }

  Result<void> ValidateNow(const Request& request) const {
    if (request.creates() && IsMirror(request.object)) return CheckMirror(request);
    std::string_view account_name = request.object.Path({"spec", "serviceAccountName"}).AsString();
    if (account_name.empty()) {
      return Fail(Forbid(request, "no service account specified for pod " + std::string(request.ns) + "/" +
                                      std::string(request.object.Path({"metadata", "name"}).AsString())));
    }
    TRY_ASSIGN(object::DocumentPtr account, FindAccount(request, account_name));
    if (!IsTrue(account->root().Path({"metadata", "annotations", kEnforceMountable}).AsString())) return {};
    if (request.creates()) {
      std::string fault = UnlistedReference(request.object, account->root());
      return fault.empty() ? Result<void>() : Fail(Forbid(request, fault));
    }
    std::string fault = UnlistedSecret(request.object.Path({"spec", "ephemeralContainers"}), "ephemeral container", account->root());
    // Upstream gives this one no wrapping of its own.
    return fault.empty() ? Result<void>() : Fail(Status(500, "", fault));
  }

  static std::string_view AccountNameOf(const Value& pod) {
    std::string_view name = pod.Path({"spec", "serviceAccountName"}).AsString();
    return name.empty() ? kDefault : name;
  }
  // Whether the pod says already whose it is.
  static bool IsNamed(const Value& pod, std::string_view account) {
    Value spec = pod.Get("spec");
    return spec.Get("serviceAccountName").AsString() == account && spec.Get("serviceAccount").AsString() == account;
  }
  static bool IsMirror(const Value& pod) { return static_cast<bool>(pod.Path({"metadata", "annotations", kMirrorAnnotation})); }

  Result<object::DocumentPtr> FindAccount(const Request& request, std::string_view name) const {
    object::DocumentPtr document = objects_.Get("", "serviceaccounts", request.ns, name);
    if (document) return document;
    std::string text(name);
    std::string where = "error looking up service account " + std::string(request.ns) + "/" + text + ": ";
    // Upstream asks for it by name, which a client does not do with any text.
    std::string faults;
    for (const std::string& fault : object::IsValidPathSegmentName(name)) faults += (faults.empty() ? "" : " ") + fault;
    if (!faults.empty()) return Fail(Forbid(request, where + "invalid resource name " + GoQuote(name) + ": [" + faults + "]"));
    return Fail(Forbid(request, where + "serviceaccount \"" + text +
                                    "\" not found"));
  }

  // A mirror of a static pod must not use what only the API can give.
  static Result<void> CheckMirror(const Request& request) {
    const Value& pod = request.object;
    if (!pod.Path({"spec", "serviceAccountName"}).AsString().empty()) {
      return Fail(Forbid(request, "a mirror pod may not reference service accounts"));
    }
    if (ReferencesSecrets(pod)) return Fail(Forbid(request, "a mirror pod may not reference secrets"));
    for (const Value& volume : pod.Path({"spec", "volumes"}).items()) {
      for (const Value& source : volume.Path({"projected", "sources"}).items()) {
        if (source.Get("serviceAccountToken")) return Fail(Forbid(request, "a mirror pod may not use ServiceAccountToken volume projections"));
      }
    }
    return {};
  }

  void MountToken(PodBuilder& builder, const Pod& pod) const {
    std::string volume = "kube-api-access-" + RandomSuffix(runtime_, 5);
    bool needed = false, known = false;
    for (auto existing : pod.spec().volumes()) {
      if (!existing.name().starts_with("kube-api-access-")) continue;
      volume = existing.name();
      known = true;
      break;
    }
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
    if (needed && !known) AddTokenVolume(builder, volume);
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
