// FakeApi: an API server of a few kinds, for tests of this layer (the real one comes after it): objects with versions, lists
// and watches from any version, and faults drawn from the runtime's randomness.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "homeostat/api/coordination/v1_builders.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/meta/v1_builders.h"
#include "homeostat/base/ids.h"
#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "homeostat/sdk/client.h"
#include "sdk/internal/bodies.h"
#include "sdk/internal/urls.h"

namespace homeostat::sdk {

class FakeApi : public http::Handler {
 public:
  // Chances in a thousand, for each request or each event.
  struct Faults {
    int refuse = 0;      // a request is answered with 503 and not done
    int lose_answer = 0; // … is done, and answered with 503
    int cut = 0;         // a watch breaks, perhaps within an event
    int repeat = 0;      // an event comes twice
    Duration delay{0};   // at most so late are answers and events
  };

  explicit FakeApi(Runtime& runtime) : changed_(runtime), runtime_(runtime) {}

  Faults faults;
  // What becomes of sendInitialEvents.
  enum class StreamedLists {
    kSent,
    kRefused,   // by `refusal`
    kIgnored,   // an ordinary watch is sent, which begins with what there is
    kCut,       // the watch ends within the list
  } streamed_lists = StreamedLists::kSent;
  int refusal = 422;
  bool protobuf = true;          // otherwise only JSON is spoken
  int requests = 0;

  struct Entry {
    int64_t version;
    WatchEventType type;
    const schema::Kind* kind;
    object::DocumentPtr object;
  };

  // What clients will see, by key.
  std::map<std::string, object::DocumentPtr> Objects(const schema::Kind& kind) const {
    std::map<std::string, object::DocumentPtr> objects;
    for (const auto& [path, entry] : objects_) {
      if (entry.kind == &kind) objects[meta::Key(entry.object->root())] = entry.object;
    }
    return objects;
  }
  int64_t version() const { return version_; }
  // Forgets the history: watches from before are too old.
  void Compact() { compacted_ = version_; }

  object::DocumentPtr Put(const schema::Kind& kind, object::DocumentPtr object) {
    std::string path = ResourcePath(kind, meta::Namespace(object->root()), meta::Name(object->root()));
    auto known = objects_.find(path);
    bool is_new = known == objects_.end();
    api::core::v1::ConfigMapBuilder metadata{schema::Subtree(object)};  // metadata stands at the same place in every kind
    std::string uid = is_new ? NewUuid(runtime_) : std::string(meta::Uid(known->second.object->root()));
    auto next = std::make_shared<object::Document>();
    next->arena().Keep(object);
    metadata.mutable_metadata().set_uid(uid).set_resource_version(std::to_string(++version_));
    next->set_root(metadata.FreezeInto(next->arena()));
    Record({version_, is_new ? WatchEventType::kAdded : WatchEventType::kModified, &kind, next}, path);
    return next;
  }
  bool Erase(const schema::Kind& kind, std::string_view ns, std::string_view name) {
    std::string path = ResourcePath(kind, ns, name);
    auto known = objects_.find(path);
    if (known == objects_.end()) return false;
    api::core::v1::ConfigMapBuilder last{schema::Subtree(known->second.object)};
    last.mutable_metadata().set_resource_version(std::to_string(++version_));
    auto document = std::make_shared<object::Document>();
    document->arena().Keep(known->second.object);
    document->set_root(last.FreezeInto(document->arena()));
    Record({version_, WatchEventType::kDeleted, &kind, document}, path);
    return true;
  }

  Task<http::Response> Handle(http::Request request) override {
    ++requests;
    auto pause = Sleep(runtime_, Delay());
    co_await pause;
    if (Chance(faults.refuse)) co_return Unavailable();
    http::Response response = Answer(request);
    if (!response.stream && Chance(faults.lose_answer)) co_return Unavailable();
    auto again = Sleep(runtime_, Delay());
    co_await again;
    co_return response;
  }

 private:
  class Watcher;

  bool Chance(int in_thousand) { return in_thousand > 0 && static_cast<int>(runtime_.Random() % 1000) < in_thousand; }
  Duration Delay() {
    if (faults.delay <= Duration(0)) return Duration(0);
    return Duration(static_cast<int64_t>(runtime_.Random() % static_cast<uint64_t>(faults.delay.count())));
  }
  static http::Response Unavailable() {
    http::Response response;
    response.code = 503;
    response.body.push_back("no server there\n");
    return response;
  }

  void Record(Entry entry, const std::string& path) {
    if (entry.type == WatchEventType::kDeleted) {
      objects_.erase(path);
    } else {
      objects_.insert_or_assign(path, entry);
    }
    history_.push_back(std::move(entry));
    changed_.Notify();
  }

  static const schema::Kind* KindOf(std::string_view path) {
    for (const schema::Kind* kind : {&api::core::v1::ConfigMap::SchemaKind(), &api::core::v1::Event::SchemaKind(),
                                     &api::coordination::v1::Lease::SchemaKind()}) {
      if (path.find("/" + std::string(kind->plural)) != std::string_view::npos) return kind;
    }
    return nullptr;
  }

  http::Response WithObject(int code, const BodyType& type, const object::Value& object) const {
    http::Response response;
    response.code = code;
    response.headers.Set("Content-Type", protobuf ? kProtobufMediaType : kJsonMediaType);
    response.body.push_back(EncodeBody(type, object, protobuf));
    return response;
  }
  http::Response Error(const Status& status) const {
    object::DocumentPtr object = StatusObject(status);
    return WithObject(status.code(), {&api::meta::v1::Status::SchemaType(), {"", "v1", "Status"}}, object->root());
  }
  static object::DocumentPtr StatusObject(const Status& status) {
    api::meta::v1::StatusBuilder object;
    object.set_kind("Status").set_api_version("v1").set_status("Failure");
    object.set_code(status.code()).set_reason(status.reason()).set_message(status.message());
    return object.Freeze();
  }

  http::Response Answer(const http::Request& request) {
    const schema::Kind* kind = KindOf(request.path);
    if (kind == nullptr) return Error(NotFoundError("", "", request.path));
    http::Query query = http::Query::Parse(request.query);
    std::string last = request.path.substr(request.path.rfind('/') + 1);
    if (request.method == "GET" && query.Has("watch")) return Watch(*kind, query);
    if (request.method == "GET" && last == kind->plural) return List(*kind);
    if (!protobuf && request.headers.Get("Content-Type") == kProtobufMediaType) {
      return Error(UnsupportedMediaTypeError("the body of the request was in an unknown format"));
    }
    if (request.method == "POST") return Write(*kind, request, true);
    auto known = objects_.find(request.path);
    if (known == objects_.end()) return Error(NotFoundError(kind->gvk.group, kind->plural, last));
    if (request.method == "PUT") return Write(*kind, request, false);
    if (request.method == "PATCH") return PatchEvent(known->second.object, request);
    return WithObject(200, {kind->type, kind->gvk}, known->second.object->root());
  }

  http::Response Write(const schema::Kind& kind, const http::Request& request, bool create) {
    auto body = DecodeBody({kind.type, kind.gvk}, request.body);
    if (!body) return Error(body.error());
    std::string_view name = meta::Name((*body)->root());
    auto known = objects_.find(ResourcePath(kind, meta::Namespace((*body)->root()), name));
    if (create && known != objects_.end()) return Error(AlreadyExistsError(kind.gvk.group, kind.plural, name));
    std::string_view version = meta::ResourceVersion((*body)->root());
    if (!create && !version.empty() && version != meta::ResourceVersion(known->second.object->root())) {
      return Error(ConflictError(kind.gvk.group, kind.plural, name, "the object has been modified"));
    }
    return WithObject(create ? 201 : 200, {kind.type, kind.gvk}, Put(kind, *body)->root());
  }

  // As much of a patch as events need: count and message.
  http::Response PatchEvent(const object::DocumentPtr& current, const http::Request& request) {
    object::Arena arena;
    auto patch = object::ParseJson(arena, request.body.view());
    if (!patch) return Error(patch.error());
    api::core::v1::EventBuilder event{schema::Subtree(current)};
    event.set_count(static_cast<int32_t>(patch->Get("count").AsInt())).set_message(patch->Get("message").AsString());
    const schema::Kind& kind = api::core::v1::Event::SchemaKind();
    return WithObject(200, {kind.type, kind.gvk}, Put(kind, event.Freeze())->root());
  }

  http::Response List(const schema::Kind& kind) {
    object::Arena arena;
    object::ListBuilder items(arena);
    for (const auto& [key, object] : Objects(kind)) items.Append(object->root());
    object::ObjectBuilder metadata(arena), list(arena);
    std::string version = std::to_string(version_);
    metadata.Set("resourceVersion", object::Value::StringRef(version),
                 static_cast<uint16_t>(kind.list_type->FindField("metadata")->type->FieldIndex("resourceVersion")));
    auto set = [&](std::string_view name, object::Value value) {
      list.SetField(static_cast<uint16_t>(kind.list_type->FieldIndex(name)), name, value);
    };
    set("metadata", metadata.Build());
    set("items", items.Build());
    schema::GroupVersionKind gvk = kind.gvk;
    gvk.kind = kind.list_kind;
    return WithObject(200, {kind.list_type, gvk}, list.Build());
  }

  http::Response Watch(const schema::Kind& kind, const http::Query& query);
  std::string Frame(const schema::Kind& kind, WatchEventType type, const object::Value& object) const;

  std::map<std::string, Entry> objects_;   // by path
  std::vector<Entry> history_;
  int64_t version_ = 100, compacted_ = 0;
  Signal changed_;
  Runtime& runtime_;
};

class FakeApi::Watcher : public http::BodyReader {
 public:
  Watcher(FakeApi& api, const schema::Kind& kind, int64_t from, bool initial, int64_t seconds)
      : api_(api), kind_(kind), from_(from), initial_(initial), ends_(api.runtime_.Now() + std::chrono::seconds(seconds)) {}

  Task<Result<Bytes>> Read() override {
    while (true) {
      if (!tail_.empty()) co_return Bytes(std::exchange(tail_, {}));
      if (broken_) co_return Fail(SystemError("connection reset by peer"));
      std::string frames = Collect();
      if (!frames.empty()) {
        auto late = Sleep(api_.runtime_, api_.Delay());
        co_await late;
        if (api_.Chance(api_.faults.cut)) {
          broken_ = true;
          frames.resize(api_.runtime_.Random() % (frames.size() + 1));
          if (frames.empty()) continue;
        }
        // In two pieces, cut anywhere.
        size_t cut = api_.runtime_.Random() % frames.size();
        tail_ = frames.substr(cut);
        frames.resize(cut);
        if (!frames.empty()) co_return Bytes(std::move(frames));
        continue;
      }
      if (api_.runtime_.Now() >= ends_) co_return Bytes();
      auto wait = api_.changed_.WaitFor(ends_ - api_.runtime_.Now());
      co_await wait;
    }
  }

 private:
  std::string Collect() {
    if (initial_) return Initial();
    if (from_ < api_.compacted_) {
      broken_ = true;
      return api_.Frame(kind_, WatchEventType::kError, StatusObject(ExpiredError("too old resource version"))->root());
    }
    return Changes();
  }
  // The list as it was a while ago, and what has changed since, as a server sends it whose cache has had to catch up.
  std::string Initial() {
    initial_ = false;
    size_t changes = api_.runtime_.Random() % 4, then = api_.history_.size() - std::min(changes, api_.history_.size());
    std::map<std::string, object::DocumentPtr> objects;
    for (size_t i = 0; i < then; ++i) {
      const Entry& entry = api_.history_[i];
      if (entry.kind != &kind_) continue;
      std::string key = meta::Key(entry.object->root());
      if (entry.type == WatchEventType::kDeleted) objects.erase(key);
      else objects[key] = entry.object;
    }
    std::string frames;
    for (const auto& [key, object] : objects) frames += api_.Frame(kind_, WatchEventType::kAdded, object->root());
    if (api_.streamed_lists == StreamedLists::kCut) {
      ends_ = api_.runtime_.Now();
      from_ = api_.version_;
      return frames;
    }
    from_ = then == 0 ? 0 : api_.history_[then - 1].version;
    frames += Changes();
    if (api_.streamed_lists == StreamedLists::kIgnored) return frames;
    api::core::v1::ConfigMapBuilder end;
    end.mutable_metadata().set_resource_version(std::to_string(from_)).set_annotations("k8s.io/initial-events-end", "true");
    object::DocumentPtr document = end.Freeze();
    return frames + api_.Frame(kind_, WatchEventType::kBookmark, document->root());
  }
  std::string Changes() {
    std::string frames;
    for (const Entry& entry : api_.history_) {
      if (entry.version <= from_ || entry.kind != &kind_) continue;
      frames += api_.Frame(kind_, entry.type, entry.object->root());
      if (api_.Chance(api_.faults.repeat)) frames += api_.Frame(kind_, entry.type, entry.object->root());
    }
    from_ = api_.version_;
    return frames;
  }

  FakeApi& api_;
  const schema::Kind& kind_;
  int64_t from_;
  bool initial_, broken_ = false;
  MonotonicTime ends_;
  std::string tail_;
};

inline http::Response FakeApi::Watch(const schema::Kind& kind, const http::Query& query) {
  bool initial = query.Has("sendInitialEvents");
  if (initial && streamed_lists == StreamedLists::kRefused) return Error(Status(refusal, "", "no streamed lists here"));
  std::string from(query.Get("resourceVersion"));
  std::string seconds(query.Get("timeoutSeconds"));
  http::Response response;
  response.headers.Set("Content-Type", protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json");
  response.stream = std::make_unique<Watcher>(*this, kind, from.empty() ? 0 : std::stoll(from), initial,
                                              seconds.empty() ? 1800 : std::stoll(seconds));
  return response;
}

inline std::string FakeApi::Frame(const schema::Kind& kind, WatchEventType type, const object::Value& object) const {
  static constexpr std::string_view kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
  std::string_view name = kNames[static_cast<size_t>(type)];
  BodyType body = type == WatchEventType::kError ? BodyType{&api::meta::v1::Status::SchemaType(), {"", "v1", "Status"}}
                                                 : BodyType{kind.type, kind.gvk};
  Bytes encoded = EncodeBody(body, object, protobuf);
  if (!protobuf) return R"({"type":")" + std::string(name) + R"(","object":)" + encoded.str() + "}\n";
  std::string extension, event;
  object::AppendLengthField(extension, 1, encoded.view());
  object::AppendLengthField(event, 1, name);
  object::AppendLengthField(event, 2, extension);
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(event.size() >> shift & 0xFF));
  return frame + event;
}

}  // namespace homeostat::sdk
