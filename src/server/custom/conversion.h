// Conversion: objects of a custom kind brought from one version to another by the webhook that their definition names.
// Source: apiextensions-apiserver's pkg/apiserver/conversion.
#pragma once

#include <functional>
#include <list>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/cache.h"
#include "callout/caller.h"
#include "homeostat/schema/kind.h"
#include "server/context.h"

namespace homeostat::server {

// Of one state of a definition, which outlives every task of it through the resources made of it. Loop only.
class Conversion {
 public:
  // The kind of one of the definition's versions, with its type; null if there is no such version.
  using FindKind = std::function<const schema::Kind*(std::string_view version)>;

  // webhook: spec.conversion.webhook of the definition; stored: the version that is stored.
  Conversion(Runtime& runtime, const Value& webhook, FindKind find_kind, const schema::Kind& stored);

  const schema::Kind& stored() const { return stored_; }
  const schema::Kind* Find(std::string_view version) const { return find_kind_(version); }

  // An object typed as that kind. Whoever asks keeps its tree alive as long as the result.
  struct Item {
    Value object;
    const schema::Kind* kind;
  };
  // The objects as `to` has them, in their order, none of them being of that version yet: unknown fields are dropped, nothing
  // but labels and annotations of the metadata may differ. Of many, several calls are made, one after the other. The error is
  // a 500 in upstream's words: "conversion webhook for …, Kind=… failed: …".
  Task<Result<std::vector<object::OwnedValue>>> Convert(callout::Caller& caller, std::vector<Item> items, const schema::Kind& to);

  // Stored objects as `to` shows them; those stored in that version as they are, absent ones (null) too. A view is made once for
  // whoever asks for it while it is recent.
  Task<Result<std::vector<cache::EntryPtr>>> Views(callout::Caller& caller, std::vector<cache::EntryPtr> entries, const schema::Kind& to);

  // Keeps no views from now on: their trees keep the definition, and it would keep them for ever.
  void DropViews();

 private:
  struct Kept {
    std::string key;
    cache::EntryPtr view;
    size_t bytes = 0;
  };
  class Claim;

  Task<Result<void>> ConvertBatch(callout::Caller& caller, std::span<const Item> items, const schema::Kind& to,
                                  std::vector<object::OwnedValue>& out);
  Task<Result<void>> MakeViews(callout::Caller& caller, std::span<const cache::EntryPtr> entries, std::span<const std::string> keys,
                               const schema::Kind& to, std::vector<cache::EntryPtr>& out);
  cache::EntryPtr FindView(const std::string& key);
  void KeepView(std::string key, cache::EntryPtr view, size_t bytes);

  Runtime& runtime_;
  Result<callout::Target> target_;
  std::string review_version_;  // "" if the webhook knows none of ours
  FindKind find_kind_;
  const schema::Kind& stored_;
  std::list<Kept> kept_;  // the one used last first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
  size_t kept_bytes_ = 0;
  bool keeps_ = true;
  std::set<std::string> under_way_;  // views that somebody makes just now
  Signal made_;
};

}  // namespace homeostat::server
