#include "cache/internal/entry_context.h"

#include <algorithm>

namespace homeostat::cache {

Entry::Entry(store::Record record, const internal::ContextPtr& context) : record_(std::move(record)), context_(context) {}
Entry::~Entry() {
  if (slot_.load(std::memory_order_acquire) != nullptr) context_->Remove(*this);
}
Result<object::DocumentPtr> Entry::document() const { return context_->Document(*this); }
EntryPtr Entry::Showing(object::DocumentPtr document) const {
  auto entry = std::make_shared<Entry>(record_, context_);
  context_->Show(*entry, std::move(document));
  return entry;
}
Result<Bytes> Entry::Encoding(std::string_view name,
                              const std::function<Result<Bytes>(const object::Value&)>& make) const {
  return context_->Encoding(*this, name, make);
}
size_t Entry::memory() const {
  constexpr size_t kCounts = 16;
  return sizeof(Entry) + kCounts + record_.memory();
}

namespace internal {
namespace {

// What a slot costs besides what it holds.
constexpr size_t kSlotBytes = sizeof(RecentSlot) + 64;
// Of an encoding: the reference count, and the name where it has no room in the string itself.
constexpr size_t kEncodingBytes = sizeof(std::pair<std::string, Bytes>) + 64;

Bytes* FindEncoding(RecentSlot& slot, std::string_view name) {
  for (auto& [known, bytes] : slot.encodings) {
    if (known == name) return &bytes;
  }
  return nullptr;
}

// In a block of just its size, whatever its buffer had grown to.
Bytes Exact(const Bytes& bytes) {
  auto block = std::make_shared_for_overwrite<char[]>(bytes.size());
  std::copy(bytes.view().begin(), bytes.view().end(), block.get());
  const std::string_view view(block.get(), bytes.size());
  return Bytes(std::move(block), view);
}

}  // namespace

ContextPtr::ContextPtr(EntryContext* context) : context_(context) {
  context_->references_.fetch_add(1, std::memory_order_relaxed);
}
ContextPtr::~ContextPtr() {
  if (context_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete context_;
}

void EntryContext::SetDecoder(std::string prefix, Decoder decoder) {
  std::lock_guard lock(mutex_);
  decoders_[std::move(prefix)] = std::make_shared<const Decoder>(std::move(decoder));
}

std::shared_ptr<const Decoder> EntryContext::FindDecoder(std::string_view key) const {
  std::lock_guard lock(mutex_);
  return FindDecoderLocked(key);
}

std::shared_ptr<const Decoder> EntryContext::FindDecoderLocked(std::string_view key) const {
  for (std::string_view rest = key; !rest.empty();) {
    if (auto found = decoders_.find(rest); found != decoders_.end()) return found->second;
    const size_t slash = rest.substr(0, rest.size() - 1).rfind('/');
    if (slash == std::string_view::npos) break;
    rest = rest.substr(0, slash + 1);
  }
  return nullptr;
}

object::DocumentPtr EntryContext::KnownDocument(const Entry& entry) {
  RecentSlot* slot = entry.slot_;
  if (slot == nullptr) return nullptr;
  if (slot->shown) return slot->shown;
  auto document = slot->known.lock();
  if (document && slot->recent) Touch(entry);
  return document;
}

Result<object::DocumentPtr> EntryContext::Document(const Entry& entry) {
  {
    std::lock_guard lock(mutex_);
    if (auto document = KnownDocument(entry)) return document;
  }
  auto decoder = FindDecoder(entry.key());
  if (!decoder || !*decoder) {
    return Fail(InternalError("nothing decodes the stored object " + std::string(entry.key())));
  }
  TRY_ASSIGN(object::DocumentPtr document, (*decoder)(entry.stored(), entry.revision()));
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (auto first = KnownDocument(entry)) return first;
  // One decoded as the kind was before must not stay.
  if (FindDecoderLocked(entry.key()) == decoder) KeepDocument(entry, document, dropped);
  return document;
}

void EntryContext::SeedDocument(const Entry& entry, object::DocumentPtr document, bool keep) {
  if (keep) {
    auto copy = std::make_shared<object::Document>();
    copy->set_root(object::DeepCopy(copy->arena(), document->root()));
    document = std::move(copy);
  }
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (keep) {
    KeepDocument(entry, std::move(document), dropped);
  } else if (!closed_) {
    RecentSlot& slot = Touch(entry);
    slot.known = document;
    Charge(slot, sizeof(object::Document), dropped);  // which stays in memory as long as it is known
  }
}

void EntryContext::Show(const Entry& entry, object::DocumentPtr document) {
  std::lock_guard lock(mutex_);
  RecentSlot& slot = resting_.emplace_front();
  slot.self = resting_.begin();
  slot.entry = &entry;
  slot.shown = std::move(document);
  entry.slot_ = &slot;
}

bool EntryContext::IsRecent(const Entry& entry) const {
  std::lock_guard lock(mutex_);
  const RecentSlot* slot = entry.slot_;
  return slot != nullptr && !slot->encodings.empty();
}

void EntryContext::KeepDocument(const Entry& entry, object::DocumentPtr document, Slots& dropped) {
  if (closed_) return;
  RecentSlot& slot = Touch(entry);
  const size_t bytes = document->arena().capacity() + sizeof(object::Document);
  slot.known = document;
  slot.document = std::move(document);
  Charge(slot, bytes, dropped);
}

Result<Bytes> EntryContext::Encoding(const Entry& entry, std::string_view name,
                                     const std::function<Result<Bytes>(const object::Value&)>& make) {
  {
    std::lock_guard lock(mutex_);
    RecentSlot* slot = entry.slot_;
    if (slot != nullptr && slot->recent) {
      if (Bytes* known = FindEncoding(Touch(entry), name)) return *known;
    }
  }
  TRY_ASSIGN(object::DocumentPtr document, Document(entry));
  TRY_ASSIGN(Bytes made, make(document->root()));
  Bytes bytes = Exact(made);
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (closed_ || KnownDocument(entry) != document) return bytes;  // or the kind has changed meanwhile
  RecentSlot& slot = Touch(entry);
  if (Bytes* known = FindEncoding(slot, name)) return *known;
  slot.encodings.reserve(slot.encodings.size() + 1);
  slot.encodings.emplace_back(std::string(name), bytes);
  Charge(slot, bytes.size() + kEncodingBytes, dropped);
  return bytes;
}

void EntryContext::Forget(const Entry& entry) {
  Slots dropped;
  std::lock_guard lock(mutex_);
  RecentSlot* slot = entry.slot_;
  if (slot == nullptr) return;
  slot->known.reset();
  if (slot->recent) {
    Drop(*slot, dropped);
  } else if (!slot->shown) {
    Erase(*slot, dropped);
  }
}

void EntryContext::Remove(const Entry& entry) {
  Slots dropped;
  std::lock_guard lock(mutex_);
  RecentSlot* slot = entry.slot_;
  if (slot != nullptr) Erase(*slot, dropped);
}

void EntryContext::Close() {
  Slots dropped;
  decltype(decoders_) decoders;
  std::lock_guard lock(mutex_);
  closed_ = true;
  decoders.swap(decoders_);
  while (!recent_.empty()) Drop(recent_.back(), dropped);
}

size_t EntryContext::recent_bytes() const {
  std::lock_guard lock(mutex_);
  return cost_;
}

// The entry's slot, made if there is none, at the front of the recent ones.
RecentSlot& EntryContext::Touch(const Entry& entry) {
  RecentSlot* slot = entry.slot_;
  if (slot == nullptr) {
    slot = &recent_.emplace_front();
    slot->self = recent_.begin();
    slot->entry = &entry;
    entry.slot_.store(slot, std::memory_order_release);
  } else {
    recent_.splice(recent_.begin(), slot->recent ? recent_ : resting_, slot->self);
  }
  if (!std::exchange(slot->recent, true)) {
    slot->cost = kSlotBytes;
    cost_ += kSlotBytes;
    if (!ticking_) StartTicking();
  }
  slot->turn = turn_;
  return *slot;
}

// Adds to the cost of the slot, which is at the front, and makes room at the end.
void EntryContext::Charge(RecentSlot& slot, size_t bytes, Slots& dropped) {
  slot.cost += bytes;
  cost_ += bytes;
  while (cost_ > limit_ && &recent_.back() != &slot) Drop(recent_.back(), dropped);
}

void EntryContext::Strip(RecentSlot& slot, Slots& dropped) {
  RecentSlot& gone = dropped.emplace_back();
  gone.document = std::move(slot.document);
  gone.encodings = std::exchange(slot.encodings, {});
}

void EntryContext::Drop(RecentSlot& slot, Slots& dropped) {
  // Apart from our own hold.
  const bool held = slot.known.use_count() > (slot.document ? 1 : 0);
  if (!slot.shown && !held) return Erase(slot, dropped);
  Strip(slot, dropped);
  cost_ -= std::exchange(slot.cost, 0);
  slot.recent = false;
  resting_.splice(resting_.begin(), recent_, slot.self);
}

void EntryContext::Erase(RecentSlot& slot, Slots& dropped) {
  cost_ -= slot.cost;
  const Entry& entry = *slot.entry;
  dropped.splice(dropped.begin(), slot.recent ? recent_ : resting_, slot.self);
  entry.slot_.store(nullptr, std::memory_order_release);  // last: the entry may end now
}

bool EntryContext::Sweep(Slots& dropped) {
  bool rest = false;
  for (auto it = resting_.begin(); it != resting_.end();) {
    RecentSlot& slot = *it++;
    if (slot.shown) continue;
    if (slot.known.expired()) {
      Erase(slot, dropped);
    } else {
      rest = true;
    }
  }
  return rest;
}

// Half the age is a turn: what was not used in this one or the one before is old.
void EntryContext::StartTicking() {
  ticking_ = true;
  runtime_.Post([self = ContextPtr(this)] {
    self->runtime_.After(self->age_ / 2, [self] { self->Tick(); });
  });
}

void EntryContext::Tick() {
  Slots dropped;
  std::lock_guard lock(mutex_);
  ticking_ = false;
  ++turn_;
  while (!recent_.empty() && recent_.back().turn + 1 < turn_) Drop(recent_.back(), dropped);
  const bool rest = Sweep(dropped);
  if (!closed_ && (rest || !recent_.empty())) StartTicking();
}

}  // namespace internal
}  // namespace homeostat::cache
