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

// What is kept of one entry beyond its stored bytes. Lives in the list of recent ones, newest first.
struct RecentSlot {
  const Entry* entry = nullptr;
  object::DocumentPtr document;
  std::vector<std::pair<std::string, Bytes>> encodings;
  size_t cost = 0;  // bytes, about
  std::list<RecentSlot>::iterator self;
};

// Safe to use from any thread. Decoding and encoding run outside the lock; two readers at once may do the same work,
// and the first result stays.
class EntryContext {
 public:
  explicit EntryContext(size_t recent_bytes) : limit_(recent_bytes) {}

  void SetDecoder(std::string prefix, Decoder decoder);
  // The decoder of the longest prefix that fits; null if there is none.
  std::shared_ptr<const Decoder> FindDecoder(std::string_view key) const;

  Result<object::DocumentPtr> Document(const Entry& entry);
  Result<Bytes> Encoding(const Entry& entry, std::string_view name,
                         const std::function<Result<Bytes>(const object::Value&)>& make);
  // Hands over a tree that is already there. It serves readers as long as its owner keeps it; keep: and a copy of it, in memory
  // of just its size, longer.
  void SeedDocument(const Entry& entry, object::DocumentPtr document, bool keep);
  // Whether somebody was answered with that state of late.
  bool IsRecent(const Entry& entry) const;
  // Forgets trees and encodings: the entry ends, or its decoder has changed.
  void Forget(const Entry& entry);

  // The cache has ended: from now on nothing is kept, since a tree may hold an entry, and an entry holds this; and nothing is
  // decoded, since what a decoder knows ends with the server, and may hold entries too.
  void Close();

  size_t recent_bytes() const;

 private:
  using Slots = std::list<RecentSlot>;

  object::DocumentPtr FindDocument(const Entry& entry);
  // All below: with the lock held. What is dropped goes to `dropped`, which the caller empties after the lock, since a
  // tree may be the last to hold another entry.
  std::shared_ptr<const Decoder> FindDecoderLocked(std::string_view key) const;
  void KeepDocument(const Entry& entry, object::DocumentPtr document, Slots& dropped);
  RecentSlot& Touch(const Entry& entry);
  void Charge(RecentSlot& slot, size_t bytes, Slots& dropped);
  void Drop(RecentSlot& slot, Slots& dropped);

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Decoder>, std::less<>> decoders_;
  Slots recent_;
  const size_t limit_;
  bool closed_ = false;
  size_t cost_ = 0;
};

}  // namespace homeostat::cache::internal
