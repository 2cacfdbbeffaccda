#include "node/references.h"

#include "node/errors.h"

namespace homeostat::node {

namespace {
constexpr Duration kSyncLimit = std::chrono::seconds(10);
}  // namespace

struct References::Watched {
  std::shared_ptr<sdk::Informer> informer;
  std::set<std::string> users;   // uids of pods
};

References::References(Runtime& runtime, sdk::Client client, std::function<void(const std::string&)> changed)
    : runtime_(runtime), client_(std::move(client)), changed_(std::move(changed)) {}
References::~References() = default;

void References::AcquireKind(Watches& watches, const schema::Kind& kind, const std::string& uid, const std::string& ns,
                             const std::vector<std::string>& names) {
  std::set<Key> wanted;
  for (const std::string& name : names) wanted.insert({ns, name});
  for (const Key& key : wanted) {
    std::shared_ptr<Watched>& watched = watches[key];
    if (!watched) {
      watched = std::make_shared<Watched>();
      sdk::InformerOptions options{.ns = key.first, .field_selector = "metadata.name=" + key.second, .managed_fields = false};
      watched->informer = std::make_shared<sdk::Informer>(runtime_, client_, kind, options);
      // Someone may still wait for the informer when nobody uses it any more.
      watched->informer->AddHandler([this, weak = std::weak_ptr<Watched>(watched)](const sdk::Change&) {
        std::shared_ptr<Watched> known = weak.lock();
        if (!known) return;
        for (const std::string& user : known->users) changed_(user);
      });
      watched->informer->Start();
    }
    watched->users.insert(uid);
  }
  for (auto it = watches.begin(); it != watches.end();) {
    if (!wanted.contains(it->first)) it->second->users.erase(uid);
    it = it->second->users.empty() ? watches.erase(it) : std::next(it);
  }
}

void References::ReleaseKind(Watches& watches, const std::string& uid) {
  for (auto it = watches.begin(); it != watches.end();) {
    it->second->users.erase(uid);
    it = it->second->users.empty() ? watches.erase(it) : std::next(it);
  }
}

void References::Acquire(const std::string& uid, core::Pod pod) {
  ReferencedNames names = NamesOf(pod.spec());
  std::string ns(pod.metadata().namespace_());
  AcquireKind(config_maps_, core::ConfigMap::SchemaKind(), uid, ns, names.config_maps);
  AcquireKind(secrets_, core::Secret::SchemaKind(), uid, ns, names.secrets);
}

void References::Release(const std::string& uid) {
  ReleaseKind(config_maps_, uid);
  ReleaseKind(secrets_, uid);
}

Task<Result<object::DocumentPtr>> References::Find(const Watches& watches, Key key) {
  auto found = watches.find(key);
  if (found == watches.end()) co_return object::DocumentPtr();
  // Kept alive while it is waited for: the pod may go meanwhile.
  std::shared_ptr<sdk::Informer> informer = found->second->informer;
  if (!informer->synced()) {
    auto sync = informer->WaitForSync();
    auto within = Within(runtime_, kSyncLimit, std::move(sync));
    if (!co_await std::move(within)) {
      co_return Fail(NodeError("failed to sync " + std::string(informer->kind().gvk.kind) + " cache: timed out waiting for the condition"));
    }
  }
  co_return informer->Get(key.first + "/" + key.second);
}

Task<Result<PodReferences>> References::Get(object::DocumentPtr pod) {
  core::Pod view(pod->root());
  ReferencedNames names = NamesOf(view.spec());
  std::string ns(view.metadata().namespace_());
  PodReferences result;
  for (const std::string& name : names.config_maps) {
    auto find = Find(config_maps_, {ns, name});
    CO_TRY_ASSIGN(result.config_maps[name], co_await std::move(find));
  }
  for (const std::string& name : names.secrets) {
    auto find = Find(secrets_, {ns, name});
    CO_TRY_ASSIGN(result.secrets[name], co_await std::move(find));
  }
  co_return result;
}

}  // namespace homeostat::node
