// get and list: reading is choosing entries of a snapshot and copying their bytes.
#include <algorithm>
#include <cctype>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/options.h"
#include "server/selection.h"
#include "server/views.h"
#include "server/verbs.h"

namespace homeostat::server {
namespace {

constexpr Duration kFreshnessWait = std::chrono::seconds(3);

// Where the next page begins. Source: upstream's continue token, JSON in URL-safe base64.
struct ContinueToken {
  int64_t revision = 0;       // -1: at whatever is current
  std::string start_key;      // below the prefix
};

// Where Go's decoder stops: at what is no letter of the alphabet, or at a last letter that alone makes no octet.
size_t Base64UrlFault(std::string_view text) {
  size_t last = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c == '\n' || c == '\r') continue;
    if (std::isalnum(c) == 0 && c != '-' && c != '_') return at;
    last = at;
  }
  return last;
}

Result<ContinueToken> DecodeContinue(std::string_view text) {
  auto invalid = [](std::string_view why) {
    return Fail(BadRequestError("invalid continue token: continue key is not valid: " + std::string(why)));
  };
  auto json = Base64UrlDecode(text);
  if (!json) return invalid("illegal base64 data at input byte " + std::to_string(Base64UrlFault(text)));
  object::Arena arena;
  auto parsed = object::ParseJson(arena, *json);
  if (!parsed) return invalid(parsed.error().message());
  if (parsed->Get("v").AsString() != "meta.k8s.io/v1") {
    return invalid("server does not recognize this encoded version " + std::string(parsed->Get("v").AsString()));
  }
  ContinueToken token;
  token.revision = parsed->Get("rv").AsInt();
  token.start_key = parsed->Get("start").AsString();
  if (token.revision == 0) {
    return invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  if (token.start_key.empty()) return invalid("encoded start key empty (version meta.k8s.io/v1)");
  // A token is the client's to forge: it must not lead out of the prefix.
  std::string_view key = token.start_key;
  if (key.find("//") != key.npos || key.find("/../") != key.npos || key.starts_with("../") || key.ends_with("/..") ||
      key.find("/./") != key.npos) {
    return invalid(token.start_key);
  }
  return token;
}

std::string EncodeContinue(int64_t revision, std::string_view start_key) {
  std::string json = "{\"v\":\"meta.k8s.io/v1\",\"rv\":" + std::to_string(revision) + ",\"start\":";
  object::AppendJsonString(json, start_key);
  json += "}";
  return Base64UrlEncode(json);
}

using Page = ListPage;

// Takes entries that match, up to the limit, from those at `start` on.
Result<Page> TakePage(const Selection& selection, const std::vector<cache::EntryPtr>& entries, size_t start, int64_t limit,
                      std::string_view prefix, uint64_t revision) {
  Page page;
  page.meta.revision = revision;
  for (size_t i = start; i < entries.size(); ++i) {
    if (!selection.Everything()) {
      TRY_ASSIGN(object::DocumentPtr document, entries[i]->document());
      if (!selection.Matches(document->root())) continue;
    }
    page.entries.push_back(entries[i]);
    if (limit <= 0 || page.entries.size() < static_cast<size_t>(limit)) continue;
    if (i + 1 == entries.size()) break;
    // The next page begins right behind this key.
    std::string next(entries[i]->key().substr(prefix.size()));
    next.push_back('\0');
    page.meta.continue_token = EncodeContinue(static_cast<int64_t>(revision), next);
    if (selection.Everything()) page.meta.remaining = static_cast<int64_t>(entries.size() - i - 1);
    break;
  }
  return page;
}

size_t LowerBound(const std::vector<cache::EntryPtr>& entries, std::string_view key) {
  auto found = std::ranges::lower_bound(entries, key, std::less<>(), [](const cache::EntryPtr& e) -> std::string_view {
    return e->key();
  });
  return static_cast<size_t>(found - entries.begin());
}

Status ExpiredContinue(std::string_view start_key) {
  StatusDetails details;
  details.continue_token = EncodeContinue(-1, start_key);
  return ExpiredError(
             "The provided continue parameter is too old to display a consistent list result. You can start a new list "
             "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
             "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
             "modified, or deleted between the time the first chunk was returned and now may show up in the list.")
      .WithDetails(details);
}

// One object by its key, when the selector names it.
cache::Snapshot Pinned(const RequestContext& context, std::string_view ns, std::string_view name) {
  cache::Snapshot snapshot;
  snapshot.revision = context.parts.cache.revision();
  if (auto entry = context.parts.cache.Get(StorageKey(context.storage(), ns, name))) snapshot.entries.push_back(entry);
  return snapshot;
}

// Selectors are asked of what the request's version shows.
Task<Result<std::vector<cache::EntryPtr>>> ViewsToSelect(RequestContext& context, const Selection& selection, std::vector<cache::EntryPtr> entries) {
  if (selection.Everything()) co_return entries;
  auto views = ViewsOf(context.parts, *context.resource, std::move(entries));
  co_return co_await std::move(views);
}

Task<Result<Page>> ContinuePage(RequestContext& context, ListQuery query, Selection selection, std::string prefix) {
  CO_TRY_ASSIGN(ContinueToken token, DecodeContinue(query.continue_token));
  if (!query.resource_version.empty() && query.resource_version != "0") {
    co_return Fail(BadRequestError("specifying resource version is not allowed when using continue"));
  }
  cache::Snapshot snapshot;
  if (token.revision < 0) {
    snapshot = context.parts.cache.List(prefix);
  } else {
    auto list = context.parts.cache.ListAt(prefix, static_cast<uint64_t>(token.revision));
    auto listed = co_await std::move(list);
    if (!listed && listed.error().IsExpired()) co_return Fail(ExpiredContinue(token.start_key));
    if (!listed) co_return Fail(listed.error());
    snapshot = *std::move(listed);
  }
  auto views = ViewsToSelect(context, selection, std::move(snapshot.entries));
  CO_TRY_ASSIGN(snapshot.entries, co_await std::move(views));
  size_t start = LowerBound(snapshot.entries, prefix + token.start_key);
  // From any version all the rest is given, as by FirstPage.
  int64_t limit = query.resource_version == "0" ? 0 : query.limit;
  co_return TakePage(selection, snapshot.entries, start, limit, prefix, snapshot.revision);
}

// Upstream then reads that object: a limit is no wish for the exact version. With a place to go on from it reads a page as ever.
bool IsOfOne(const RequestContext& context, const Selection& selection) {
  return selection.name() && (!context.info.ns.empty() || !context.storage().namespaced);
}

Task<Result<Page>> FirstPage(RequestContext& context, ListQuery query, Selection selection, std::string prefix) {
  CO_TRY_ASSIGN(uint64_t asked, ParseListVersion(query.resource_version));
  const bool of_one = IsOfOne(context, selection);
  // Version 0 in a spelling other than "0", which is refused, is none.
  bool exact = asked > 0 && (query.resource_version_match == "Exact" || (query.resource_version_match.empty() && query.limit > 0 && !of_one));
  if (asked > 0) {
    auto wait = context.parts.cache.WaitFor(asked, kFreshnessWait);
    CO_TRY(co_await std::move(wait));
  }
  if (exact) {
    auto list = context.parts.cache.ListAt(prefix, asked);
    CO_TRY_ASSIGN(cache::Snapshot snapshot, co_await std::move(list));
    auto views = ViewsToSelect(context, selection, std::move(snapshot.entries));
    CO_TRY_ASSIGN(snapshot.entries, co_await std::move(views));
    co_return TakePage(selection, snapshot.entries, 0, query.limit, prefix, asked);
  }
  // From any version the whole list is given, whatever the limit, as upstream's cache does.
  int64_t limit = query.resource_version == "0" ? 0 : query.limit;
  cache::Snapshot snapshot;
  if (of_one) {
    snapshot = Pinned(context, context.info.ns, *selection.name());
  } else {
    snapshot = context.parts.cache.List(prefix);
  }
  auto views = ViewsToSelect(context, selection, std::move(snapshot.entries));
  CO_TRY_ASSIGN(snapshot.entries, co_await std::move(views));
  co_return TakePage(selection, snapshot.entries, 0, limit, prefix, snapshot.revision);
}

}  // namespace

Task<Result<http::Response>> GetObject(RequestContext& context) {
  if (context.query.Has("export") && ParseBool(context.query.Get("export"))) {
    co_return Fail(BadRequestError("the export parameter, deprecated since v1.14, is no longer supported"));
  }
  std::string_view version = context.query.Get("resourceVersion");
  if (!version.empty() && version != "0") {
    auto revision = ParseResourceVersion(version);
    if (!revision && context.resource->behaviour->uncached) co_return Fail(ParseListVersion(version).error());
    if (!revision) co_return Fail(Status(500, "", revision.error().message()));
    auto wait = context.parts.cache.WaitFor(*revision, kFreshnessWait);
    CO_TRY(co_await std::move(wait));
  }
  CO_TRY(CheckKey(context, context.info.name));
  cache::EntryPtr entry = context.parts.cache.Get(StorageKey(context.storage(), context.info.ns, context.info.name));
  if (!entry) co_return Fail(context.NotFound(context.info.name));
  if (context.resource->conversion != nullptr) {
    auto view = ViewOf(context.parts, *context.resource, entry);
    CO_TRY_ASSIGN(entry, co_await std::move(view));
  }
  CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
  Answer answer{200, document, document->root(), &context.storage(), entry};
  co_return EncodeAnswer(context, answer);
}

Task<Result<ListPage>> ReadPage(RequestContext& context, ListQuery query, Selection selection) {
  std::string prefix = StoragePrefix(context.storage(), context.info.ns);
  auto take = query.continue_token.empty() ? FirstPage(context, query, selection, prefix) : ContinuePage(context, query, selection, prefix);
  CO_TRY_ASSIGN(Page page, co_await std::move(take));
  auto views = ViewsOf(context.parts, *context.resource, std::move(page.entries));
  CO_TRY_ASSIGN(page.entries, co_await std::move(views));
  co_return page;
}

Task<Result<http::Response>> ListObjects(RequestContext& context) {
  CO_TRY_ASSIGN(ListQuery query, ParseListQuery(context.query));
  CO_TRY_ASSIGN(Selection selection, Selection::Make(query, *context.resource));
  auto take = ReadPage(context, std::move(query), std::move(selection));
  CO_TRY_ASSIGN(Page page, co_await std::move(take));
  co_return EncodeList(context, page.entries, page.meta);
}

}  // namespace homeostat::server
