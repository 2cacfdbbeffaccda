#include "server/custom/conversion.h"

#include <algorithm>
#include <utility>

#include "homeostat/base/ids.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/custom/converted.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

constexpr size_t kBatchObjects = 500;
constexpr size_t kBatchBytes = 8 << 20;
constexpr size_t kKeptBytes = 16 << 20;
constexpr size_t kViewOverhead = 512;
constexpr Duration kTimeout = std::chrono::seconds(30);

// As it is sent: without a resourceVersion, as it is stored.
std::string JsonOf(object::Arena& arena, const Conversion::Item& item) {
  const schema::Kind& kind = *item.kind;
  Value bare = SetMetadata(arena, *kind.type, item.object, "resourceVersion", Value());
  bare = schema::WithTypeMeta(arena, *kind.type, bare, kind.gvk.ApiVersion(), kind.gvk.kind);
  std::string json;
  schema::EncodeJson(*kind.type, bare, json);
  return json;
}

}  // namespace

// Says that somebody makes these views; ends with the task that does.
class Conversion::Claim {
 public:
  explicit Claim(Conversion& conversion) : conversion_(conversion) {}
  ~Claim() {
    for (const std::string& key : keys_) conversion_.under_way_.erase(key);
    if (!keys_.empty()) conversion_.made_.Notify();
  }
  Claim(const Claim&) = delete;
  // False if somebody else has it.
  bool Take(const std::string& key) {
    if (!conversion_.under_way_.insert(key).second) return false;
    keys_.push_back(key);
    return true;
  }

 private:
  Conversion& conversion_;
  std::vector<std::string> keys_;
};

Conversion::Conversion(Runtime& runtime, const Value& webhook, FindKind find_kind, const schema::Kind& stored)
    : runtime_(runtime),
      target_(callout::ReadClientConfig(webhook.Get("clientConfig"))),
      find_kind_(std::move(find_kind)),
      stored_(stored),
      made_(runtime) {
  for (const Value& version : webhook.Get("conversionReviewVersions").items()) {
    bool known = version.AsString() == "v1" || version.AsString() == "v1beta1";
    if (known && review_version_.empty()) review_version_ = version.AsString();
  }
}

Task<Result<void>> Conversion::ConvertBatch(callout::Caller& caller, std::span<const Item> items, const schema::Kind& to,
                                            std::vector<object::OwnedValue>& out) {
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  std::string what = "conversion webhook for " + schema::KindText(items.front().kind->gvk);
  auto fail = [&](std::string_view how, const Status& error) { return Fail(Status(500, "", what + std::string(how) + error.message())); };
  std::vector<std::string> objects;
  for (const Item& item : items) objects.push_back(JsonOf(arena, item));
  std::string uid = NewUuid(runtime_);
  callout::PostOptions options{.timeout = kTimeout};
  options.answer_bytes = 4 * kBatchBytes;
  auto post = caller.Post(*target_, Bytes(ConversionRequest(review_version_, uid, to.gvk.ApiVersion(), objects)), options);
  auto body = co_await std::move(post);
  if (!body) co_return fail(" failed: ", body.error());
  auto converted = ReadConversionReview(arena, *body, review_version_, uid);
  if (!converted) co_return fail(" failed: ", converted.error());
  if (converted->size() != items.size()) {
    co_return Fail(Status(500, "", what + " returned " + std::to_string(converted->size()) + " objects, expected " + std::to_string(items.size())));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    auto accepted = AcceptConverted(arena, items[i].object, *items[i].kind, converted->At(i), to, i, items.size() > 1);
    if (!accepted) co_return fail(" returned ", accepted.error());
    out.push_back({document, *accepted});
  }
  co_return Result<void>();
}

Task<Result<std::vector<object::OwnedValue>>> Conversion::Convert(callout::Caller& caller, std::vector<Item> items, const schema::Kind& to) {
  if (!target_) co_return Fail(Status(500, "", target_.error().message()));
  if (review_version_.empty()) co_return Fail(Status(500, "", "no supported conversion review versions"));
  std::vector<object::OwnedValue> out;
  out.reserve(items.size());
  std::span<const Item> rest(items);
  while (!rest.empty()) {
    std::span<const Item> batch = rest.first(std::min(rest.size(), kBatchObjects));
    rest = rest.subspan(batch.size());
    auto convert = ConvertBatch(caller, batch, to, out);
    CO_TRY(co_await std::move(convert));
  }
  co_return out;
}

cache::EntryPtr Conversion::FindView(const std::string& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return kept_.front().view;
}

void Conversion::KeepView(std::string key, cache::EntryPtr view, size_t bytes) {
  if (!keeps_ || by_key_.contains(key)) return;
  bytes += key.size() + kViewOverhead;
  kept_.push_front({key, std::move(view), bytes});
  by_key_[std::move(key)] = kept_.begin();
  kept_bytes_ += bytes;
  while (kept_bytes_ > kKeptBytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.back().bytes;
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
}

void Conversion::DropViews() {
  keeps_ = false;
  by_key_.clear();
  kept_bytes_ = 0;
  auto dropped = std::exchange(kept_, {});  // the last of them may end the definition
}

Task<Result<void>> Conversion::MakeViews(callout::Caller& caller, std::span<const cache::EntryPtr> entries, std::span<const std::string> keys,
                                         const schema::Kind& to, std::vector<cache::EntryPtr>& out) {
  std::vector<Item> items;
  std::vector<object::DocumentPtr> documents;
  for (const cache::EntryPtr& entry : entries) {
    CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
    std::string_view api_version = document->root().Get("apiVersion").AsString();
    const schema::Kind* written = find_kind_(schema::ParseApiVersion(api_version).version);
    if (written == nullptr) {
      co_return Fail(Status(500, "", "request to convert CR from an invalid group/version: " + std::string(api_version)));
    }
    items.push_back({document->root(), written});
    documents.push_back(std::move(document));
  }
  auto convert = Convert(caller, std::move(items), to);
  CO_TRY_ASSIGN(std::vector<object::OwnedValue> converted, co_await std::move(convert));
  for (size_t i = 0; i < entries.size(); ++i) {
    auto document = std::make_shared<object::Document>(converted[i].value);
    document->arena().Keep(converted[i].document);
    document->arena().Keep(documents[i]);
    out.push_back(entries[i]->Showing(document));
    KeepView(keys[i], out.back(), 4 * entries[i]->stored_size());
  }
  co_return Result<void>();
}

Task<Result<std::vector<cache::EntryPtr>>> Conversion::Views(callout::Caller& caller, std::vector<cache::EntryPtr> entries,
                                                             const schema::Kind& to) {
  std::vector<size_t> open;  // those that are not there yet
  std::vector<std::string> keys(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i]) continue;
    CO_TRY_ASSIGN(object::DocumentPtr document, entries[i]->document());
    if (document->root().Get("apiVersion").AsString() == to.gvk.ApiVersion()) continue;
    keys[i] = std::string(entries[i]->key()) + "@" + std::to_string(entries[i]->revision()) + "@" + std::string(to.gvk.version);
    open.push_back(i);
  }
  while (!open.empty()) {
    std::vector<size_t> mine, waiting;
    {
      Claim claim(*this);
      for (size_t i : open) {
        if (cache::EntryPtr view = FindView(keys[i])) entries[i] = std::move(view);
        else if (claim.Take(keys[i])) mine.push_back(i);
        else waiting.push_back(i);
      }
      std::vector<cache::EntryPtr> batch, views;
      std::vector<std::string> batch_keys;
      size_t bytes = 0;
      for (size_t at = 0; at < mine.size(); ++at) {
        batch.push_back(entries[mine[at]]);
        batch_keys.push_back(keys[mine[at]]);
        bytes += batch.back()->stored_size();
        if (at + 1 < mine.size() && batch.size() < kBatchObjects && bytes < kBatchBytes) continue;
        auto make = MakeViews(caller, batch, batch_keys, to, views);
        CO_TRY(co_await std::move(make));
        batch.clear();
        batch_keys.clear();
        bytes = 0;
      }
      for (size_t at = 0; at < mine.size(); ++at) entries[mine[at]] = views[at];
    }
    open = std::move(waiting);
    if (open.empty()) break;
    auto wait = made_.WaitFor(kTimeout);
    co_await std::move(wait);
  }
  co_return entries;
}

}  // namespace homeostat::server
