#include "node/node_api.h"

#include <charconv>

#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/json_encoder.h"
#include "node/errors.h"
#include "node/log_stream.h"
#include "node/stream_bridge.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

http::Response Text(int code, std::string text) {
  http::Response response;
  response.code = code;
  response.headers.Set("Content-Type", "text/plain; charset=utf-8");
  response.body.emplace_back(std::move(text));
  return response;
}

http::Response Json(std::string text) {
  http::Response response;
  response.headers.Set("Content-Type", "application/json");
  response.body.emplace_back(std::move(text));
  return response;
}

http::Response ErrorResponse(const Status& status) { return Text(status.code(), status.message()); }

std::vector<std::string> PathParts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    if (path.starts_with('/')) path.remove_prefix(1);
    size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(http::PercentDecode(path.substr(0, slash), false));
    path.remove_prefix(slash);
  }
  return parts;
}

bool Flag(const http::Query& query, std::string_view name, std::string_view other) {
  auto set = [&](std::string_view key) {
    std::string_view value = query.Get(key);
    return value == "true" || value == "1";
  };
  return set(name) || set(other);
}

}  // namespace

// What a path names: /verb/NS/POD[/UID][/CONTAINER].
struct NodeApi::Target {
  std::string ns, pod, uid, container;
};

NodeApi::NodeApi(Runtime& runtime) : runtime_(runtime) {}
NodeApi::~NodeApi() = default;

void NodeApi::Attach(NodeContext& context, PodManager& pods) {
  node_->context = &context;
  node_->pods = &pods;
}

void NodeApi::Detach() {
  node_->context = nullptr;
  node_->pods = nullptr;
}

Task<http::Response> NodeApi::Handle(http::Request request) {
  auto route = Route(std::move(request));
  co_return co_await std::move(route);
}

Task<http::Response> NodeApi::Route(http::Request request) {
  std::vector<std::string> parts = PathParts(request.path);
  std::string verb = parts.empty() ? "" : parts[0];
  if (verb == "healthz" && parts.size() == 1) co_return Text(200, "ok");
  if (node_->context == nullptr) co_return Text(503, "the node is not ready");
  if (verb == "pods" && parts.size() == 1) co_return Pods();
  if (verb == "stats" && parts.size() == 2 && parts[1] == "summary") {
    auto stats = Stats();
    co_return co_await std::move(stats);
  }
  if (parts.size() < 3) co_return Text(404, "404 page not found");
  Target target{parts[1], parts[2], "", ""};
  if (verb == "portForward") {
    if (parts.size() == 4) target.uid = parts[3];
    auto forward = PortForward(std::move(request), std::move(target));
    co_return co_await std::move(forward);
  }
  if (parts.size() == 5) target.uid = parts[3];
  if (parts.size() != 4 && parts.size() != 5) co_return Text(404, "404 page not found");
  target.container = parts.back();
  if (verb == "containerLogs" && request.method == "GET") {
    auto logs = Logs(std::move(request), std::move(target));
    co_return co_await std::move(logs);
  }
  if (verb == "exec" || verb == "attach") {
    auto run = ExecOrAttach(std::move(request), std::move(target), verb == "exec");
    co_return co_await std::move(run);
  }
  co_return Text(404, "404 page not found");
}

http::Response NodeApi::Pods() const {
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  object::ListBuilder items(arena);
  for (PodRunner* runner : node_->pods->All()) {
    arena.Keep(runner->pod());
    items.Append(runner->pod()->root());
  }
  object::ObjectBuilder list(arena);
  list.Append("kind", object::Value::StringRef("PodList"));
  list.Append("apiVersion", object::Value::StringRef("v1"));
  list.Append("metadata", object::Value::EmptyObject());
  list.Append("items", items.Build());
  return Json(object::JsonText(list.Build()));
}

Task<http::Response> NodeApi::Logs(http::Request request, Target target) {
  Result<LogOptions> options = ParseLogOptions(http::Query::Parse(request.query), runtime_.WallNow());
  if (!options) co_return ErrorResponse(options.error());
  PodRunner* runner = node_->pods->Find(target.ns, target.pod);
  if (runner == nullptr) co_return Text(404, "pod " + GoQuote(target.pod) + " not found");
  std::string shown = "container " + GoQuote(target.container) + " in pod " + GoQuote(target.pod);
  const RuntimeContainer* container = nullptr;
  for (const RuntimeContainer& candidate : runner->runtime().containers) {
    if (candidate.name != target.container) continue;
    // With `previous`, the newest but one; else the newest that got so far as to run.
    bool skip = options->previous && container == nullptr && &candidate == runner->runtime().Latest(target.container);
    if (skip || candidate.status.state == cri::ContainerState::kCreated) continue;
    container = &candidate;
    break;
  }
  if (container == nullptr) {
    if (options->previous) co_return Text(400, "previous terminated " + shown + " not found");
    for (core::ContainerStatus status : runner->status().container_statuses()) {
      if (status.name() == target.container && status.state().waiting().has_reason()) {
        std::string_view reason = status.state().waiting().reason();
        if (reason == "ErrImagePull") co_return Text(400, shown + " is waiting to start: image can't be pulled");
        if (reason == "ImagePullBackOff") co_return Text(400, shown + " is waiting to start: trying and failing to pull image");
        co_return Text(400, shown + " is waiting to start: " + std::string(reason));
      }
    }
    if (!FindContainer(core::Pod(runner->pod()->root()).spec(), target.container)) co_return Text(404, shown + " is not there");
    co_return Text(400, shown + " is waiting to start - no logs yet");
  }
  std::string uid = runner->uid(), id = container->status.id;
  auto still_running = [node = node_, uid, id] {
    PodRunner* now = node->pods == nullptr ? nullptr : node->pods->FindByUid(uid);
    const RuntimeContainer* found = now == nullptr ? nullptr : now->runtime().ById(id);
    return found != nullptr && found->running();
  };
  std::string path = container->status.log_path;
  if (path.empty()) {
    core::Pod pod(runner->pod()->root());
    path = node_->context->LogFolder(pod) + "/" + ContainerLogPath(target.container, container->restart_count);
  }
  auto open = OpenLog(runtime_, path, std::move(*options), still_running);
  Result<std::unique_ptr<http::BodyReader>> reader = co_await std::move(open);
  if (!reader) co_return Text(reader.error().IsNotFound() ? 404 : 500, "failed to try resolving symlinks in path " + GoQuote(path));
  http::Response response;
  response.headers.Set("Content-Type", "text/plain");
  response.stream = std::move(*reader);
  co_return response;
}

Task<http::Response> NodeApi::ExecOrAttach(http::Request request, Target target, bool exec) {
  PodRunner* runner = node_->pods->Find(target.ns, target.pod);
  if (runner == nullptr || (!target.uid.empty() && runner->uid() != target.uid)) co_return Text(404, "pod does not exist");
  const RuntimeContainer* container = runner->runtime().Latest(target.container);
  if (container == nullptr || !container->running()) co_return Text(404, "container not found (" + GoQuote(target.container) + ")");
  http::Query query = http::Query::Parse(request.query);
  StreamSet streams{.in = Flag(query, "stdin", "input"), .out = Flag(query, "stdout", "output"),
                    .err = Flag(query, "stderr", "error"), .tty = Flag(query, "tty", "tty")};
  // A terminal has one output.
  if (streams.tty) streams.err = false;
  if (!streams.in && !streams.out && !streams.err) co_return Text(400, "you must specify at least 1 of stdin, stdout, stderr");
  cri::StreamRequest ask{.container_id = container->status.id, .tty = streams.tty, .in = streams.in, .out = streams.out, .err = streams.err};
  for (std::string_view word : query.GetAll("command")) ask.command.emplace_back(word);
  if (exec && ask.command.empty()) co_return Text(400, "you must specify at least one command");
  if (!request.headers.Has("Upgrade")) co_return Text(400, "Upgrade request required");
  auto call = exec ? node_->context->cri.Exec(std::move(ask)) : node_->context->cri.Attach(std::move(ask));
  Result<std::string> url = co_await std::move(call);
  if (!url) co_return ErrorResponse(url.error());
  auto bridge = BridgeExec(runtime_, std::move(request), std::move(*url), streams);
  co_return co_await std::move(bridge);
}

Task<http::Response> NodeApi::PortForward(http::Request request, Target target) {
  PodRunner* runner = node_->pods->Find(target.ns, target.pod);
  if (runner == nullptr || (!target.uid.empty() && runner->uid() != target.uid)) co_return Text(404, "pod does not exist");
  const std::vector<cri::SandboxStatus>& sandboxes = runner->runtime().sandboxes;
  if (sandboxes.empty() || sandboxes[0].state != cri::SandboxState::kReady) co_return Text(400, "pod is not running");
  if (!request.headers.Has("Upgrade")) co_return Text(400, "Upgrade request required");
  std::vector<int32_t> ports;
  for (std::string_view text : http::Query::Parse(request.query).GetAll("port")) {
    int32_t port = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535) {
      co_return Text(400, "invalid port " + GoQuote(text));
    }
    ports.push_back(port);
  }
  auto call = node_->context->cri.PortForward(sandboxes[0].id, std::move(ports));
  Result<std::string> url = co_await std::move(call);
  if (!url) co_return ErrorResponse(url.error());
  auto bridge = BridgePortForward(runtime_, std::move(request), std::move(*url));
  co_return co_await std::move(bridge);
}

// The part of the summary that metrics are made from.
Task<http::Response> NodeApi::Stats() {
  cri::Filter everything;
  auto list = node_->context->cri.ListContainerStats(everything);
  Result<std::vector<cri::ContainerUsage>> usages = co_await std::move(list);
  if (!usages) co_return ErrorResponse(usages.error());
  if (node_->context == nullptr) co_return Text(503, "the node is not ready");
  object::Document document;
  object::Arena& arena = document.arena();
  auto text = [&](std::string_view value) { return object::Value::String(arena, value); };
  std::map<std::string, std::vector<const cri::ContainerUsage*>> by_pod;
  for (const cri::ContainerUsage& usage : *usages) {
    auto uid = usage.labels.find(std::string(kPodUidLabel));
    if (uid != usage.labels.end()) by_pod[uid->second].push_back(&usage);
  }
  object::ListBuilder pods(arena);
  for (PodRunner* runner : node_->pods->All()) {
    core::Pod pod(runner->pod()->root());
    object::ListBuilder containers(arena);
    for (const cri::ContainerUsage* usage : by_pod[runner->uid()]) {
      auto name = usage->labels.find(std::string(kContainerNameLabel));
      if (name == usage->labels.end()) continue;
      object::Value time = text(FormatTime(FromNanoseconds(usage->timestamp)));
      object::ObjectBuilder cpu(arena), memory(arena), container(arena);
      cpu.Set("time", time).Set("usageCoreNanoSeconds", object::Value::Int(static_cast<int64_t>(usage->cpu_nanoseconds)));
      memory.Set("time", time).Set("workingSetBytes", object::Value::Int(static_cast<int64_t>(usage->memory_working_set)));
      memory.Set("usageBytes", object::Value::Int(static_cast<int64_t>(usage->memory_usage)));
      container.Set("name", text(name->second)).Set("cpu", cpu.Build()).Set("memory", memory.Build());
      containers.Append(container.Build());
    }
    object::ObjectBuilder reference(arena), item(arena);
    reference.Set("name", text(pod.metadata().name())).Set("namespace", text(pod.metadata().namespace_())).Set("uid", text(runner->uid()));
    item.Set("podRef", reference.Build()).Set("containers", containers.Build());
    pods.Append(item.Build());
  }
  object::ObjectBuilder node(arena), summary(arena);
  node.Set("nodeName", text(node_->context->node_name));
  summary.Set("node", node.Build()).Set("pods", pods.Build());
  co_return Json(object::JsonText(summary.Build()));
}

}  // namespace homeostat::node
