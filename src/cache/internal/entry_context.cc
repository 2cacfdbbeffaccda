#include "cache/internal/entry_context.h"

namespace homeostat::cache {

Entry::Entry(store::Record record, std::shared_ptr<internal::EntryContext> context)
    : record_(std::move(record)), context_(std::move(context)) {}
Entry::~Entry() { context_->Forget(*this); }
Result<object::DocumentPtr> Entry::document() const {
  if (shown_) return shown_;
  return context_->Document(*this);
}
EntryPtr Entry::Showing(object::DocumentPtr document) const {
  auto entry = std::make_shared<Entry>(record_, context_);
  entry->shown_ = document;
  entry->document_ = std::move(document);
  return entry;
}
Result<Bytes> Entry::Encoding(std::string_view name,
                              const std::function<Result<Bytes>(const object::Value&)>& make) const {
  return context_->Encoding(*this, name, make);
}

namespace internal {
namespace {

// What a slot costs besides what it holds.
constexpr size_t kSlotBytes = sizeof(RecentSlot) + 64;

Bytes* FindEncoding(RecentSlot& slot, std::string_view name) {
  for (auto& [known, bytes] : slot.encodings) {
    if (known == name) return &bytes;
  }
  return nullptr;
}

}  // namespace

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

object::DocumentPtr EntryContext::FindDocument(const Entry& entry) {
  std::lock_guard lock(mutex_);
  auto document = entry.document_.lock();
  if (document && entry.slot_) Touch(entry);
  return document;
}

Result<object::DocumentPtr> EntryContext::Document(const Entry& entry) {
  if (entry.shown_) return entry.shown_;
  if (auto document = FindDocument(entry)) return document;
  auto decoder = FindDecoder(entry.key());
  if (!decoder || !*decoder) return Fail(InternalError("nothing decodes the stored object " + entry.key()));
  TRY_ASSIGN(object::DocumentPtr document, (*decoder)(entry.stored(), entry.revision()));
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (auto first = entry.document_.lock()) return first;
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
  } else {
    entry.document_ = document;
  }
}

bool EntryContext::IsRecent(const Entry& entry) const {
  std::lock_guard lock(mutex_);
  return entry.slot_ != nullptr && !entry.slot_->encodings.empty();
}

void EntryContext::KeepDocument(const Entry& entry, object::DocumentPtr document, Slots& dropped) {
  entry.document_ = document;
  if (closed_) return;
  RecentSlot& slot = Touch(entry);
  const size_t bytes = document->arena().capacity() + sizeof(object::Document);
  slot.document = std::move(document);
  Charge(slot, bytes, dropped);
}

Result<Bytes> EntryContext::Encoding(const Entry& entry, std::string_view name,
                                     const std::function<Result<Bytes>(const object::Value&)>& make) {
  {
    std::lock_guard lock(mutex_);
    if (entry.slot_) {
      if (Bytes* known = FindEncoding(Touch(entry), name)) return *known;
    }
  }
  TRY_ASSIGN(object::DocumentPtr document, Document(entry));
  TRY_ASSIGN(Bytes bytes, make(document->root()));
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (closed_ || entry.document_.lock() != document) return bytes;  // or the kind has changed meanwhile
  RecentSlot& slot = Touch(entry);
  if (Bytes* known = FindEncoding(slot, name)) return *known;
  slot.encodings.emplace_back(std::string(name), bytes);
  Charge(slot, bytes.size() + name.size() + sizeof(slot.encodings[0]), dropped);
  return bytes;
}

void EntryContext::Forget(const Entry& entry) {
  Slots dropped;
  std::lock_guard lock(mutex_);
  if (entry.slot_) Drop(*entry.slot_, dropped);
  entry.document_.reset();
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

// The entry's slot, made if there is none, at the front.
RecentSlot& EntryContext::Touch(const Entry& entry) {
  if (entry.slot_) {
    recent_.splice(recent_.begin(), recent_, entry.slot_->self);
    return *entry.slot_;
  }
  recent_.emplace_front();
  RecentSlot& slot = recent_.front();
  slot.self = recent_.begin();
  slot.entry = &entry;
  slot.cost = kSlotBytes;
  cost_ += kSlotBytes;
  entry.slot_ = &slot;
  return slot;
}

// Adds to the cost of the slot, which is at the front, and makes room at the end.
void EntryContext::Charge(RecentSlot& slot, size_t bytes, Slots& dropped) {
  slot.cost += bytes;
  cost_ += bytes;
  while (cost_ > limit_ && &recent_.back() != &slot) Drop(recent_.back(), dropped);
}

void EntryContext::Drop(RecentSlot& slot, Slots& dropped) {
  cost_ -= slot.cost;
  slot.entry->slot_ = nullptr;
  dropped.splice(dropped.begin(), recent_, slot.self);
}

}  // namespace internal
}  // namespace homeostat::cache
