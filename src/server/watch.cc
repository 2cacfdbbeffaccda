// watch: events of a kind as a stream of frames, until the client, the time limit or a lost event ends it.
//
// What a selector makes of a change: into it is ADDED, out of it DELETED (with the state before), within it MODIFIED.
// Bookmarks come from the same loop that writes the events, after every event up to their revision.
#include <algorithm>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/body.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/options.h"
#include "server/selection.h"
#include "server/table.h"
#include "server/verbs.h"
#include "server/views.h"
#include "server/watch_socket.h"

namespace homeostat::server {
namespace {

constexpr Duration kBookmarkInterval = std::chrono::seconds(55);
constexpr Duration kBookmarkBeforeEnd = std::chrono::seconds(2);
constexpr int64_t kShortestSeconds = 1800;  // of a watch that names no limit: this, and up to as much again

// Appends one frame: a line of JSON, or a length-delimited protobuf WatchEvent.
void AppendFrame(std::string& out, Encoding encoding, std::string_view type, std::string_view object) {
  if (encoding == Encoding::kProtobuf) {
    object::WireWriter writer;
    size_t mark = writer.size();
    writer.Field(1, object);
    writer.Message(2, mark);
    writer.Field(1, type);
    std::string_view message = writer.view();
    auto size = static_cast<uint32_t>(message.size());
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(size >> shift));
    out += message;
    return;
  }
  while (object.ends_with('\n')) object.remove_suffix(1);
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
  out += object;
  out += "}\n";
}

// What a watch needs after its request is gone: copies of everything.
struct WatchState {
  Parts& parts;
  http::Request request;
  RequestInfo info;
  User user;
  Resource resource;
  MediaTypeOptions output;
  Selection selection;
  std::unique_ptr<cache::Watcher> watcher;
  MonotonicTime end;
  MonotonicTime next_bookmark;
  bool bookmarks = false;
  bool first_table = true;
};

class WatchBody : public http::BodyReader {
 public:
  explicit WatchBody(WatchState state) : state_(std::move(state)) {}

  Task<Result<Bytes>> Read() override;

  // Appends the frame of one object as the request wants to see it.
  Result<void> AppendObject(std::string& out, std::string_view type, const cache::EntryPtr& entry);
  // The same of a tree in storage version, which the document keeps alive.
  Result<void> AppendTree(std::string& out, std::string_view type, const object::DocumentPtr& document, const Value& tree);
  bool EndsBeforeFirstEvent();
  void AppendBookmark(std::string& out, uint64_t revision, bool initial_events_end);
  void AppendError(std::string& out, const Status& status);
  WatchState& state() { return state_; }
  // Frames that come first; set before the first Read.
  void set_initial(std::string frames) { initial_ = std::move(frames); }

 private:
  Result<void> AppendEvent(std::string& out, const cache::WatchEvent& event);
  // The events with what they tell of as the request's version shows it.
  Task<Result<std::vector<cache::WatchEventPtr>>> InRequestVersion(std::vector<cache::WatchEventPtr> events);
  Result<bool> Matches(const cache::EntryPtr& entry);
  bool IsRetired() const;
  Duration TimeLeft(MonotonicTime now) const;

  WatchState state_;
  std::string initial_;
  bool finished_ = false;
};

Result<bool> WatchBody::Matches(const cache::EntryPtr& entry) {
  if (!entry) return false;
  if (state_.selection.Everything()) return true;
  TRY_ASSIGN(object::DocumentPtr document, entry->document());
  return state_.selection.Matches(document->root());
}

// No event holds a list, so that upstream's stream just ends where it would show the first thing as one.
bool WatchBody::EndsBeforeFirstEvent() {
  if (state_.output.transformation != Transformation::kPartialMetadataList) return false;
  finished_ = true;
  return true;
}

Result<void> WatchBody::AppendObject(std::string& out, std::string_view type, const cache::EntryPtr& entry) {
  if (state_.output.transformation == Transformation::kNone) {
    TRY_ASSIGN(Bytes object, EncodeEntry(state_.resource, entry, state_.output.encoding, false));
    AppendFrame(out, state_.output.encoding, type, object);
    return {};
  }
  TRY_ASSIGN(object::DocumentPtr document, entry->document());
  return AppendTree(out, type, document, document->root());
}

Result<void> WatchBody::AppendTree(std::string& out, std::string_view type, const object::DocumentPtr& document, const Value& tree) {
  if (EndsBeforeFirstEvent()) return {};
  RequestContext context{state_.parts, state_.request, state_.info, http::Query::Parse(state_.request.query), state_.user};
  context.resource = &state_.resource;
  context.output = state_.output;
  if (state_.output.transformation == Transformation::kTable) {
    TableOptions options;
    options.version = state_.output.transformation_version;
    options.headers = std::exchange(state_.first_table, false);
    TRY_ASSIGN(options.include, ParseIncludeObject(context.query));
    std::string table;
    Value rows[] = {tree};
    TRY(AppendTable(context, rows, MetadataString(tree, "resourceVersion"), "", std::nullopt, options, table));
    AppendFrame(out, Encoding::kJson, type, table);
    return {};
  }
  TRY_ASSIGN(http::Response one, EncodeAnswer(context, Answer{200, document, tree, state_.resource.storage, nullptr}));
  AppendFrame(out, state_.output.encoding, type, one.body.front());
  return {};
}

void WatchBody::AppendBookmark(std::string& out, uint64_t revision, bool initial_events_end) {
  if (EndsBeforeFirstEvent()) return;
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  const schema::Kind& kind = *state_.resource.kind;
  const bool table = state_.output.transformation == Transformation::kTable;
  bool partial = !table && state_.output.transformation != Transformation::kNone;
  const schema::Type& type = partial ? api::meta::v1::PartialObjectMetadata::SchemaType() : *kind.type;
  Value object = SetMetadata(arena, type, Value::EmptyObject(), "resourceVersion", Value::String(arena, std::to_string(revision)));
  if (initial_events_end) {
    object::ObjectBuilder annotations(arena);
    annotations.Append("k8s.io/initial-events-end", Value::StringRef("true"));
    object = SetMetadata(arena, type, object, "annotations", annotations.Build());
  }
  if (table) {
    // A row like any other, of an object without content; a custom one says what it is, as columns may show.
    if (type.structural) {
      object = SetField(arena, type, object, "kind", Value::StringRef(kind.gvk.kind));
      object = SetField(arena, type, object, "apiVersion", Value::String(arena, kind.gvk.ApiVersion()));
    }
    if (auto shown = AppendTree(out, "BOOKMARK", document, object); !shown) AppendError(out, shown.error());
    return;
  }
  if (auto show = state_.resource.behaviour->shown_when_empty; show != nullptr && !partial) object = show(arena, object);
  std::string api_version = partial ? "meta.k8s.io/" + state_.output.transformation_version : kind.gvk.ApiVersion();
  std::string_view name = partial ? std::string_view("PartialObjectMetadata") : kind.gvk.kind;
  auto bytes = EncodeValue(type, api_version, name, object, state_.output.encoding, false);
  if (bytes) AppendFrame(out, state_.output.encoding, "BOOKMARK", *bytes);
}

void WatchBody::AppendError(std::string& out, const Status& status) {
  MediaTypeOptions plain;
  plain.encoding = state_.output.encoding;
  http::Response response = EncodeStatus(status, plain);
  AppendFrame(out, plain.encoding, "ERROR", response.body.front());
  finished_ = true;
}

Result<void> WatchBody::AppendEvent(std::string& out, const cache::WatchEvent& event) {
  TRY_ASSIGN(bool now, Matches(event.current));
  TRY_ASSIGN(bool before, Matches(event.previous));
  if (now) return AppendObject(out, before ? "MODIFIED" : "ADDED", event.current);
  if (!before) return {};
  if (event.deleted) return AppendObject(out, "DELETED", event.deleted);
  // It left the selection: shown as it was, at the revision at which it left.
  TRY_ASSIGN(object::DocumentPtr document, event.previous->document());
  object::Arena arena;
  Value left = SetMetadata(arena, *state_.resource.storage->type, document->root(), "resourceVersion",
                           Value::String(arena, std::to_string(event.revision)));
  return AppendTree(out, "DELETED", document, left);
}

Task<Result<std::vector<cache::WatchEventPtr>>> WatchBody::InRequestVersion(std::vector<cache::WatchEventPtr> events) {
  bool selects = !state_.selection.Everything();
  std::vector<cache::EntryPtr> entries;
  for (const auto& event : events) {
    entries.push_back(event->current);
    entries.push_back(event->deleted);
    entries.push_back(selects ? event->previous : nullptr);
  }
  auto convert = ViewsOf(state_.parts, state_.resource, std::move(entries));
  CO_TRY_ASSIGN(std::vector<cache::EntryPtr> views, co_await std::move(convert));
  for (size_t i = 0; i < events.size(); ++i) {
    auto shown = std::make_shared<cache::WatchEvent>(*events[i]);
    shown->current = views[3 * i];
    shown->deleted = views[3 * i + 1];
    if (selects) shown->previous = views[3 * i + 2];
    events[i] = std::move(shown);
  }
  co_return events;
}

Duration WatchBody::TimeLeft(MonotonicTime now) const {
  MonotonicTime until = state_.bookmarks ? std::min(state_.end, state_.next_bookmark) : state_.end;
  return until > now ? until - now : Duration(0);
}

// The kind is another now, or gone, and events are no longer of its types: the client begins again.
bool WatchBody::IsRetired() const { return state_.resource.owner && state_.resource.owner->retired(); }

Task<Result<Bytes>> WatchBody::Read() {
  if (!initial_.empty()) co_return Bytes(std::exchange(initial_, {}));
  std::string out;
  while (out.empty() && !finished_) {
    MonotonicTime now = state_.parts.runtime.Now();
    if (now >= state_.end) break;
    if (IsRetired()) break;
    auto next = state_.watcher->Next(TimeLeft(now));
    auto events = co_await std::move(next);
    if (IsRetired()) break;
    if (events && state_.resource.conversion != nullptr) {
      auto convert = InRequestVersion(*std::move(events));
      events = co_await std::move(convert);
      if (IsRetired()) break;
    }
    if (!events) {
      AppendError(out, events.error());
      break;
    }
    for (const auto& event : *events) {
      if (auto appended = AppendEvent(out, *event); !appended) {
        AppendError(out, appended.error());
        break;
      }
    }
    now = state_.parts.runtime.Now();
    if (state_.bookmarks && !finished_ && now >= state_.next_bookmark) {
      AppendBookmark(out, state_.watcher->progress(), false);
      state_.next_bookmark = now + kBookmarkInterval;
    }
  }
  co_return Bytes(std::move(out));
}

// The list that a watch begins with, and the revision it goes on from.
Task<Result<uint64_t>> AppendInitialEvents(WatchBody& body, std::string prefix, uint64_t not_older_than, std::string& out) {
  WatchState& state = body.state();
  if (not_older_than > 0) {
    auto wait = state.parts.cache.WaitFor(not_older_than, std::chrono::seconds(3));
    CO_TRY(co_await std::move(wait));
  }
  cache::Snapshot snapshot = state.parts.cache.List(prefix);
  auto views = ViewsOf(state.parts, state.resource, std::move(snapshot.entries));
  CO_TRY_ASSIGN(snapshot.entries, co_await std::move(views));
  for (const cache::EntryPtr& entry : snapshot.entries) {
    if (!state.selection.Everything()) {
      CO_TRY_ASSIGN(object::DocumentPtr document, entry->document());
      if (!state.selection.Matches(document->root())) continue;
    }
    CO_TRY(body.AppendObject(out, "ADDED", entry));
  }
  co_return snapshot.revision;
}

MonotonicTime EndOfWatch(RequestContext& context, const ListQuery& query) {
  int64_t seconds = query.timeout_seconds.value_or(0);
  if (seconds <= 0) seconds = kShortestSeconds + static_cast<int64_t>(context.runtime().Random() % kShortestSeconds);
  return context.runtime().Now() + std::chrono::seconds(seconds);
}

MonotonicTime FirstBookmark(RequestContext& context, MonotonicTime end) {
  MonotonicTime now = context.runtime().Now();
  MonotonicTime due = now + kBookmarkInterval;
  if (end - kBookmarkBeforeEnd < due && end - now > kBookmarkBeforeEnd) due = end - kBookmarkBeforeEnd;
  return due;
}

// True when the stream starts with what exists: asked for, or no version to go on from was given.
bool BeginsWithList(const ListQuery& query, uint64_t revision) {
  if (query.send_initial_events) return *query.send_initial_events;
  return revision == 0;
}

}  // namespace

Task<Result<http::Response>> WatchObjects(RequestContext& context) {
  ListQuery query;
  CO_TRY_ASSIGN(query, ParseListQuery(context.query));
  if (!context.info.name.empty() && query.field_selector.empty()) query.field_selector = "metadata.name=" + context.info.name;
  CO_TRY_ASSIGN(Selection selection, Selection::Make(query, *context.resource));
  if (!context.info.name.empty() && selection.name() != context.info.name) {
    co_return Fail(BadRequestError("fieldSelector metadata.name doesn't match requested name"));
  }
  auto asked = ParseResourceVersion(query.resource_version);
  if (!asked) co_return Fail(Status(500, "", asked.error().message()));
  std::string prefix = StoragePrefix(context.storage(), context.info.ns);

  MonotonicTime end = EndOfWatch(context, query);
  WatchState state{context.parts, {}, context.info, context.user, *context.resource, context.output, selection, nullptr,
                   end, FirstBookmark(context, end), query.allow_watch_bookmarks};
  state.request.query = context.request.query;
  if (state.output.encoding == Encoding::kYaml) {
    std::string_view protobuf = context.resource->custom ? "" : ", application/vnd.kubernetes.protobuf;stream=watch";
    co_return Fail(NotAcceptableError("only the following media types are accepted: application/json;stream=watch" + std::string(protobuf)));
  }
  auto body = std::make_unique<WatchBody>(std::move(state));
  std::string initial;
  uint64_t from = *asked;
  if (BeginsWithList(query, *asked)) {
    auto list = AppendInitialEvents(*body, prefix, *asked, initial);
    CO_TRY_ASSIGN(from, co_await std::move(list));
    bool mark = query.send_initial_events.value_or(false) && query.allow_watch_bookmarks;
    if (mark) body->AppendBookmark(initial, from, true);
  } else if (from == 0) {
    from = context.parts.cache.revision();
  }
  auto watcher = context.parts.cache.Watch(prefix, from);
  if (watcher) body->state().watcher = *std::move(watcher);
  else body->AppendError(initial, watcher.error());

  http::Response response;
  bool table = context.output.transformation == Transformation::kTable;
  response.headers.Add("Content-Type", StreamMediaType(table ? Encoding::kJson : context.output.encoding));
  body->set_initial(std::move(initial));
  response.stream = std::move(body);
  if (WantsWebSocket(context.request)) {
    co_return WatchOverWebSocket(context.runtime(), context.request, std::move(response), table ? Encoding::kJson : context.output.encoding);
  }
  co_return response;
}

}  // namespace homeostat::server
