#include "server/custom/definitions.h"

#include <algorithm>

#include "homeostat/base/ids.h"
#include "kinds/apiextensions/definition_names.h"
#include "server/body.h"
#include "server/change.h"
#include "server/metadata.h"
#include "server/verbs.h"

namespace homeostat::server {

namespace {

constexpr std::string_view kGroup = "apiextensions.k8s.io", kPlural = "customresourcedefinitions";
constexpr std::string_view kPrefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
constexpr Duration kRetry = std::chrono::seconds(1);
constexpr Duration kLookAgain = std::chrono::seconds(5);

// A request of the server's own to a resource, as the verbs want it.
struct OwnRequest {
  OwnRequest(Parts& parts, const User& user, Resource target, std::string verb, std::string name)
      : resource(std::move(target)), context{parts, request, info, http::Query(), user} {
    info.resource_request = true;
    info.verb = std::move(verb);
    info.prefix = "apis";
    info.group = resource.kind->gvk.group;
    info.version = resource.kind->gvk.version;
    info.resource = resource.kind->plural;
    info.name = std::move(name);
    request.headers.Set("User-Agent", "kube-apiserver");
    context.resource = &resource;
    context.audit_id = NewUuid(parts.runtime);
    if (resource.owner) context.arena().Keep(resource.owner);
  }
  OwnRequest(const OwnRequest&) = delete;
  OwnRequest& operator=(const OwnRequest&) = delete;

  http::Request request;
  RequestInfo info;
  Resource resource;
  RequestContext context;
};

bool IsDeleting(const Value& definition) { return static_cast<bool>(definition.Path({"metadata", "deletionTimestamp"})); }

bool HasCleanupFinalizer(const Value& definition) {
  return std::ranges::any_of(definition.Path({"metadata", "finalizers"}).items(),
                             [](const Value& finalizer) { return finalizer.AsString() == kinds::kCleanupFinalizer; });
}

}  // namespace

Definitions::Definitions(Parts& parts, User user) : parts_(parts), user_(std::move(user)), group_(parts.runtime) {}
Definitions::~Definitions() {
  for (const auto& [name, served] : served_) {
    if (served.definition) served.definition->Withdraw();
  }
}

void Definitions::Start() {
  parts_.cache.Observe(std::string(kPrefix), [this](const cache::WatchEvent& event) { Observe(event); });
  for (const cache::EntryPtr& entry : parts_.cache.List(kPrefix).entries) {
    Update(std::string(entry->key().substr(kPrefix.size())), entry);
  }
}

void Definitions::Observe(const cache::WatchEvent& event) {
  Update(std::string(event.key().substr(kPrefix.size())), event.current);
}

void Definitions::Update(const std::string& name, const cache::EntryPtr& entry) {
  std::shared_ptr<const Definition> next = entry ? Definition::Read(parts_.runtime, entry) : nullptr;
  Served& served = served_[name];
  std::shared_ptr<const Definition> before = served.definition;
  if (before == nullptr || next == nullptr || !next->SameAs(*before)) {
    if (before) Withdraw(served);
    served.definition = next;
    if (next) Serve(served);
  }
  auto document = entry ? entry->document() : Result<object::DocumentPtr>(object::DocumentPtr());
  bool waits = document && *document && !kinds::HasAcceptedNames((*document)->root());
  if (waits) unaccepted_.insert(name);
  else unaccepted_.erase(name);
  bool deleting = document && *document && IsDeleting((*document)->root()) && HasCleanupFinalizer((*document)->root());
  if (deleting && !served.finishing) {
    served.finishing = true;
    group_.Spawn(Finish(name));
  }
  // Names may have become free for others of the group.
  size_t dot = name.find('.');
  if (before && dot != name.npos && !unaccepted_.empty() && (!next || !next->SameAs(*before))) group_.Spawn(Reconsider(name.substr(dot + 1)));
  if (!entry && !served.finishing) served_.erase(name);
}

void Definitions::Withdraw(Served& served) {
  const Definition& definition = *served.definition;
  definition.Withdraw();
  parts_.resources.Remove(definition.group(), definition.plural());
  if (std::exchange(served.decodes, false)) parts_.cache.SetDecoder(definition.storage_prefix(), nullptr);
}

void Definitions::Serve(Served& served) {
  const std::shared_ptr<const Definition> definition = served.definition;
  std::vector<Resource> resources = definition->Resources();
  bool any = resources.empty();
  for (Resource& resource : resources) any = parts_.resources.Add(std::move(resource)) || any;
  if (!any) {
    parts_.log.Info("not served: the name belongs to a built-in kind", {{"group", definition->group()}, {"plural", definition->plural()}});
    return;
  }
  served.decodes = true;
  parts_.cache.SetDecoder(definition->storage_prefix(), [definition](const Bytes& stored, uint64_t revision) {
    return definition->Decode(stored, revision);
  });
}

Task<void> Definitions::Finish(std::string name) {
  auto turn = Yield(parts_.runtime);
  co_await std::move(turn);
  while (true) {
    auto attempt = TryFinish(name);
    auto done = co_await std::move(attempt);
    if (done && *done) break;
    if (!done) parts_.log.Error("removing the instances of a definition failed", {{"name", name}, {"error", done.error()}});
    auto pause = Sleep(parts_.runtime, kRetry);
    co_await std::move(pause);
  }
  auto found = served_.find(name);
  if (found == served_.end()) co_return;
  found->second.finishing = false;
  if (!parts_.cache.Get(std::string(kPrefix) + name)) served_.erase(found);
}

// True when nothing is left to do.
Task<Result<bool>> Definitions::TryFinish(std::string name) {
  cache::EntryPtr entry = parts_.cache.Get(std::string(kPrefix) + name);
  if (!entry) co_return true;
  CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
  if (!IsDeleting(document->root()) || !HasCleanupFinalizer(document->root())) co_return true;
  WallTime now = parts_.runtime.WallNow();
  std::string_view reason = "NeverEstablished", message = "resource was never established";
  if (std::shared_ptr<const Definition> definition = served_[name].definition) {
    Resource storage = definition->StorageResource();
    if (served_[name].decodes) {
      if (parts_.cache.Count(StoragePrefix(*storage.storage, "")) > 0) {
        auto mark = Change(name, [now](object::Arena& arena, Value object) {
          return kinds::WithTerminating(arena, object, now, true, "InstanceDeletionInProgress", "CustomResource deletion is in progress");
        }, "status");
        CO_TRY(co_await std::move(mark));
        auto remove = RemoveInstances(storage);
        CO_TRY(co_await std::move(remove));
      }
      reason = "InstanceDeletionCompleted";
      message = "removed all instances";
    } else {
      reason = "OverlappingBuiltInResource";
      message = "instances overlap with built-in resources in storage";
    }
  }
  auto finish = Change(name, [now, reason, message](object::Arena& arena, Value object) {
    return kinds::WithoutCleanupFinalizer(arena, kinds::WithTerminating(arena, object, now, false, reason, message));
  }, "status");
  CO_TRY(co_await std::move(finish));
  co_return true;
}

Task<Result<void>> Definitions::RemoveInstances(Resource storage) {
  std::string prefix = StoragePrefix(*storage.storage, "");
  OwnRequest request(parts_, user_, storage, "deletecollection", "");
  auto deletion = DeleteCollection(request.context);
  auto deleted = co_await std::move(deletion);
  if (!deleted) co_return Fail(deleted.error());
  // What finalizers hold goes in its own time.
  while (parts_.cache.Count(prefix) > 0) {
    CO_TRY_ASSIGN(auto watcher, parts_.cache.Watch(prefix, parts_.cache.revision()));
    auto next = watcher->Next(kLookAgain);
    co_await std::move(next);
  }
  co_return Result<void>();
}

Task<Result<void>> Definitions::Change(std::string name, std::function<Value(object::Arena&, Value)> change, std::string subresource) {
  const Resource* resource = parts_.resources.FindAny(kGroup, kPlural);
  if (resource == nullptr) co_return Fail(InternalError("definitions are not served"));
  OwnRequest request(parts_, user_, *resource, "update", name);
  request.info.subresource = subresource;
  ChangeOptions options;
  options.name = name;
  options.subresource = subresource;
  options.field_manager = "kube-apiserver";
  auto compute_now = [](RequestContext& context, std::function<Value(object::Arena&, Value)> function, Value current) -> Task<Result<Value>> {
    Value changed = function(context.arena(), current);
    co_return changed;
  };
  RequestContext& context = request.context;
  Compute compute = [&context, &change, compute_now](Value current) { return compute_now(context, change, current); };
  auto changing = ChangeObject(context, options, compute);
  auto changed = co_await std::move(changing);
  if (!changed && !changed.error().IsNotFound()) co_return Fail(changed.error());
  co_return Result<void>();
}

Task<void> Definitions::Reconsider(std::string group) {
  // After the commit that frees the names.
  auto pause = Sleep(parts_.runtime, std::chrono::milliseconds(20));
  co_await std::move(pause);
  std::vector<std::string> names;
  for (const std::string& name : unaccepted_) {
    if (name.ends_with("." + group)) names.push_back(name);
  }
  for (const std::string& name : names) {
    // Any write has its names looked at.
    auto changing = Change(name, [](object::Arena&, Value object) { return object; }, "");
    auto changed = co_await std::move(changing);
    if (!changed) parts_.log.Error("names of a definition could not be accepted", {{"name", name}, {"error", changed.error()}});
  }
}

}  // namespace homeostat::server
