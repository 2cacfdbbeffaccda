#include "homeostat/sdk/informer.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "homeostat/base/log.h"

namespace homeostat::sdk {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// Watches end by themselves after five to ten minutes, so that a half-dead connection never stays for ever.
constexpr int64_t kWatchSeconds = 300;

struct Index {
  std::string name;
  IndexFunction function;
  std::unordered_map<std::string, std::unordered_set<std::string>> keys;  // by value
};

}  // namespace

struct Informer::State {
  State(Runtime& loop, Client the_client, const schema::Kind& the_kind, InformerOptions the_options)
      : runtime(loop), client(std::move(the_client)), kind(the_kind), options(std::move(the_options)), changed(loop), group(loop) {}

  Runtime& runtime;
  Client client;
  const schema::Kind& kind;
  InformerOptions options;
  std::vector<std::function<void(const Change&)>> handlers;
  std::vector<Index> indexes;
  std::map<std::string, object::DocumentPtr, std::less<>> objects;
  std::string resource_version;
  bool synced = false, started = false;
  Signal changed;  // synced became true
  TaskGroup group;

  Task<void> Run();
  Task<void> Resync();
  Task<Result<void>> ListAll();
  Task<Result<void>> WatchOnce();
  void Put(object::DocumentPtr object);
  void Remove(const std::string& key, object::DocumentPtr last);
  void Replace(std::vector<object::DocumentPtr> items);
  void Tell(const Change& change) const {
    for (const auto& handler : handlers) handler(change);
  }
  void IndexObject(const std::string& key, const object::Value& object, bool add);
};

void Informer::State::IndexObject(const std::string& key, const object::Value& object, bool add) {
  std::vector<std::string> values;
  for (Index& index : indexes) {
    values.clear();
    index.function(object, values);
    for (const std::string& value : values) {
      if (add) {
        index.keys[value].insert(key);
        continue;
      }
      auto found = index.keys.find(value);
      if (found == index.keys.end()) continue;
      found->second.erase(key);
      if (found->second.empty()) index.keys.erase(found);
    }
  }
}

void Informer::State::Put(object::DocumentPtr object) {
  std::string key = meta::Key(object->root());
  object::DocumentPtr& slot = objects[key];
  Change change{slot, object};
  if (slot) {
    if (meta::ResourceVersion(slot->root()) == meta::ResourceVersion(object->root())) return;
    IndexObject(key, slot->root(), false);
  }
  slot = std::move(object);
  IndexObject(key, slot->root(), true);
  Tell(change);
}

void Informer::State::Remove(const std::string& key, object::DocumentPtr last) {
  auto found = objects.find(key);
  if (found == objects.end()) return;
  IndexObject(key, found->second->root(), false);
  Change change{last ? std::move(last) : found->second, nullptr};
  objects.erase(found);
  Tell(change);
}

// After a list: what is not in it was deleted while nobody watched.
void Informer::State::Replace(std::vector<object::DocumentPtr> items) {
  std::unordered_set<std::string> listed;
  for (const object::DocumentPtr& item : items) listed.insert(meta::Key(item->root()));
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects) if (!listed.contains(key)) gone.push_back(key);
  for (const std::string& key : gone) Remove(key, nullptr);
  for (object::DocumentPtr& item : items) {
    // A new object under the old name is two changes.
    std::string key = meta::Key(item->root());
    auto known = objects.find(key);
    if (known != objects.end() && meta::Uid(known->second->root()) != meta::Uid(item->root())) Remove(key, nullptr);
    Put(std::move(item));
  }
}

Task<Result<void>> Informer::State::ListAll() {
  ListOptions list;
  list.label_selector = options.label_selector;
  list.field_selector = options.field_selector;
  auto call = client.List(kind, options.ns, std::move(list));
  CO_TRY_ASSIGN(ListResult result, co_await std::move(call));
  resource_version = result.resource_version;
  Replace(std::move(result.items));
  if (!synced) {
    synced = true;
    changed.Notify();
  }
  co_return Done();
}

// Until the watch ends; an error means: list again.
Task<Result<void>> Informer::State::WatchOnce() {
  WatchOptions watch;
  watch.label_selector = options.label_selector;
  watch.field_selector = options.field_selector;
  watch.resource_version = resource_version;
  watch.timeout_seconds = kWatchSeconds + static_cast<int64_t>(runtime.Random() % kWatchSeconds);
  auto call = client.Watch(kind, options.ns, std::move(watch));
  CO_TRY_ASSIGN(std::unique_ptr<WatchStream> stream, co_await std::move(call));
  while (true) {
    auto next = stream->Next();
    CO_TRY_ASSIGN(std::optional<WatchEvent> event, co_await std::move(next));
    if (!event) co_return Done();
    if (event->type == WatchEventType::kError) co_return Fail(*event->error);
    std::string version(meta::ResourceVersion(event->object->root()));
    switch (event->type) {
      case WatchEventType::kAdded:
      case WatchEventType::kModified: Put(event->object); break;
      case WatchEventType::kDeleted: Remove(meta::Key(event->object->root()), event->object); break;
      default: break;
    }
    if (!version.empty()) resource_version = std::move(version);
  }
}

Task<void> Informer::State::Run() {
  Duration pause = kFirstPause;
  bool listed = false;
  while (true) {
    Result<void> outcome = Done();
    if (!listed) {
      auto list = ListAll();
      outcome = co_await std::move(list);
      listed = outcome.has_value();
    }
    if (outcome) {
      auto watch = WatchOnce();
      outcome = co_await std::move(watch);
    }
    if (outcome) {
      pause = kFirstPause;
      continue;
    }
    // A position that history no longer has, or that is unclear, begins anew with a list.
    bool expired = outcome.error().IsExpired();
    if (expired || outcome.error().code() == 504) listed = false;
    if (!expired) {
      client.options().log.V(2).Info("watch broke", {{"kind", kind.gvk.kind}, {"error", outcome.error()}});
      Duration jittered = pause + pause * static_cast<int64_t>(runtime.Random() % 100) / 100;
      auto wait = Sleep(runtime, jittered);
      co_await std::move(wait);
      pause = std::min(pause * 2, kLongestPause);
    }
  }
}

Task<void> Informer::State::Resync() {
  while (true) {
    auto wait = Sleep(runtime, options.resync);
    co_await std::move(wait);
    std::vector<object::DocumentPtr> all;
    for (const auto& [key, object] : objects) all.push_back(object);
    for (const object::DocumentPtr& object : all) Tell({object, object});
  }
}

Informer::Informer(Runtime& runtime, Client client, const schema::Kind& kind, InformerOptions options)
    : state_(std::make_shared<State>(runtime, std::move(client), kind, std::move(options))) {}
Informer::~Informer() = default;

void Informer::AddHandler(std::function<void(const Change&)> handler) {
  // Whoever comes late hears of everything that is there.
  for (const auto& [key, object] : state_->objects) handler({nullptr, object});
  state_->handlers.push_back(std::move(handler));
}

void Informer::AddIndex(std::string name, IndexFunction function) {
  for (const Index& index : state_->indexes) if (index.name == name) return;
  Index index{std::move(name), std::move(function), {}};
  std::vector<std::string> values;
  for (const auto& [key, object] : state_->objects) {
    values.clear();
    index.function(object->root(), values);
    for (const std::string& value : values) index.keys[value].insert(key);
  }
  state_->indexes.push_back(std::move(index));
}

void Informer::Start() {
  if (std::exchange(state_->started, true)) return;
  state_->group.Spawn(state_->Run());
  if (state_->options.resync > Duration(0)) state_->group.Spawn(state_->Resync());
}

bool Informer::synced() const { return state_->synced; }

Task<void> Informer::WaitForSync() {
  auto state = state_;
  while (!state->synced) {
    auto wait = state->changed.Wait();
    co_await wait;
  }
}

object::DocumentPtr Informer::Get(std::string_view key) const {
  auto found = state_->objects.find(key);
  return found == state_->objects.end() ? nullptr : found->second;
}

std::vector<object::DocumentPtr> Informer::List(std::string_view ns) const {
  std::vector<object::DocumentPtr> list;
  if (ns.empty()) {
    for (const auto& [key, object] : state_->objects) list.push_back(object);
    return list;
  }
  std::string prefix = std::string(ns) + "/";
  for (auto at = state_->objects.lower_bound(prefix); at != state_->objects.end() && at->first.starts_with(prefix); ++at) {
    list.push_back(at->second);
  }
  return list;
}

std::vector<object::DocumentPtr> Informer::ByIndex(std::string_view name, std::string_view value) const {
  std::vector<object::DocumentPtr> list;
  for (const Index& index : state_->indexes) {
    if (index.name != name) continue;
    auto found = index.keys.find(std::string(value));
    if (found == index.keys.end()) break;
    for (const std::string& key : found->second) list.push_back(Get(key));
  }
  std::ranges::sort(list, {}, [](const object::DocumentPtr& object) { return meta::Key(object->root()); });
  return list;
}

size_t Informer::size() const { return state_->objects.size(); }
const schema::Kind& Informer::kind() const { return state_->kind; }

struct InformerFactory::State {
  Runtime& runtime;
  Client client;
  std::vector<std::unique_ptr<Informer>> informers;
};

InformerFactory::InformerFactory(Runtime& runtime, Client client)
    : state_(std::make_unique<State>(State{runtime, std::move(client), {}})) {}
InformerFactory::~InformerFactory() = default;

Informer& InformerFactory::For(const schema::Kind& kind) {
  for (const auto& informer : state_->informers) if (&informer->kind() == &kind) return *informer;
  return *state_->informers.emplace_back(std::make_unique<Informer>(state_->runtime, state_->client, kind));
}

void InformerFactory::Start() {
  for (const auto& informer : state_->informers) informer->Start();
}

Task<void> InformerFactory::WaitForSync() {
  for (size_t i = 0; i < state_->informers.size(); ++i) {
    auto wait = state_->informers[i]->WaitForSync();
    co_await std::move(wait);
  }
}

}  // namespace homeostat::sdk
