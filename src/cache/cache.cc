#include "cache/cache.h"

#include <absl/container/btree_set.h>

#include <map>
#include <unordered_map>

#include "cache/internal/entry_context.h"
#include "cache/internal/watch_hub.h"
#include "cache/internal/window.h"

namespace homeostat::cache {
namespace {

// Records per read while the cache is loaded.
constexpr size_t kLoadPage = 10'000;

struct ByKey {
  using is_transparent = void;
  static std::string_view KeyOf(std::string_view key) { return key; }
  static std::string_view KeyOf(const EntryPtr& entry) { return entry->key(); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return KeyOf(a) < KeyOf(b);
  }
};
// Ordered by key, which is the entry's own: no copy.
using Entries = absl::btree_set<EntryPtr, ByKey>;

// The first key that is no longer under the prefix; empty: there is none.
std::string EndOf(std::string_view prefix) {
  std::string end(prefix);
  if (prefix.ends_with('/')) {
    end.back() = '/' + 1;
  } else if (!prefix.empty()) {
    end.push_back('\0');
  }
  return end;
}

// Takes entries in order and counts those over the limit.
class PageBuilder {
 public:
  PageBuilder(uint64_t revision, size_t limit) : limit_(limit) { snapshot_.revision = revision; }
  void Add(EntryPtr entry) {
    if (limit_ != 0 && snapshot_.entries.size() == limit_) {
      ++snapshot_.remaining;
    } else {
      snapshot_.entries.push_back(std::move(entry));
    }
  }
  Snapshot Take() { return std::move(snapshot_); }

 private:
  Snapshot snapshot_;
  size_t limit_;
};

}  // namespace

class Cache::Impl {
 public:
  Impl(Runtime& runtime, store::Engine& engine, Options options)
      : runtime_(runtime),
        engine_(engine),
        options_(options),
        context_(new internal::EntryContext(runtime, options.recent_bytes, options.recent_age)),
        window_(options),
        hub_(std::make_shared<internal::WatchHub>()),
        advanced_(runtime) {}
  ~Impl() {
    engine_.SetObserver(nullptr);
    context_->Close();
  }

  void SetDecoder(std::string prefix, Decoder decoder) {
    auto range = RangeOf(prefix, {});
    context_->SetDecoder(prefix, std::move(decoder));
    for (auto it = range.first; it != range.second; ++it) context_->Forget(**it);
    for (size_t i = 0; i < window_.size(); ++i) {
      const internal::Window::Item& item = window_.at(i);
      if (!internal::UnderPrefix(item.entry->key(), prefix)) continue;
      context_->Forget(*item.entry);
      if (item.previous) context_->Forget(*item.previous);
    }
    hub_->Wake(prefix);
  }

  void Observe(std::string prefix, std::function<void(const WatchEvent&)> observer) {
    observers_.emplace_back(std::move(prefix), std::move(observer));
  }

  Task<Result<void>> Start() {
    engine_.SetObserver([this](const std::vector<store::Event>& events) { OnEvents(events); });
    auto opening = engine_.Open();
    CO_TRY(co_await opening);
    std::string start;
    const uint64_t revision = engine_.revision();
    for (bool more = true; more;) {
      auto reading = engine_.Range(start, "", revision, kLoadPage);
      CO_TRY_ASSIGN(store::RangeResult page, co_await reading);
      for (store::Record& record : page.records) {
        EntryPtr entry = MakeEntry(std::move(record));
        live_bytes_ += entry->memory();
        entries_.insert(entries_.end(), std::move(entry));
      }
      more = page.more;
      if (more) start = std::string((*entries_.rbegin())->key()) + '\0';
    }
    revision_ = revision;
    window_.Begin(revision);
    hub_->Publish(revision);
    co_return Result<void>();
  }

  uint64_t revision() const { return revision_; }
  uint64_t oldest_revision() const { return window_.start(); }

  EntryPtr Get(std::string_view key) const {
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : *found;
  }

  Snapshot List(std::string_view prefix, const Page& page) const {
    PageBuilder builder(revision_, page.limit);
    auto [first, last] = RangeOf(prefix, page.start);
    for (auto it = first; it != last; ++it) builder.Add(*it);
    return builder.Take();
  }

  Task<Result<Snapshot>> ListAt(std::string prefix, uint64_t revision, Page page) const {
    if (revision > revision_) co_return Fail(store::FutureRevisionError(revision, revision_));
    if (revision == 0 || revision == revision_) co_return List(prefix, page);
    // What was compacted is gone, also where the window could still tell: clients count on an answer that doesn't depend on it.
    const bool kept = revision >= engine_.compacted_revision();
    if (kept && revision >= window_.start()) co_return ListFromWindow(prefix, revision, page);
    auto reading = engine_.Range(std::max(prefix, page.start), EndOf(prefix), revision, 0);
    CO_TRY_ASSIGN(store::RangeResult range, co_await reading);
    PageBuilder builder(revision, page.limit);
    for (store::Record& record : range.records) builder.Add(MakeEntry(std::move(record)));
    co_return builder.Take();
  }

  size_t Count(std::string_view prefix) const {
    auto [first, last] = RangeOf(prefix, {});
    return static_cast<size_t>(std::distance(first, last));
  }

  Task<Result<void>> WaitFor(uint64_t revision, Duration limit) const {
    const MonotonicTime end = runtime_.Now() + limit;
    while (revision_ < revision) {
      const Duration left = end - runtime_.Now();
      if (left <= Duration::zero()) co_return Fail(store::FutureRevisionError(revision, revision_));
      auto waiting = advanced_.WaitFor(left);
      co_await waiting;
    }
    co_return Result<void>();
  }

  Result<std::unique_ptr<Watcher>> Watch(std::string prefix, uint64_t after_revision) {
    if (after_revision < window_.start()) {
      return Fail(ExpiredError("too old resource version: " + std::to_string(after_revision) + " (" +
                               std::to_string(window_.start()) + ")"));
    }
    auto subscription = std::make_shared<internal::Subscription>(runtime_, std::move(prefix), after_revision);
    for (size_t i = window_.FirstAfter(after_revision); i < window_.size(); ++i) {
      const internal::Window::Item& item = window_.at(i);
      if (internal::UnderPrefix(item.entry->key(), subscription->prefix)) subscription->queue.push_back(item.Event());
    }
    // What it missed is not held against it.
    subscription->backlog = options_.watcher_backlog + subscription->queue.size();
    hub_->Add(subscription);
    return internal::MakeWatcher(hub_, std::move(subscription));
  }

  Task<Result<CommitResult>> Commit(store::Write write, DocumentMaker document) {
    const std::string key = write.key;
    PendingDocument pending(*this, std::move(document));
    write.ticket = pending.ticket();
    auto committing = engine_.Commit(std::move(write));
    CO_TRY_ASSIGN(store::CommitOutcome outcome, co_await committing);
    CommitResult result{std::move(outcome)};
    result.entry = Get(key);
    if (result.committed && (!result.entry || result.entry->revision() != result.revision)) {
      // A deletion, or one that was written over in the same group.
      const internal::Window::Item* item = window_.Find(result.revision);
      if (item == nullptr) {
        co_return Fail(InternalError("the cache did not hear of revision " + std::to_string(result.revision)));
      }
      result.entry = item->entry;
    }
    co_return result;
  }

 private:
  // The tree of a write under way, found again by the ticket that the event brings back.
  class PendingDocument {
   public:
    PendingDocument(Impl& impl, DocumentMaker make) : impl_(impl), make_(std::move(make)) {
      if (!make_) return;
      ticket_ = ++impl_.last_ticket_;
      impl_.pending_.emplace(ticket_, this);
    }
    PendingDocument(const PendingDocument&) = delete;
    ~PendingDocument() { impl_.pending_.erase(ticket_); }
    uint64_t ticket() const { return ticket_; }  // 0: there is no tree
    object::DocumentPtr Make(uint64_t revision) const { return make_(revision); }

   private:
    Impl& impl_;
    const DocumentMaker make_;
    uint64_t ticket_ = 0;
  };

  EntryPtr MakeEntry(store::Record record) const { return std::make_shared<Entry>(std::move(record), context_); }

  std::pair<Entries::const_iterator, Entries::const_iterator> RangeOf(std::string_view prefix,
                                                                      std::string_view start) const {
    const std::string end = EndOf(prefix);
    auto first = entries_.lower_bound(std::max(prefix, start));
    auto last = end.empty() ? entries_.end() : entries_.lower_bound(std::string_view(end));
    if (!end.empty() && start >= end) first = last;
    return {first, last};
  }

  // The present with what the window's events did undone: of each key's events after the revision, the first one's
  // previous state is what stood then.
  Snapshot ListFromWindow(std::string_view prefix, uint64_t revision, const Page& page) const {
    std::map<std::string_view, EntryPtr> then;  // null: there was none
    for (size_t i = window_.FirstAfter(revision); i < window_.size(); ++i) {
      const internal::Window::Item& item = window_.at(i);
      const std::string_view key = item.entry->key();
      if (internal::UnderPrefix(key, prefix) && key >= page.start) then.emplace(key, item.previous);
    }
    PageBuilder builder(revision, page.limit);
    auto add_changed = [&](auto it) {
      if (it->second) builder.Add(it->second);
      return std::next(it);
    };
    auto changed = then.begin();
    auto [first, last] = RangeOf(prefix, page.start);
    for (auto it = first; it != last; ++it) {
      const std::string_view key = (*it)->key();
      while (changed != then.end() && changed->first < key) changed = add_changed(changed);
      if (changed != then.end() && changed->first == key) {
        changed = add_changed(changed);
      } else {
        builder.Add(*it);
      }
    }
    while (changed != then.end()) changed = add_changed(changed);
    return builder.Take();
  }

  void OnEvents(const std::vector<store::Event>& events) {
    const MonotonicTime now = runtime_.Now();
    window_.Trim(now, live_bytes_);
    std::vector<WatchEvent> observed;
    for (const store::Event& event : events) {
      WatchEvent watch_event = Apply(event);
      window_.Append(watch_event, now);
      hub_->Dispatch(watch_event);
      revision_ = event.revision;
      if (!observers_.empty()) observed.push_back(std::move(watch_event));
    }
    for (const WatchEvent& event : observed) {
      for (const auto& [prefix, observer] : observers_) {
        if (internal::UnderPrefix(event.key(), prefix)) observer(event);
      }
    }
    hub_->Publish(revision_);
    advanced_.Notify();
  }

  WatchEvent Apply(const store::Event& event) {
    WatchEvent result{.revision = event.revision};
    EntryPtr entry = MakeEntry(event.record);
    auto found = entries_.find(event.record.key());
    if (found != entries_.end()) result.previous = *found;
    if (result.previous) live_bytes_ -= result.previous->memory();
    if (event.deleted) {
      result.deleted = std::move(entry);
      if (found != entries_.end()) entries_.erase(found);
      return result;
    }
    Seed(*entry, result.previous.get(), event.ticket);
    live_bytes_ += entry->memory();
    result.current = entry;
    if (found != entries_.end()) {
      const_cast<EntryPtr&>(*found) = std::move(entry);  // of the same key: the order stands
    } else {
      entries_.insert(std::move(entry));
    }
    return result;
  }

  // The tree is kept where somebody is going to read it soon: who watches, or has been reading the object before.
  void Seed(const Entry& entry, const Entry* previous, uint64_t ticket) {
    auto found = pending_.find(ticket);
    if (found == pending_.end()) return;
    auto document = found->second->Make(entry.revision());
    if (!document) return;
    const bool keep = hub_->Listens(entry.key()) || (previous != nullptr && context_->IsRecent(*previous));
    context_->SeedDocument(entry, std::move(document), keep);
  }

  Runtime& runtime_;
  store::Engine& engine_;
  const Options options_;
  const internal::ContextPtr context_;
  Entries entries_;
  size_t live_bytes_ = 0;  // memory() of all entries
  internal::Window window_;
  std::shared_ptr<internal::WatchHub> hub_;
  std::vector<std::pair<std::string, std::function<void(const WatchEvent&)>>> observers_;
  uint64_t revision_ = 0;
  mutable Signal advanced_;
  uint64_t last_ticket_ = 0;
  std::unordered_map<uint64_t, const PendingDocument*> pending_;
};

Cache::Cache(Runtime& runtime, store::Engine& engine, Options options)
    : impl_(std::make_unique<Impl>(runtime, engine, options)) {}
Cache::~Cache() = default;

void Cache::SetDecoder(std::string prefix, Decoder decoder) {
  impl_->SetDecoder(std::move(prefix), std::move(decoder));
}
void Cache::Observe(std::string prefix, std::function<void(const WatchEvent&)> observer) {
  impl_->Observe(std::move(prefix), std::move(observer));
}
Task<Result<void>> Cache::Start() { return impl_->Start(); }
uint64_t Cache::revision() const { return impl_->revision(); }
uint64_t Cache::oldest_revision() const { return impl_->oldest_revision(); }
EntryPtr Cache::Get(std::string_view key) const { return impl_->Get(key); }
Snapshot Cache::List(std::string_view prefix, const Page& page) const { return impl_->List(prefix, page); }
Task<Result<Snapshot>> Cache::ListAt(std::string prefix, uint64_t revision, Page page) const {
  return impl_->ListAt(std::move(prefix), revision, std::move(page));
}
size_t Cache::Count(std::string_view prefix) const { return impl_->Count(prefix); }
Task<Result<void>> Cache::WaitFor(uint64_t revision, Duration limit) const { return impl_->WaitFor(revision, limit); }
Result<std::unique_ptr<Watcher>> Cache::Watch(std::string prefix, uint64_t after_revision) {
  return impl_->Watch(std::move(prefix), after_revision);
}
Task<Result<CommitResult>> Cache::Commit(store::Write write, DocumentMaker document) {
  return impl_->Commit(std::move(write), std::move(document));
}

}  // namespace homeostat::cache
