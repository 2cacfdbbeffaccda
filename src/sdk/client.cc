#include "homeostat/sdk/client.h"

#include <charconv>
#include <unordered_set>
#include <utility>

#include "homeostat/api/meta/v1_builders.h"
#include "homeostat/api/registry.h"
#include "sdk/internal/bodies.h"
#include "sdk/internal/urls.h"
#include "sdk/internal/watch_stream.h"

namespace homeostat::sdk {
namespace {

// What one answer may be long at most: a list of a whole cluster's pods fits.
constexpr size_t kBodyLimit = size_t{1} << 31;
constexpr int kMaxAttempts = 10;
constexpr std::string_view kAcceptAny = "application/vnd.kubernetes.protobuf,application/json";
constexpr std::string_view kAcceptAnyStream =
    "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch,application/json";
constexpr std::string_view kAcceptMetadataList =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
constexpr std::string_view kAcceptMetadataStream =
    "application/vnd.kubernetes.protobuf;stream=watch;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

std::string_view ContentType(PatchType type) {
  switch (type) {
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kStrategicMerge: return "application/strategic-merge-patch+json";
    case PatchType::kApply: return "application/apply-patch+yaml";
  }
  return kJsonMediaType;
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
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  AddIfSet(query, "continue", options.continue_token);
  return query;
}

http::Query WatchQuery(const WatchOptions& options) {
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
  return query;
}

Bytes EncodeDeleteOptions(const DeleteOptions& options) {
  api::meta::v1::DeleteOptionsBuilder builder;
  builder.set_kind("DeleteOptions").set_api_version("v1");
  if (options.grace_period_seconds) builder.set_grace_period_seconds(*options.grace_period_seconds);
  if (!options.propagation_policy.empty()) builder.set_propagation_policy(options.propagation_policy);
  if (!options.precondition_uid.empty()) builder.mutable_preconditions().set_uid(options.precondition_uid);
  if (!options.precondition_resource_version.empty()) {
    builder.mutable_preconditions().set_resource_version(options.precondition_resource_version);
  }
  object::DocumentPtr document = builder.Freeze();
  return EncodeBody(BodyType{&api::meta::v1::DeleteOptions::SchemaType(), {"", "v1", "DeleteOptions"}}, document->root(), false);
}

// The type of what is sent to, and comes from, a kind or one of its subresources.
BodyType TypeOf(const schema::Kind& kind, std::string_view subresource) {
  const schema::Subresource* sub = subresource.empty() ? nullptr : kind.FindSubresource(subresource);
  if (sub == nullptr || sub->kind == kind.gvk || sub->kind.kind.empty()) return {kind.type, kind.gvk};
  const schema::Type* type = api::FindTypeOfKind(sub->kind.group, sub->kind.version, sub->kind.kind);
  return type == nullptr ? BodyType{kind.type, kind.gvk} : BodyType{type, sub->kind};
}

// How long the server asks to wait; nullopt if it does not ask.
std::optional<Duration> RetryAfter(const http::Response& response) {
  if (response.code != 429 && response.code < 500) return std::nullopt;
  std::string_view text = response.headers.Get("Retry-After");
  int seconds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

struct Client::State {
  std::shared_ptr<http::Handler> transport;
  ClientOptions options;
  // Types that a server took no protobuf of.
  std::unordered_set<const schema::Type*> json_only;

  http::Request Prepare(http::Request request) const {
    if (!options.user_agent.empty()) request.headers.Set("User-Agent", options.user_agent);
    if (!options.bearer_token.empty()) request.headers.Set("Authorization", "Bearer " + options.bearer_token);
    if (!options.impersonate_user.empty()) request.headers.Set("Impersonate-User", options.impersonate_user);
    return request;
  }
  bool Protobuf(const schema::Type& type) const { return SpeaksProtobuf(type) && !json_only.contains(&type); }

  static Task<http::Response> Send(std::shared_ptr<State> state, http::Request request);
  static Task<Result<Bytes>> Exchange(std::shared_ptr<State> state, http::Request request);
  static Task<Result<object::DocumentPtr>> ExchangeObject(std::shared_ptr<State> state, http::Request request, BodyType answer);
  static Task<Result<object::DocumentPtr>> SendObject(std::shared_ptr<State> state, http::Request request, BodyType sent,
                                                      object::DocumentPtr object, BodyType answer);
  static Task<Result<ListResult>> List(std::shared_ptr<State> state, ListType type, http::Request request);
  static Task<Result<void>> Discard(std::shared_ptr<State> state, http::Request request);
  static Task<Result<std::unique_ptr<WatchStream>>> Watch(std::shared_ptr<State> state, BodyType type,
                                                          http::Request request);
  static Task<Result<http::Response>> Raw(std::shared_ptr<State> state, http::Request request);
};

// Sends it, again as long as the server asks for that.
Task<http::Response> Client::State::Send(std::shared_ptr<State> state, http::Request request) {
  http::Request prepared = state->Prepare(std::move(request));
  for (int attempt = 1;; ++attempt) {
    auto call = state->transport->Handle(prepared);
    http::Response response = co_await call;
    std::optional<Duration> wait = RetryAfter(response);
    if (!wait || state->options.runtime == nullptr || attempt == kMaxAttempts) co_return response;
    state->options.log.V(4).Info("Waiting before asking again", {{"code", response.code}, {"path", prepared.path}, {"delay", *wait}});
    response = http::Response();
    auto sleep = Sleep(*state->options.runtime, *wait);
    co_await sleep;
  }
}

Task<Result<Bytes>> Client::State::Exchange(std::shared_ptr<State> state, http::Request request) {
  auto call = Send(state, std::move(request));
  http::Response response = co_await call;
  http::Response head;
  head.code = response.code;
  head.headers = response.headers;
  auto read = http::ReadAll(std::move(response), kBodyLimit);
  CO_TRY_ASSIGN(Bytes body, co_await read);
  if (head.code < 200 || head.code >= 300) co_return Fail(StatusFromResponse(head, std::move(body)));
  co_return body;
}

Task<Result<object::DocumentPtr>> Client::State::ExchangeObject(std::shared_ptr<State> state, http::Request request,
                                                               BodyType answer) {
  request.headers.Set("Accept", SpeaksProtobuf(*answer.type) ? kAcceptAny : kJsonMediaType);
  auto call = Exchange(state, std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await call);
  co_return DecodeBody(answer, std::move(body));
}

Task<Result<object::DocumentPtr>> Client::State::SendObject(std::shared_ptr<State> state, http::Request request, BodyType sent,
                                                           object::DocumentPtr object, BodyType answer) {
  while (true) {
    bool protobuf = state->Protobuf(*sent.type);
    http::Request attempt = request;
    attempt.headers.Set("Content-Type", protobuf ? kProtobufMediaType : kJsonMediaType);
    attempt.body = EncodeBody(sent, object->root(), protobuf);
    auto call = ExchangeObject(state, std::move(attempt), answer);
    Result<object::DocumentPtr> result = co_await call;
    if (result || !protobuf || result.error().code() != 415) co_return result;
    state->json_only.insert(sent.type);
  }
}

Task<Result<ListResult>> Client::State::List(std::shared_ptr<State> state, ListType type, http::Request request) {
  auto call = Exchange(state, std::move(request));
  CO_TRY_ASSIGN(Bytes body, co_await call);
  co_return DecodeList(type, std::move(body));
}

Task<Result<void>> Client::State::Discard(std::shared_ptr<State> state, http::Request request) {
  auto call = Exchange(state, std::move(request));
  CO_TRY(co_await call);
  co_return Done();
}

Task<Result<std::unique_ptr<WatchStream>>> Client::State::Watch(std::shared_ptr<State> state, BodyType type,
                                                                http::Request request) {
  auto call = Send(state, std::move(request));
  http::Response response = co_await call;
  if (response.code == 200) co_return WatchResponse(type, std::move(response));
  http::Response head;
  head.code = response.code;
  head.headers = response.headers;
  auto read = http::ReadAll(std::move(response), kBodyLimit);
  CO_TRY_ASSIGN(Bytes body, co_await read);
  co_return Fail(StatusFromResponse(head, std::move(body)));
}

Task<Result<http::Response>> Client::State::Raw(std::shared_ptr<State> state, http::Request request) {
  auto call = Send(state, std::move(request));
  http::Response response = co_await call;
  co_return response;
}

Client::Client(std::shared_ptr<http::Handler> transport, ClientOptions options)
    : state_(std::make_shared<State>()) {
  state_->transport = std::move(transport);
  state_->options = std::move(options);
}

const ClientOptions& Client::options() const { return state_->options; }

namespace {

http::Request MakeRequest(std::string_view method, std::string path, const http::Query& query = {}) {
  http::Request request;
  request.method = method;
  request.path = std::move(path);
  request.query = query.Encode();
  return request;
}

http::Query WriteQuery(const ClientOptions& options) {
  http::Query query;
  AddIfSet(query, "fieldManager", options.field_manager);
  return query;
}

// The answer is the object, or the objects that went, where it isn't a Status.
http::Request DeleteRequest(const schema::Kind& kind, std::string path, const http::Query& query, const DeleteOptions& options) {
  http::Request request = MakeRequest("DELETE", std::move(path), query);
  request.headers.Set("Accept", SpeaksProtobuf(*kind.type) ? kAcceptAny : kJsonMediaType);
  request.headers.Set("Content-Type", kJsonMediaType);
  request.body = EncodeDeleteOptions(options);
  return request;
}

}  // namespace

Task<Result<object::DocumentPtr>> Client::Get(const schema::Kind& kind, std::string ns, std::string name) const {
  return State::ExchangeObject(state_, MakeRequest("GET", ResourcePath(kind, ns, name)), TypeOf(kind, {}));
}

Task<Result<ListResult>> Client::List(const schema::Kind& kind, std::string ns, ListOptions options) const {
  http::Request request = MakeRequest("GET", ResourcePath(kind, ns), ListQuery(options));
  request.headers.Set("Accept", options.metadata_only          ? kAcceptMetadataList
                                : SpeaksProtobuf(*kind.type) ? kAcceptAny
                                                             : kJsonMediaType);
  return State::List(state_, ListTypeOf(kind, options.metadata_only), std::move(request));
}

Task<Result<object::DocumentPtr>> Client::Create(const schema::Kind& kind, std::string ns, object::DocumentPtr object) const {
  BodyType type = TypeOf(kind, {});
  return State::SendObject(state_, MakeRequest("POST", ResourcePath(kind, ns), WriteQuery(state_->options)), type,
                           std::move(object), type);
}

Task<Result<object::DocumentPtr>> Client::Update(const schema::Kind& kind, object::DocumentPtr object,
                                                 std::string subresource) const {
  BodyType type = TypeOf(kind, subresource);
  std::string path = ResourcePath(kind, meta::Namespace(object->root()), meta::Name(object->root()), subresource);
  return State::SendObject(state_, MakeRequest("PUT", std::move(path), WriteQuery(state_->options)), type, std::move(object), type);
}

Task<Result<object::DocumentPtr>> Client::Patch(const schema::Kind& kind, std::string ns, std::string name, PatchType type,
                                                Bytes body, std::string subresource, PatchOptions options) const {
  http::Query query;
  AddIfSet(query, "fieldManager", options.field_manager.empty() ? state_->options.field_manager : options.field_manager);
  if (options.force) query.Add("force", "true");
  http::Request request = MakeRequest("PATCH", ResourcePath(kind, ns, name, subresource), query);
  request.headers.Set("Content-Type", ContentType(type));
  request.body = std::move(body);
  return State::ExchangeObject(state_, std::move(request), TypeOf(kind, subresource));
}

Task<Result<void>> Client::Delete(const schema::Kind& kind, std::string ns, std::string name, DeleteOptions options) const {
  return State::Discard(state_, DeleteRequest(kind, ResourcePath(kind, ns, name), {}, options));
}

Task<Result<void>> Client::DeleteCollection(const schema::Kind& kind, std::string ns, ListOptions list,
                                            DeleteOptions options) const {
  return State::Discard(state_, DeleteRequest(kind, ResourcePath(kind, ns), ListQuery(list), options));
}

Task<Result<std::unique_ptr<WatchStream>>> Client::Watch(const schema::Kind& kind, std::string ns, WatchOptions options) const {
  http::Request request = MakeRequest("GET", ResourcePath(kind, ns), WatchQuery(options));
  request.headers.Set("Accept", options.metadata_only          ? kAcceptMetadataStream
                                : SpeaksProtobuf(*kind.type) ? kAcceptAnyStream
                                                             : kJsonMediaType);
  return State::Watch(state_, ItemTypeOf(kind, options.metadata_only), std::move(request));
}

Task<Result<object::DocumentPtr>> Client::CreateSubresource(const schema::Kind& kind, std::string ns, std::string name,
                                                            std::string subresource, const schema::Kind& body_kind,
                                                            object::DocumentPtr body) const {
  BodyType type{body_kind.type, body_kind.gvk};
  http::Request request = MakeRequest("POST", ResourcePath(kind, ns, name, subresource), WriteQuery(state_->options));
  return State::SendObject(state_, std::move(request), type, std::move(body), type);
}

Task<Result<http::Response>> Client::Raw(http::Request request) const { return State::Raw(state_, std::move(request)); }

}  // namespace homeostat::sdk
