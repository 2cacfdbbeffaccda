#include "server/control_plane.h"

#include <algorithm>
#include <array>

#include "admission/admission_metrics.h"
#include "admission/plugins.h"
#include "auth/node_authorizer.h"
#include "auth/pki.h"
#include "callout/caller.h"
#include "callout/service_location.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/rbac/v1.h"
#include "homeostat/api/registry.h"
#include "homeostat/base/ids.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/sdk/client.h"
#include "kinds/behaviours.h"
#include "server/aggregation/aggregator.h"
#include "server/allocations.h"
#include "server/bootstrap.h"
#include "server/cached_objects.h"
#include "server/custom/definitions.h"
#include "server/discovery.h"
#include "server/embedded_data.h"
#include "server/metadata.h"
#include "server/openapi.h"
#include "server/openid.h"
#include "server/request_metrics.h"
#include "server/served_kinds.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

// Served are the kinds that a default server of this version serves.
bool IsServed(const schema::Kind& kind) { return kind.served_by_default && kind.feature_gate.empty(); }

// As what the server calls others, itself included.
std::string UserAgent(const VersionInfo& version) { return "kube-apiserver/" + version.git_version; }

// The user under which the server itself writes.
User LoopbackUser() {
  User user;
  user.name = "system:apiserver";
  user.groups = {std::string(kGroupMasters), std::string(kGroupAuthenticated)};
  return user;
}

// What nodes may do, as it comes with the program.
object::OwnedValue NodeRules() {
  auto document = std::make_shared<object::Document>();
  auto objects = object::ParseJson(document->arena(), BootstrapObjects());
  if (!objects) return {};
  for (const object::Value& object : objects->items()) {
    if (object.Get("kind").AsString() != "ClusterRole" || MetadataString(object, "name") != "system:node") continue;
    schema::ConformReport report;
    auto role = schema::Conform(document->arena(), object, api::rbac::v1::ClusterRole::SchemaType(), report);
    if (role) return {document, role->Get("rules")};
  }
  return {};
}

// The namespace ("" without one) and name that end a key below a prefix.
std::pair<std::string_view, std::string_view> NamesIn(std::string_view key, std::string_view prefix) {
  key.remove_prefix(prefix.size());
  size_t slash = key.find('/');
  if (slash == key.npos) return {std::string_view(), key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace

class ControlPlane::Impl {
 public:
  Impl(Runtime& runtime, ControlPlaneOptions options)
      : runtime_(runtime),
        options_(std::move(options)),
        resources_(api::AllKinds(), IsServed),
        cache_(runtime, *options_.engine, options_.cache),
        objects_(cache_, resources_),
        allocations_(runtime, resources_, objects_),
        defaults_(kinds::DefaultHooks()),
        caller_(runtime, objects_, {.user_agent = "kube-apiserver-admission"}),
        served_(resources_, defaults_, caller_),
        tokens_(runtime, objects_, options_.tokens),
        static_tokens_(std::move(options_.static_tokens)),
        certificates_(runtime),
        nodes_(objects_, NodeRules),
        rbac_(objects_),
        authorizer_(Authorizers()),
        rules_(RuleResolvers()),
        rights_(authorizer_, rbac_),
        flow_control_(runtime, objects_, FlowControlOptions{.seats = options_.server.max_requests + options_.server.max_mutating_requests, .log = options_.log}),
        server_(Parts{runtime, cache_, resources_, admission_, authorizer_, objects_, defaults_, allocations_, rights_, caller_, options_.log},
                {&certificates_, &static_tokens_, &tokens_}, ServerOptions()),
        definitions_(server_.parts(), LoopbackUser()),
        aggregator_(server_, server_.InProcess(LoopbackUser()), {options_.proxy_identity, options_.proxy_authority, options_.proxy_names, Loopback()}),
        group_(runtime) {
    SetDecoders(cache_, resources_, defaults_);
    KeepAuthorizersInStep();
    ServeFlowControl();
    ServeDiscovery(server_, aggregator_);
    ServeSubresources(server_, SubresourceParts{tokens_, static_tokens_, rules_, authorizer_, [this] { return StoreHealth(); }});
    server_.CountInto(metrics_);
    admission_.CountInto(admission_metrics_);
    caller_.AnswerOwn(server_.InProcess(LoopbackUser()));
    ServeOpenIdDocuments(server_, tokens_);
    ServeOpenApi(server_, aggregator_, options_.version.git_version);
    ServeMetrics(server_, metrics_, cache_, options_.version);
    ServeHealth(server_, Checks());
    ServeVersion(server_, options_.version);
    ServeIndex(server_);
  }

  Task<Result<void>> Start();
  Task<void> Stop();
  admission::PluginParts AdmissionParts();
  // As this server itself.
  sdk::Client LoopbackClient() {
    sdk::ClientOptions options;
    options.user_agent = UserAgent(options_.version);
    return sdk::Client(server_.InProcess(LoopbackUser()), options);
  }
  struct Mode {
    std::string_view name;
    auth::Authorizer* authorizer;
    auth::RuleResolver* resolver;
  };
  std::array<Mode, 3> Modes() {
    return {{{"Node", &nodes_, &nodes_}, {"RBAC", &rbac_, &rbac_}, {"AlwaysAllow", &allow_all_, &allow_all_}}};
  }
  // The chosen ones, in their order; what is not known is left out, and refused by Start.
  std::vector<auth::Authorizer*> Authorizers();
  std::vector<auth::RuleResolver*> RuleResolvers();
  Result<void> CheckModes();
  ApiServerOptions ServerOptions() const;
  Task<void> MakeKey();
  // Where this server itself is reached, host:port.
  std::string Loopback() const { return callout::ServiceLocation{options_.advertise_address, options_.advertise_port}.Authority(); }
  Task<void> CompactFromTimeToTime();
  // Before the store is read in there is nothing to serve.
  std::optional<std::string> StoreHealth() const;
  std::vector<HealthCheck> Checks();
  // Requests wait their turn, as the configuration of flow control has it.
  void ServeFlowControl();
  // What they have looked up once is forgotten when it changes.
  void KeepAuthorizersInStep();

  Runtime& runtime_;
  ControlPlaneOptions options_;
  Resources resources_;
  cache::Cache cache_;
  CachedObjects objects_;
  Allocations allocations_;
  schema::Defaults defaults_;
  callout::Caller caller_;
  ServedResources served_;
  auth::ServiceAccountTokens tokens_;
  auth::StaticTokens static_tokens_;
  auth::CertificateAuthenticator certificates_;
  auth::MastersAuthorizer masters_;
  auth::NodeAuthorizer nodes_;
  auth::RbacAuthorizer rbac_;
  auth::AlwaysAllowAuthorizer allow_all_;
  auth::UnionAuthorizer authorizer_;
  auth::UnionRuleResolver rules_;
  auth::UserRights rights_;
  MetricsRegistry metrics_;
  admission::AdmissionMetrics admission_metrics_{metrics_};
  std::unique_ptr<audit::Audit> audit_;  // null: nothing is logged
  FlowControl flow_control_;
  ApiServer server_;
  admission::Chain admission_;  // asks the server, so that it must go first
  Definitions definitions_;
  Aggregator aggregator_;
  std::unique_ptr<Bootstrap> bootstrap_;
  bool started_ = false;
  TaskGroup group_;
};

std::vector<auth::Authorizer*> ControlPlane::Impl::Authorizers() {
  std::vector<auth::Authorizer*> chosen{&masters_};
  for (const std::string& name : options_.authorization_modes) {
    for (const Mode& mode : Modes()) if (mode.name == name) chosen.push_back(mode.authorizer);
  }
  return chosen;
}

std::vector<auth::RuleResolver*> ControlPlane::Impl::RuleResolvers() {
  std::vector<auth::RuleResolver*> chosen;
  for (const std::string& name : options_.authorization_modes) {
    for (const Mode& mode : Modes()) if (mode.name == name) chosen.push_back(mode.resolver);
  }
  return chosen;
}

ApiServerOptions ControlPlane::Impl::ServerOptions() const {
  ApiServerOptions options = options_.server;
  if (std::ranges::find(options_.authorization_modes, "AlwaysAllow") != options_.authorization_modes.end()) options.anonymous = false;
  return options;
}

Result<void> ControlPlane::Impl::CheckModes() {
  for (const std::string& name : options_.authorization_modes) {
    if (std::ranges::any_of(Modes(), [&](const Mode& mode) { return mode.name == name; })) continue;
    return Fail(SystemError("--authorization-mode " + name + " is not there; it can be Node, RBAC and AlwaysAllow"));
  }
  return {};
}

std::optional<std::string> ControlPlane::Impl::StoreHealth() const {
  if (started_) return std::nullopt;
  return "not started yet";
}

void ControlPlane::Impl::ServeFlowControl() {
  if (options_.server.max_requests + options_.server.max_mutating_requests <= 0) return;
  server_.LimitWith(flow_control_);
  for (std::string plural : {"flowschemas", "prioritylevelconfigurations"}) {
    std::string prefix = StoragePrefix(*resources_.FindAny("flowcontrol.apiserver.k8s.io", plural)->storage, "");
    cache_.Observe(prefix, [this](const cache::WatchEvent&) { flow_control_.Refresh(); });
  }
  ServeFlowControlDumps(server_, flow_control_);
}

void ControlPlane::Impl::KeepAuthorizersInStep() {
  for (std::string plural : {"roles", "clusterroles", "rolebindings", "clusterrolebindings"}) {
    std::string prefix = StoragePrefix(*resources_.FindAny("rbac.authorization.k8s.io", plural)->storage, "");
    cache_.Observe(prefix, [this, plural, prefix](const cache::WatchEvent& event) {
      auto [ns, name] = NamesIn(event.key(), prefix);
      rbac_.Forget(plural, ns, name);
    });
  }
  cache_.Observe(StoragePrefix(*resources_.FindAny("", "pods")->storage, ""), [this](const cache::WatchEvent& event) {
    if (!nodes_.pods().is_made()) return;
    auto document = (event.current ? event.current : event.deleted)->document();
    if (!document) return;
    if (event.current) {
      nodes_.pods().PodStored((*document)->root());
    } else {
      nodes_.pods().PodRemoved((*document)->root());
    }
  });
}

std::vector<HealthCheck> ControlPlane::Impl::Checks() {
  auto well = [] { return std::optional<std::string>(); };
  auto started = [this] { return StoreHealth(); };
  return {
      {"ping", well},
      {"log", well},
      {"etcd", started},
      {"informer-sync", started, false, true},
      {"poststarthook/rbac/bootstrap-roles", started},
      {"poststarthook/start-system-namespaces-controller", started},
      {"poststarthook/start-apiextensions-controllers", started},
      {"shutdown", well, false, true},
  };
}

// The key is made while the server already serves: it takes longer than the whole rest of a start.
Task<void> ControlPlane::Impl::MakeKey() {
  auto work = RunOffLoop<Result<std::string>>(runtime_, [] { return auth::MakeRsaKey(); });
  auto pem = co_await std::move(work);
  if (!pem) {
    options_.log.Error("no key for service account tokens", {{"error", pem.error()}});
    co_return;
  }
  auto key = auth::SigningKey::Load(*pem);
  if (!key) co_return;
  if (options_.save_key) options_.save_key(*pem);
  tokens_.SetKey(*key);
}

Task<void> ControlPlane::Impl::CompactFromTimeToTime() {
  uint64_t before = options_.engine->revision();
  while (true) {
    auto pause = Sleep(runtime_, options_.compaction_period);
    co_await std::move(pause);
    uint64_t now = options_.engine->revision();
    if (before > options_.engine->compacted_revision()) {
      auto compact = options_.engine->Compact(before);
      auto compacted = co_await std::move(compact);
      if (!compacted) options_.log.Error("compaction failed", {{"error", compacted.error()}});
    }
    before = now;
  }
}

namespace {

Task<Result<void>> UpdateStatus(sdk::Client client, object::DocumentPtr quota) {
  auto update = client.UpdateStatus(sdk::Object<api::core::v1::ResourceQuota>(std::move(quota)));
  CO_TRY(co_await std::move(update));
  co_return Done();
}

}  // namespace

admission::PluginParts ControlPlane::Impl::AdmissionParts() {
  admission::PluginParts parts{runtime_, objects_, authorizer_, {}, {}, served_, {}};
  parts.observe = [this](std::string_view group, std::string_view plural, std::function<void()> changed) {
    const Resource* resource = resources_.FindAny(group, plural);
    if (resource == nullptr) return;  // not served: there will be none
    cache_.Observe(StoragePrefix(*resource->storage, ""), [changed = std::move(changed)](const cache::WatchEvent&) { changed(); });
  };
  parts.caller = &caller_;
  parts.metrics = &admission_metrics_;
  parts.find_kind = [this](std::string_view group, std::string_view version, std::string_view kind) {
    const Resource* resource = resources_.FindKind(group, version, kind);
    return resource == nullptr ? nullptr : resource->kind;
  };
  parts.update_quota_status = [loopback = LoopbackClient()](object::DocumentPtr quota) {
    return UpdateStatus(loopback, std::move(quota));
  };
  return parts;
}

Task<Result<void>> ControlPlane::Impl::Start() {
  CO_TRY(CheckModes());
  CO_TRY_ASSIGN(audit_, audit::Audit::Make(runtime_, options_.audit, options_.log, metrics_));
  if (audit_) server_.RecordWith(*audit_);
  CO_TRY(admission::AddPlugins(admission_, AdmissionParts(), options_.admission_plugins));
  auto load = cache_.Start();
  CO_TRY(co_await std::move(load));
  aggregator_.Start();
  definitions_.Start();
  BootstrapOptions bootstrap;
  bootstrap.service_cidr = options_.service_cidr;
  bootstrap.advertise_address = options_.advertise_address;
  bootstrap.advertise_port = options_.advertise_port;
  bootstrap.authority_certificate = options_.authority_certificate;
  bootstrap.log = options_.log;
  bootstrap_ = std::make_unique<Bootstrap>(runtime_, cache_, resources_, defaults_, server_.InProcess(LoopbackUser()), bootstrap);
  auto make = bootstrap_->MakeAll();
  CO_TRY(co_await std::move(make));
  bootstrap_->Keep();
  if (options_.service_account_key.empty()) {
    group_.Spawn(MakeKey());
  } else {
    CO_TRY_ASSIGN(auto key, auth::SigningKey::Load(options_.service_account_key));
    tokens_.SetKey(std::move(key));
  }
  if (!options_.service_account_public_keys.empty()) {
    CO_TRY_ASSIGN(auto keys, auth::SigningKey::LoadPublic(options_.service_account_public_keys));
    tokens_.SetCheckingKeys(std::move(keys));
  }
  if (options_.compaction_period > Duration::zero()) group_.Spawn(CompactFromTimeToTime());
  flow_control_.WriteStatusWith(LoopbackClient());
  started_ = true;
  co_return Done();
}

Task<void> ControlPlane::Impl::Stop() {
  if (audit_) {
    auto written = audit_->Written();
    co_await std::move(written);
  }
  auto close = options_.engine->Close();
  co_await std::move(close);
}

ControlPlane::ControlPlane(Runtime& runtime, ControlPlaneOptions options)
    : impl_(std::make_unique<Impl>(runtime, std::move(options))) {}
ControlPlane::~ControlPlane() = default;

Task<Result<void>> ControlPlane::Start() { return impl_->Start(); }
Task<void> ControlPlane::Stop() { return impl_->Stop(); }
ApiServer& ControlPlane::server() { return impl_->server_; }
cache::Cache& ControlPlane::cache() { return impl_->cache_; }
const kinds::ObjectReader& ControlPlane::objects() const { return impl_->objects_; }
auth::ServiceAccountTokens& ControlPlane::tokens() { return impl_->tokens_; }

std::shared_ptr<http::Handler> ControlPlane::TransportFor(std::string name, std::vector<std::string> groups) {
  User user;
  user.name = std::move(name);
  user.groups = std::move(groups);
  user.groups.emplace_back(kGroupAuthenticated);
  return impl_->server_.InProcess(std::move(user));
}

}  // namespace homeostat::server
