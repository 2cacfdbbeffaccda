// log, exec, attach and portforward of Pods: checked here, served by the pod's node.
#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "server/admission_requests.h"
#include "server/object_store.h"
#include "server/options.h"
#include "server/request_chain.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

using api::core::v1::Container;
using api::core::v1::Pod;
using api::core::v1::PodSpec;

constexpr size_t kLongestError = 64 * 1024;

std::vector<std::string_view> NamesOf(schema::ListView<Container> containers) {
  std::vector<std::string_view> names;
  for (Container container : containers) names.push_back(container.name());
  return names;
}

std::string Listed(const std::vector<std::string_view>& names) {
  std::string out = "[";
  for (std::string_view name : names) out += (out.size() > 1 ? " " : "") + std::string(name);
  return out + "]";
}

bool HasContainer(PodSpec spec, std::string_view name) {
  for (Container container : spec.containers()) {
    if (container.name() == name) return true;
  }
  for (Container container : spec.init_containers()) {
    if (container.name() == name) return true;
  }
  for (api::core::v1::EphemeralContainer container : spec.ephemeral_containers()) {
    if (container.name() == name) return true;
  }
  return false;
}

// The container asked for, or the only one.
Result<std::string> ChooseContainer(Pod pod, std::string_view asked) {
  std::string pod_name(pod.metadata().name());
  if (!asked.empty()) {
    if (HasContainer(pod.spec(), asked)) return std::string(asked);
    return Fail(BadRequestError("container " + std::string(asked) + " is not valid for pod " + pod_name));
  }
  std::string start = "a container name must be specified for pod " + pod_name;
  PodSpec spec = pod.spec();
  if (spec.containers().size() == 1) return std::string(spec.containers()[0].name());
  if (spec.containers().empty()) return Fail(BadRequestError(start));
  std::vector<std::string_view> names = NamesOf(spec.init_containers());
  for (std::string_view name : NamesOf(spec.containers())) names.push_back(name);
  for (api::core::v1::EphemeralContainer container : spec.ephemeral_containers()) names.push_back(container.name());
  return Fail(BadRequestError(start + ", choose one of: " + Listed(names)));
}

// A WebSocket begins with GET: reading rights alone must not be enough to run something.
Result<void> CheckMayCreate(RequestContext& context) {
  if (context.info.verb != "get") return {};
  auth::Attributes attributes = AttributesOf(context.info, context.user);
  attributes.verb = "create";
  return AuthorizeRequest(context.parts.authorizer, attributes);
}

// The node's plain words become the API's Status.
Task<Result<http::Response>> ReadError(http::Response response) {
  int code = response.code;
  auto read = http::ReadAll(std::move(response), kLongestError);
  Result<Bytes> body = co_await std::move(read);
  std::string text = body ? body->str() : "the node did not answer";
  while (text.ends_with('\n')) text.pop_back();
  if (code == 400) co_return Fail(BadRequestError(text));
  if (code == 404) co_return Fail(Status(404, "NotFound", text));
  if (code == 422) co_return Fail(Status(422, "Invalid", text));
  if (code == 503) co_return Fail(Status(503, "ServiceUnavailable", text));
  co_return Fail(Status(500, "InternalError", text));
}

// What a log request may ask for. Source: upstream's PodLogOptions and their validation.
Result<void> CheckLogOptions(RequestContext& context) {
  const http::Query& query = context.query;
  schema::FieldErrors errors;
  TRY_ASSIGN(std::optional<int64_t> since, OptionalInt(query, "sinceSeconds"));
  if (std::string_view time = query.Get("sinceTime"); !time.empty()) TRY(object::ParseTime(time));
  TRY_ASSIGN(std::optional<int64_t> tail, OptionalInt(query, "tailLines"));
  TRY_ASSIGN(std::optional<int64_t> limit, OptionalInt(query, "limitBytes"));
  if (tail && *tail < 0) errors.Invalid(schema::FieldPath("tailLines"), *tail, "must be greater than or equal to 0");
  if (limit && *limit < 1) errors.Invalid(schema::FieldPath("limitBytes"), *limit, "must be greater than 0");
  if (since && query.Has("sinceTime")) {
    errors.Forbidden(schema::FieldPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified");
  } else if (since && *since < 1) {
    errors.Invalid(schema::FieldPath("sinceSeconds"), *since, "must be greater than 0");
  }
  if (query.Has("stream")) errors.Forbidden(schema::FieldPath("stream"), "may not be specified");
  if (errors.empty()) return {};
  return Fail(errors.ToStatus("", "PodLogOptions", context.info.name));
}

Task<Result<http::Response>> AskNode(const RequestContext& context, NodeHandlers nodes, std::string node, http::Request request) {
  if (!context.parts.objects.Get("", "nodes", "", node)) co_return Fail(NotFoundError("", "pods", node));  // upstream's mixture
  http::Handler* handler = nodes(node);
  if (handler == nullptr) co_return Fail(Status(503, "ServiceUnavailable", "node " + GoQuote(node) + " serves no containers' streams"));
  auto ask = handler->Handle(std::move(request));
  http::Response response = co_await std::move(ask);
  bool passed = response.code == 101 || (response.code >= 200 && response.code < 300);
  if (passed) co_return response;
  auto error = ReadError(std::move(response));
  co_return co_await std::move(error);
}

Result<Pod> FindPod(RequestContext& context, object::DocumentPtr& document) {
  document = context.parts.objects.Get("", "pods", context.info.ns, context.info.name);
  if (!document) return Fail(context.NotFound(context.info.name));
  return Pod(document->root());
}

http::Request ForNode(RequestContext& context, std::string verb, const std::string& container) {
  http::Request request;
  request.method = context.request.method;
  request.path = "/" + verb + "/" + http::PercentEncode(context.info.ns) + "/" + http::PercentEncode(context.info.name);
  if (!container.empty()) request.path += "/" + http::PercentEncode(container);
  request.query = context.request.query;
  // Only what belongs to the upgrade: credentials stay here.
  for (const char* name : {"Upgrade", "Connection", "Sec-WebSocket-Protocol", "X-Stream-Protocol-Version"}) {
    for (std::string_view value : context.request.headers.GetAll(name)) request.headers.Add(name, value);
  }
  return request;
}

struct NodeStreams {
  NodeHandlers nodes;

  Task<Result<http::Response>> Log(RequestContext& context) const {
    CO_TRY(CheckLogOptions(context));
    object::DocumentPtr document;
    CO_TRY_ASSIGN(Pod pod, FindPod(context, document));
    CO_TRY_ASSIGN(std::string container, ChooseContainer(pod, context.query.Get("container")));
    std::string node(pod.spec().node_name());
    if (node.empty()) {
      http::Response nothing;
      nothing.code = 204;
      co_return nothing;
    }
    auto ask = AskNode(context, nodes, std::move(node), ForNode(context, "containerLogs", container));
    co_return co_await std::move(ask);
  }

  Task<Result<http::Response>> Connect(RequestContext& context, std::string verb, bool has_container) const {
    CO_TRY(CheckMayCreate(context));
    auto admit = AdmitConnect(context);
    CO_TRY(co_await std::move(admit));
    object::DocumentPtr document;
    CO_TRY_ASSIGN(Pod pod, FindPod(context, document));
    std::string container;
    if (has_container) {
      CO_TRY_ASSIGN(container, ChooseContainer(pod, context.query.Get("container")));
    }
    std::string node(pod.spec().node_name());
    if (node.empty()) co_return Fail(BadRequestError("pod " + std::string(pod.metadata().name()) + " does not have a host assigned"));
    std::string_view phase = pod.status().phase();
    if (has_container && (phase == "Succeeded" || phase == "Failed")) {
      co_return Fail(BadRequestError("cannot exec into a container in a completed pod; current phase is " + std::string(phase)));
    }
    auto ask = AskNode(context, nodes, std::move(node), ForNode(context, std::move(verb), container));
    co_return co_await std::move(ask);
  }
};

Task<Result<http::Response>> Run(std::shared_ptr<const NodeStreams> streams, RequestContext& context, std::string verb,
                                 bool has_container) {
  auto connect = streams->Connect(context, std::move(verb), has_container);
  co_return co_await std::move(connect);
}

Task<Result<http::Response>> RunLog(std::shared_ptr<const NodeStreams> streams, RequestContext& context) {
  auto log = streams->Log(context);
  co_return co_await std::move(log);
}

}  // namespace

void ServeNodeStreams(ApiServer& server, NodeHandlers nodes) {
  ServeProxies(server, nodes);
  auto streams = std::make_shared<const NodeStreams>(NodeStreams{std::move(nodes)});
  server.HandleResource("", "pods", "log", "get", [streams](RequestContext& context) { return RunLog(streams, context); });
  for (std::string_view verb : {"get", "create"}) {
    server.HandleResource("", "pods", "exec", std::string(verb),
                          [streams](RequestContext& context) { return Run(streams, context, "exec", true); });
    server.HandleResource("", "pods", "attach", std::string(verb),
                          [streams](RequestContext& context) { return Run(streams, context, "attach", true); });
    server.HandleResource("", "pods", "portforward", std::string(verb),
                          [streams](RequestContext& context) { return Run(streams, context, "portForward", false); });
  }
}

}  // namespace homeostat::server
