#include "homeostat/sdk/client.h"

#include "sdk/internal/bodies.h"
#include "sdk/internal/watch_frames.h"

namespace homeostat::sdk {
namespace {

constexpr size_t kAnswerLimit = 512 << 20;

std::string CollectionPath(const schema::Kind& kind, std::string_view ns) {
  std::string path = kind.gvk.group.empty() ? "/api/" + std::string(kind.gvk.version)
                                            : "/apis/" + std::string(kind.gvk.group) + "/" + std::string(kind.gvk.version);
  if (kind.namespaced && !ns.empty()) path += "/namespaces/" + http::PercentEncode(ns);
  return path + "/" + std::string(kind.plural);
}

std::string ObjectPath(const schema::Kind& kind, std::string_view ns, std::string_view name, std::string_view subresource) {
  std::string path = CollectionPath(kind, ns) + "/" + http::PercentEncode(name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

void AddIfSet(http::Query& query, std::string_view name, std::string_view value) {
  if (!value.empty()) query.Add(name, value);
}

http::Query ListQuery(const ListOptions& options) {
  http::Query query;
  AddIfSet(query, "labelSelector", options.label_selector);
  AddIfSet(query, "fieldSelector", options.field_selector);
  AddIfSet(query, "resourceVersion", options.resource_version);
  AddIfSet(query, "resourceVersionMatch", options.resource_version_match);
  AddIfSet(query, "continue", options.continue_token);
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  return query;
}

std::string_view PatchMediaType(PatchType type) {
  switch (type) {
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kStrategicMerge: return "application/strategic-merge-patch+json";
    case PatchType::kApply: return "application/apply-patch+yaml";
  }
  return "application/merge-patch+json";
}

std::string DeleteBody(const DeleteOptions& options) {
  std::string body = R"({"kind":"DeleteOptions","apiVersion":"v1")";
  if (options.grace_period_seconds) body += ",\"gracePeriodSeconds\":" + std::to_string(*options.grace_period_seconds);
  if (!options.propagation_policy.empty()) body += R"(,"propagationPolicy":")" + options.propagation_policy + "\"";
  if (!options.precondition_uid.empty() || !options.precondition_resource_version.empty()) {
    body += R"(,"preconditions":{)";
    if (!options.precondition_uid.empty()) body += R"("uid":")" + options.precondition_uid + "\"";
    if (!options.precondition_resource_version.empty()) {
      body += std::string(options.precondition_uid.empty() ? "" : ",") + R"("resourceVersion":")" + options.precondition_resource_version + "\"";
    }
    body += "}";
  }
  return body + "}";
}

// The object a watch sends, in frames that may arrive in any pieces.
class HttpWatchStream : public WatchStream {
 public:
  HttpWatchStream(const schema::Kind& kind, std::unique_ptr<http::BodyReader> body, bool protobuf)
      : kind_(kind), body_(std::move(body)), frames_(protobuf) {}

  Task<Result<std::optional<WatchEvent>>> Next() override {
    while (true) {
      CO_TRY_ASSIGN(std::optional<WatchFrame> frame, frames_.Next());
      if (frame) co_return ToEvent(*frame);
      auto read = body_->Read();
      CO_TRY_ASSIGN(Bytes piece, co_await std::move(read));
      if (piece.empty()) co_return std::optional<WatchEvent>();
      frames_.Add(piece);
    }
  }

 private:
  Result<std::optional<WatchEvent>> ToEvent(const WatchFrame& frame) const {
    WatchEvent event;
    TRY_ASSIGN(event.object, DecodeBody({kind_.type, kind_.gvk}, frame.object));
    if (frame.type == "ADDED") event.type = WatchEventType::kAdded;
    else if (frame.type == "MODIFIED") event.type = WatchEventType::kModified;
    else if (frame.type == "DELETED") event.type = WatchEventType::kDeleted;
    else if (frame.type == "BOOKMARK") event.type = WatchEventType::kBookmark;
    else event.type = WatchEventType::kError;
    if (event.type == WatchEventType::kError) event.error = StatusFromObject(event.object->root());
    return std::optional<WatchEvent>(std::move(event));
  }

  const schema::Kind& kind_;
  std::unique_ptr<http::BodyReader> body_;
  WatchFrames frames_;
};

}  // namespace

struct Client::State {
  std::shared_ptr<http::Handler> transport;
  ClientOptions options;

  http::Request MakeRequest(std::string method, std::string path, const http::Query& query, bool protobuf) const;
  Task<Result<http::Response>> Send(http::Request request) const;
  Task<Result<Bytes>> SendWhole(http::Request request) const;
};

http::Request Client::State::MakeRequest(std::string method, std::string path, const http::Query& query, bool protobuf) const {
  http::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = query.Encode();
  request.headers.Set("User-Agent", options.user_agent);
  request.headers.Set("Accept", protobuf ? "application/vnd.kubernetes.protobuf,application/json" : "application/json");
  if (!options.bearer_token.empty()) request.headers.Set("Authorization", "Bearer " + options.bearer_token);
  if (!options.impersonate_user.empty()) request.headers.Set("Impersonate-User", options.impersonate_user);
  return request;
}

Task<Result<http::Response>> Client::State::Send(http::Request request) const {
  for (int attempt = 0;; ++attempt) {
    http::Request copy = request;
    auto handle = transport->Handle(std::move(copy));
    http::Response response = co_await std::move(handle);
    std::string_view after = response.headers.Get("Retry-After");
    bool busy = (response.code == 429 || response.code >= 500) && !after.empty();
    if (!busy || options.runtime == nullptr || attempt == 10) co_return response;
    auto pause = Sleep(*options.runtime, std::chrono::seconds(std::max(1, std::atoi(std::string(after).c_str()))));
    co_await std::move(pause);
  }
}

Task<Result<Bytes>> Client::State::SendWhole(http::Request request) const {
  auto send = Send(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(send));
  http::Response head;
  head.code = response.code;
  head.headers = response.headers;
  auto read = http::ReadAll(std::move(response), kAnswerLimit);
  CO_TRY_ASSIGN(Bytes body, co_await std::move(read));
  if (head.code >= 400) co_return Fail(StatusFromResponse(head, body));
  co_return body;
}

Client::Client(std::shared_ptr<http::Handler> transport, ClientOptions options)
    : state_(std::make_shared<State>(State{std::move(transport), std::move(options)})) {}

const ClientOptions& Client::options() const { return state_->options; }

// Each call keeps the state alive by itself: the client may be gone before its answer.

Task<Result<object::DocumentPtr>> Client::Get(const schema::Kind& kind, std::string ns, std::string name) const {
  auto state = state_;
  auto request = state->MakeRequest("GET", ObjectPath(kind, ns, name, ""), {}, SpeaksProtobuf(*kind.type));
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeBody({kind.type, kind.gvk}, std::move(body));
}

Task<Result<ListResult>> Client::List(const schema::Kind& kind, std::string ns, ListOptions options) const {
  auto state = state_;
  auto request = state->MakeRequest("GET", CollectionPath(kind, ns), ListQuery(options), SpeaksProtobuf(*kind.type));
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeList(kind, std::move(body));
}

namespace {
// A request whose body is an object of that type.
void PutBody(http::Request& request, const BodyType& type, const object::Value& object) {
  bool protobuf = SpeaksProtobuf(*type.type);
  request.headers.Set("Content-Type", protobuf ? kProtobufMediaType : kJsonMediaType);
  request.body = EncodeBody(type, object, protobuf);
}

http::Query ManagerQuery(const ClientOptions& options) {
  http::Query query;
  AddIfSet(query, "fieldManager", options.field_manager);
  return query;
}
}  // namespace

Task<Result<object::DocumentPtr>> Client::Create(const schema::Kind& kind, std::string ns, object::DocumentPtr object) const {
  auto state = state_;
  BodyType type{kind.type, kind.gvk};
  auto request = state->MakeRequest("POST", CollectionPath(kind, ns), ManagerQuery(state->options), SpeaksProtobuf(*kind.type));
  PutBody(request, type, object->root());
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeBody(type, std::move(body));
}

Task<Result<object::DocumentPtr>> Client::Update(const schema::Kind& kind, object::DocumentPtr object, std::string subresource) const {
  auto state = state_;
  const object::Value& root = object->root();
  std::string path = ObjectPath(kind, meta::Namespace(root), meta::Name(root), subresource);
  BodyType type{kind.type, kind.gvk};
  auto request = state->MakeRequest("PUT", std::move(path), ManagerQuery(state->options), SpeaksProtobuf(*kind.type));
  PutBody(request, type, root);
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeBody(type, std::move(body));
}

Task<Result<object::DocumentPtr>> Client::Patch(const schema::Kind& kind, std::string ns, std::string name, PatchType type,
                                                Bytes patch, std::string subresource, PatchOptions options) const {
  auto state = state_;
  http::Query query;
  AddIfSet(query, "fieldManager", options.field_manager.empty() ? state->options.field_manager : options.field_manager);
  if (options.force) query.Add("force", "true");
  auto request = state->MakeRequest("PATCH", ObjectPath(kind, ns, name, subresource), query, SpeaksProtobuf(*kind.type));
  request.headers.Set("Content-Type", PatchMediaType(type));
  request.body = std::move(patch);
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeBody({kind.type, kind.gvk}, std::move(body));
}

Task<Result<void>> Client::Delete(const schema::Kind& kind, std::string ns, std::string name, DeleteOptions options) const {
  auto state = state_;
  auto request = state->MakeRequest("DELETE", ObjectPath(kind, ns, name, ""), {}, SpeaksProtobuf(*kind.type));
  request.headers.Set("Content-Type", kJsonMediaType);
  request.body = Bytes(DeleteBody(options));
  auto send = state->SendWhole(std::move(request));
  CO_TRY(co_await std::move(send));
  co_return Done();
}

Task<Result<void>> Client::DeleteCollection(const schema::Kind& kind, std::string ns, ListOptions list, DeleteOptions options) const {
  auto state = state_;
  auto request = state->MakeRequest("DELETE", CollectionPath(kind, ns), ListQuery(list), SpeaksProtobuf(*kind.type));
  request.headers.Set("Content-Type", kJsonMediaType);
  request.body = Bytes(DeleteBody(options));
  auto send = state->SendWhole(std::move(request));
  CO_TRY(co_await std::move(send));
  co_return Done();
}

Task<Result<std::unique_ptr<WatchStream>>> Client::Watch(const schema::Kind& kind, std::string ns, WatchOptions options) const {
  auto state = state_;
  http::Query query;
  query.Add("watch", "true");
  AddIfSet(query, "labelSelector", options.label_selector);
  AddIfSet(query, "fieldSelector", options.field_selector);
  AddIfSet(query, "resourceVersion", options.resource_version);
  if (options.allow_bookmarks) query.Add("allowWatchBookmarks", "true");
  if (options.send_initial_events) {
    query.Add("sendInitialEvents", "true");
    query.Add("resourceVersionMatch", "NotOlderThan");
  }
  if (options.timeout_seconds > 0) query.Add("timeoutSeconds", std::to_string(options.timeout_seconds));
  bool protobuf = SpeaksProtobuf(*kind.type);
  auto request = state->MakeRequest("GET", CollectionPath(kind, ns), query, protobuf);
  request.headers.Set("Accept", protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json");
  auto send = state->Send(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(send));
  if (response.code != 200 || !response.stream) {
    http::Response head;
    head.code = response.code;
    auto read = http::ReadAll(std::move(response), kAnswerLimit);
    CO_TRY_ASSIGN(Bytes body, co_await std::move(read));
    co_return Fail(StatusFromResponse(head, body));
  }
  bool framed = response.headers.Get("Content-Type").starts_with(kProtobufMediaType);
  std::unique_ptr<WatchStream> stream = std::make_unique<HttpWatchStream>(kind, std::move(response.stream), framed);
  co_return stream;
}

Task<Result<object::DocumentPtr>> Client::CreateSubresource(const schema::Kind& kind, std::string ns, std::string name,
                                                            std::string subresource, const schema::Kind& body_kind,
                                                            object::DocumentPtr object) const {
  auto state = state_;
  BodyType type{body_kind.type, body_kind.gvk};
  auto request = state->MakeRequest("POST", ObjectPath(kind, ns, name, subresource), ManagerQuery(state->options), SpeaksProtobuf(*body_kind.type));
  PutBody(request, type, object->root());
  auto send = state->SendWhole(std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await std::move(send));
  co_return DecodeBody(type, std::move(body));
}

Task<Result<http::Response>> Client::Raw(http::Request request) const {
  auto state = state_;
  request.headers.Set("User-Agent", state->options.user_agent);
  if (!state->options.bearer_token.empty()) request.headers.Set("Authorization", "Bearer " + state->options.bearer_token);
  auto send = state->Send(std::move(request));
  co_return co_await std::move(send);
}

}  // namespace homeostat::sdk
