#include "homeostat/sdk/informer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "homeostat/base/log.h"
#include "sdk/internal/identity_store.h"
#include "sdk/internal/object_store.h"

namespace homeostat::sdk {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// A watch is asked for so long, and up to twice as long, so that not all end at once.
constexpr int64_t kWatchSeconds = 300;
// How much later than asked for a watch may end, and how long a list may take, before nobody is believed to be there.
constexpr Duration kPatience = std::chrono::minutes(1);
// How long a server may be silent within a streamed list before it is believed to know nothing of such lists: an old one takes no
// notice of sendInitialEvents, and never says where the list ends.
constexpr Duration kSilence = std::chrono::seconds(10);
// A watch that lived so long was a good one: the next failure counts as the first.
constexpr Duration kGoodWatch = std::chrono::seconds(10);

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

bool IsDecimal(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The server does not offer the list as a stream.
bool RefusesStreamedList(const Status& status) {
  return status.code() == 400 || status.code() == 405 || status.code() == 406 || status.code() == 422;
}

// The server has answered, and will answer the same again.
bool IsAnswered(const Status& status) { return status.code() / 100 == 4 && status.code() != 429; }

// The position asked for is unknown to the server, not reached by it yet, or not told: begin with a list.
bool NeedsList(const Status& status) { return status.IsExpired() || status.code() == 504; }

Status NobodyThere() { return TimeoutError("the server did not end the request in time"); }

}  // namespace

bool ReachedVersion(std::string_view version, std::string_view other) {
  if (!IsDecimal(version) || !IsDecimal(other)) return false;
  if (version.size() != other.size()) return version.size() > other.size();
  return version >= other;
}

namespace {

std::unique_ptr<LocalStore> MakeStore(const InformerOptions& options) {
  if (options.identities_only) return std::make_unique<IdentityStore>();
  return std::make_unique<ObjectStore>(options.managed_fields);
}

}  // namespace

struct Informer::State {
  State(Runtime& loop, Client the_client, const schema::Kind& the_kind, InformerOptions the_options)
      : runtime(loop),
        client(std::move(the_client)),
        kind(the_kind),
        options(std::move(the_options)),
        stream_list(options.stream_list),
        store(MakeStore(options)),
        changed(loop) {
    group.emplace(loop);
  }

  Runtime& runtime;
  Client client;
  const schema::Kind& kind;
  InformerOptions options;
  bool stream_list;          // the server may be asked for streamed lists
  bool plain_list = false;   // a streamed list came to nothing: the next one is an ordinary one
  std::vector<std::function<void(const Change&)>> handlers;
  const std::unique_ptr<LocalStore> store;
  std::string resource_version;
  bool listed = false;   // resource_version is a position to watch from
  bool synced = false, started = false;
  Signal changed;        // synced became true
  std::optional<TaskGroup> group;   // ends with the informer, also while somebody waits for it

  Task<void> Run();
  Task<void> Resync();
  Task<Result<void>> Turn();
  Task<Result<void>> ListOnce();
  Task<Result<void>> WatchOnce();
  Task<Result<void>> TakeStreamedList(WatchStream* stream);
  WatchOptions MakeWatch();
  Result<void> Take(const WatchEvent& event);
  void TakeList(std::vector<object::DocumentPtr> items, std::string version);
  void Tell(const LocalStore::Changes& changes) const {
    for (const Change& change : changes) {
      for (const auto& handler : handlers) handler(change);
    }
  }
};

void Informer::State::TakeList(std::vector<object::DocumentPtr> items, std::string version) {
  LocalStore::Changes changes;
  store->Replace(std::move(items), changes);
  resource_version = std::move(version);
  listed = true;
  plain_list = false;
  Tell(changes);
  if (!std::exchange(synced, true)) changed.Notify();
}

// An event of a watch that goes on from what is known.
Result<void> Informer::State::Take(const WatchEvent& event) {
  if (event.type == WatchEventType::kError) return Fail(*event.error);
  const object::Value& object = event.object->root();
  std::string version(meta::ResourceVersion(object));
  // Versions of a watch rise: what does not rise was shown before.
  if (ReachedVersion(resource_version, version)) return Done();
  LocalStore::Changes changes;
  if (event.type == WatchEventType::kAdded || event.type == WatchEventType::kModified) store->Put(event.object, changes);
  if (event.type == WatchEventType::kDeleted) store->Remove(meta::Key(object), event.object, changes);
  if (!version.empty()) resource_version = std::move(version);
  Tell(changes);
  return Done();
}

WatchOptions Informer::State::MakeWatch() {
  WatchOptions watch;
  watch.label_selector = options.label_selector;
  watch.field_selector = options.field_selector;
  watch.metadata_only = options.metadata_only;
  watch.timeout_seconds = kWatchSeconds + static_cast<int64_t>(runtime.Random() % kWatchSeconds);
  watch.send_initial_events = !listed;
  if (listed) watch.resource_version = resource_version;
  return watch;
}

// Reads the list that a watch begins with, up to a marked bookmark. Without an error nothing need be listed: then the server has
// sent no such list. What changes while it is sent comes as an event of its own.
Task<Result<void>> Informer::State::TakeStreamedList(WatchStream* stream) {
  std::map<std::string, object::DocumentPtr> objects;
  while (true) {
    auto next = Within(runtime, kSilence, stream->Next());
    std::optional<Result<std::optional<WatchEvent>>> read = co_await next;
    if (!read) {
      stream_list = false;
      co_return Done();
    }
    CO_TRY_ASSIGN(std::optional<WatchEvent> event, std::move(*read));
    if (!event) co_return Done();
    if (event->type == WatchEventType::kError) co_return Fail(*event->error);
    const object::Value& object = event->object->root();
    if (event->type == WatchEventType::kDeleted) {
      objects.erase(meta::Key(object));
    } else if (event->type != WatchEventType::kBookmark) {
      objects[meta::Key(object)] = event->object;
    } else if (meta::Annotations(object).Get(kInitialEventsEnd).AsString() == "true") {
      std::vector<object::DocumentPtr> items;
      for (auto& [key, item] : objects) items.push_back(std::move(item));
      TakeList(std::move(items), std::string(meta::ResourceVersion(object)));
      co_return Done();
    }
  }
}

// Reads a watch to its end. If nothing is listed yet, the list comes first.
Task<Result<void>> Informer::State::WatchOnce() {
  auto call = client.Watch(kind, options.ns, MakeWatch());
  CO_TRY_ASSIGN(std::unique_ptr<WatchStream> stream, co_await call);
  if (!listed) {
    auto list = Within(runtime, kPatience, TakeStreamedList(stream.get()));
    std::optional<Result<void>> outcome = co_await list;
    if (!outcome) co_return Fail(NobodyThere());
    CO_TRY(*outcome);
    if (!listed) co_return Done();
  }
  while (true) {
    auto next = stream->Next();
    CO_TRY_ASSIGN(std::optional<WatchEvent> event, co_await next);
    if (!event) co_return Done();
    CO_TRY(Take(*event));
  }
}

Task<Result<void>> Informer::State::ListOnce() {
  ListOptions list;
  list.label_selector = options.label_selector;
  list.field_selector = options.field_selector;
  list.metadata_only = options.metadata_only;
  auto call = client.List(kind, options.ns, std::move(list));
  CO_TRY_ASSIGN(ListResult result, co_await call);
  TakeList(std::move(result.items), std::move(result.resource_version));
  co_return Done();
}

// One request: the list where it is due and can't be streamed, or a watch.
Task<Result<void>> Informer::State::Turn() {
  if (!listed && (plain_list || !stream_list)) {
    auto list = ListOnce();
    auto limited = Within(runtime, kPatience, std::move(list));
    std::optional<Result<void>> outcome = co_await limited;
    co_return outcome ? *outcome : Fail(NobodyThere());
  }
  plain_list = !listed;
  auto watch = WatchOnce();
  auto limited = Within(runtime, std::chrono::seconds(2 * kWatchSeconds) + kPatience, std::move(watch));
  std::optional<Result<void>> outcome = co_await limited;
  if (!outcome) co_return Fail(NobodyThere());
  if (plain_list && !*outcome && IsAnswered(outcome->error())) {
    if (RefusesStreamedList(outcome->error())) stream_list = false;
    co_return Done();
  }
  co_return *outcome;
}

Task<void> Informer::State::Run() {
  Duration pause = kFirstPause;
  while (true) {
    MonotonicTime begun = runtime.Now();
    bool was_listed = listed;
    auto turn = Turn();
    Result<void> outcome = co_await turn;
    bool good = runtime.Now() - begun >= kGoodWatch;
    if (good) pause = kFirstPause;
    if (!outcome && listed && NeedsList(outcome.error())) {
      listed = false;
      if (good) continue;
    }
    // A list leads to its watch at once, and so does the end of a watch that lived.
    if (outcome && (good || !was_listed)) continue;
    if (!outcome) {
      client.options().log.V(2).Info("Lost touch with the server", {{"kind", kind.gvk.kind}, {"err", outcome.error()}, {"retryAfter", pause}});
    }
    auto wait = Sleep(runtime, pause + pause * static_cast<int64_t>(runtime.Random() % 100) / 100);
    co_await wait;
    pause = std::min(pause * 2, kLongestPause);
  }
}

Task<void> Informer::State::Resync() {
  while (true) {
    auto wait = Sleep(runtime, options.resync);
    co_await wait;
    LocalStore::Changes all;
    for (object::DocumentPtr& object : store->List({})) all.push_back({object, object});
    Tell(all);
  }
}

Informer::Informer(Runtime& runtime, Client client, const schema::Kind& kind, InformerOptions options)
    : state_(std::make_shared<State>(runtime, std::move(client), kind, std::move(options))) {}
Informer::~Informer() { state_->group.reset(); }

void Informer::AddHandler(std::function<void(const Change&)> handler) {
  for (object::DocumentPtr& object : state_->store->List({})) handler({nullptr, std::move(object)});
  state_->handlers.push_back(std::move(handler));
}

void Informer::AddIndex(std::string name, IndexFunction function) { state_->store->AddIndex(std::move(name), std::move(function)); }

void Informer::Start() {
  if (std::exchange(state_->started, true)) return;
  state_->group->Spawn(state_->Run());
  if (state_->options.resync > Duration(0) && !state_->options.identities_only) state_->group->Spawn(state_->Resync());
}

bool Informer::synced() const { return state_->synced; }

Task<void> Informer::WaitForSync() {
  auto state = state_;
  while (!state->synced) {
    auto wait = state->changed.Wait();
    co_await wait;
  }
}

object::DocumentPtr Informer::Get(std::string_view key) const { return state_->store->Get(key); }
std::vector<object::DocumentPtr> Informer::List(std::string_view ns) const { return state_->store->List(ns); }
std::vector<object::DocumentPtr> Informer::ByIndex(std::string_view index, std::string_view value) const {
  return state_->store->ByIndex(index, value);
}
size_t Informer::size() const { return state_->store->size(); }
const schema::Kind& Informer::kind() const { return state_->kind; }
const std::string& Informer::resource_version() const { return state_->resource_version; }

struct InformerFactory::State {
  struct Entry {
    InformerOptions options;
    std::unique_ptr<Informer> informer;
  };

  Runtime& runtime;
  Client client;
  InformerOptions usual;
  std::vector<Entry> entries;

  Informer* Find(const schema::Kind& kind, const InformerOptions& options) const {
    for (const Entry& entry : entries) {
      if (&entry.informer->kind() == &kind && entry.options == options) return entry.informer.get();
    }
    return nullptr;
  }
};

InformerFactory::InformerFactory(Runtime& runtime, Client client, InformerOptions usual)
    : state_(std::make_unique<State>(State{runtime, std::move(client), std::move(usual), {}})) {}
InformerFactory::~InformerFactory() = default;

Informer& InformerFactory::For(const schema::Kind& kind) { return For(kind, state_->usual); }

Informer& InformerFactory::For(const schema::Kind& kind, InformerOptions options) {
  if (Informer* known = state_->Find(kind, options)) return *known;
  auto informer = std::make_unique<Informer>(state_->runtime, state_->client, kind, options);
  return *state_->entries.emplace_back(State::Entry{std::move(options), std::move(informer)}).informer;
}

Informer& InformerFactory::ForMetadata(const schema::Kind& kind) {
  if (Informer* whole = state_->Find(kind, state_->usual)) return *whole;
  InformerOptions options = state_->usual;
  options.metadata_only = true;
  return For(kind, std::move(options));
}

void InformerFactory::Start() {
  for (const State::Entry& entry : state_->entries) entry.informer->Start();
}

Task<void> InformerFactory::WaitForSync() {
  for (size_t i = 0; i < state_->entries.size(); ++i) {
    auto wait = state_->entries[i].informer->WaitForSync();
    co_await wait;
  }
}

}  // namespace homeostat::sdk
