// What the entries of a cache share: how keys are decoded, and the trees and encodings that were used of late.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache.h"

namespace homeostat::cache::internal {

// What is known of one entry beyond its stored bytes.
struct RecentSlot {
  const Entry* entry = nullptr;
  object::DocumentPtr shown;     // the entry's own tree (Entry::Showing): stays as long as the entry
  object::DocumentPtr document;  // what is kept for the next reader
  std::weak_ptr<const object::Document> known;  // the tree that was handed out last, whoever keeps it
  std::vector<std::pair<std::string, Bytes>> encodings;
  size_t cost = 0;    // bytes, about
  uint64_t turn = 0;  // when it was used last
  bool recent = false;
  std::list<RecentSlot>::iterator self;
};

// Safe to use from any thread. Decoding and encoding run outside the lock; two readers at once may do the same work,
// and the first result stays.
//
// States of a slot: recent (in the list of those, newest first: it costs) → resting, when it is dropped but its tree is
// still held by somebody, or is the entry's own → recent again, or gone.
class EntryContext {
 public:
  // What was not used for `age`, about, is dropped. The runtime must outlive Close.
  EntryContext(Runtime& runtime, size_t recent_bytes, Duration age) : runtime_(runtime), limit_(recent_bytes), age_(age) {}

  void SetDecoder(std::string prefix, Decoder decoder);
  // The decoder of the longest prefix that fits; null if there is none.
  std::shared_ptr<const Decoder> FindDecoder(std::string_view key) const;

  Result<object::DocumentPtr> Document(const Entry& entry);
  Result<Bytes> Encoding(const Entry& entry, std::string_view name,
                         const std::function<Result<Bytes>(const object::Value&)>& make);
  // Hands over a tree that is already there. It serves readers as long as its owner keeps it; keep: and a copy of it, in memory
  // of just its size, longer.
  void SeedDocument(const Entry& entry, object::DocumentPtr document, bool keep);
  // Gives the entry a tree that it keeps as long as it lives. Before others see it.
  void Show(const Entry& entry, object::DocumentPtr document);
  // Whether somebody was answered with that state of late.
  bool IsRecent(const Entry& entry) const;
  // Forgets trees and encodings, as the entry's decoder has changed.
  void Forget(const Entry& entry);
  // The entry ends.
  void Remove(const Entry& entry);

  // The cache has ended: from now on nothing is kept, since a tree may hold an entry, and an entry holds this; and nothing is
  // decoded, since what a decoder knows ends with the server, and may hold entries too.
  void Close();

  size_t recent_bytes() const;

 private:
  friend class ContextPtr;
  using Slots = std::list<RecentSlot>;

  // All below but Tick: with the lock held. What is dropped goes to `dropped`, which the caller empties after the lock, since a
  // tree may be the last to hold another entry.
  object::DocumentPtr KnownDocument(const Entry& entry);
  std::shared_ptr<const Decoder> FindDecoderLocked(std::string_view key) const;
  void KeepDocument(const Entry& entry, object::DocumentPtr document, Slots& dropped);
  RecentSlot& Touch(const Entry& entry);
  void Charge(RecentSlot& slot, size_t bytes, Slots& dropped);
  // Takes out of the recent ones; what must stay rests.
  void Drop(RecentSlot& slot, Slots& dropped);
  // Moves all that the slot holds, and may be let go, to a slot of `dropped`.
  static void Strip(RecentSlot& slot, Slots& dropped);
  void Erase(RecentSlot& slot, Slots& dropped);
  // Drops what rests for the sake of a tree that nobody holds any more; whether some rest on.
  bool Sweep(Slots& dropped);
  void StartTicking();
  void Tick();

  Runtime& runtime_;
  std::atomic<size_t> references_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Decoder>, std::less<>> decoders_;
  Slots recent_, resting_;
  const size_t limit_;
  const Duration age_;
  bool closed_ = false, ticking_ = false;
  size_t cost_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace homeostat::cache::internal
