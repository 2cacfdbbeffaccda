#include "server/audit/recorder.h"

#include <utility>

#include "server/audit/bodies.h"
#include "server/request_chain.h"

namespace homeostat::server::audit {
namespace {

constexpr size_t kMostAgent = 1024;

std::string PlainStatus(int code, std::string_view message = {}) {
  std::string text = R"({"metadata":{})";
  if (!message.empty()) text += R"(,"message":")" + std::string(message) + "\"";
  return text + R"(,"code":)" + std::to_string(code) + "}";
}

// A body that ends its request's record when it ends, or is given up.
class FollowedBody final : public http::BodyReader {
 public:
  FollowedBody(std::unique_ptr<http::BodyReader> body, std::shared_ptr<Recorder> recorder) : body_(std::move(body)), recorder_(std::move(recorder)) {}
  ~FollowedBody() override { recorder_->Complete(); }
  Task<Result<Bytes>> Read() override {
    auto read = body_->Read();
    auto piece = co_await std::move(read);
    if (!piece || piece->empty()) recorder_->Complete();
    co_return piece;
  }

 private:
  std::unique_ptr<http::BodyReader> body_;
  std::shared_ptr<Recorder> recorder_;
};

// What runs on an upgraded connection, and then ends the record.
template <class Connection>
Task<void> Followed(std::move_only_function<Task<void>(std::unique_ptr<Connection>)> run, std::unique_ptr<Connection> connection,
                    std::shared_ptr<Recorder> recorder) {
  struct End {
    std::shared_ptr<Recorder> recorder;
    ~End() { recorder->Complete(); }
  } end{std::move(recorder)};
  auto running = run(std::move(connection));
  co_await std::move(running);
}

template <class Connection>
void Follow(std::move_only_function<Task<void>(std::unique_ptr<Connection>)>& run, const std::shared_ptr<Recorder>& recorder) {
  if (!run) return;
  run = [inner = std::move(run), recorder](std::unique_ptr<Connection> connection) mutable {
    return Followed<Connection>(std::move(inner), std::move(connection), std::move(recorder));
  };
}

}  // namespace

Recorder::Recorder(Runtime& runtime, std::shared_ptr<Log> log, Decision decision, Event event, bool lasts)
    : runtime_(runtime), log_(std::move(log)), decision_(decision), event_(std::move(event)), lasts_(lasts), annotations_(decision.level) {
  event_.level = decision_.level;
}

Recorder::~Recorder() {
  if (!received_ || done_) return;
  if (event_.response_status.empty()) event_.response_status = PlainStatus(200, "Connection closed early");
  Complete();
}

bool Recorder::Add(Stage stage) {
  if (decision_.Omits(stage)) return false;
  event_.stage = stage;
  event_.stage_time = stage == Stage::kRequestReceived ? event_.received : runtime_.WallNow();
  event_.annotations = annotations_.by_key();
  log_->Add(ToLine(event_));
  return true;
}

Task<void> Recorder::Receive() {
  received_ = true;
  if (!Add(Stage::kRequestReceived)) co_return;
  auto written = log_->Written();
  co_await std::move(written);
}

void Recorder::NoteRequest(const schema::Type& type, std::string_view api_version, std::string_view kind, const object::Value& object) {
  object::Value metadata = object.Get("metadata");
  if (event_.object) {
    auto fill = [&](std::string& text, std::string_view name) { if (text.empty()) text = metadata.Get(name).AsString(); };
    fill(event_.object->ns, "namespace");
    fill(event_.object->name, "name");
    fill(event_.object->uid, "uid");
    fill(event_.object->resource_version, "resourceVersion");
  }
  if (WantsRequests()) event_.request_object = JsonOfObject(type, api_version, kind, object, decision_.omits_managed_fields);
}

void Recorder::NotePatch(std::string json) {
  if (WantsRequests()) event_.request_object = std::move(json);
}

void Recorder::NoteAnswer(const http::Response& response) {
  noted_ = true;
  if (auto status = StatusIn(response)) event_.response_status = *std::move(status);
  if (decision_.level < Level::kRequestResponse || !event_.object) return;
  if (auto json = JsonOfAnswer(response, decision_.omits_managed_fields)) event_.response_object = *std::move(json);
}

void Recorder::Complete() {
  if (std::exchange(done_, true)) return;
  Add(Stage::kResponseComplete);
}

Task<void> Recorder::Finish(std::shared_ptr<Recorder> recorder, http::Response& response) {
  if (!recorder->noted_ && response.code >= 400) recorder->NoteAnswer(response);
  std::string& status = recorder->event_.response_status;
  if (status.empty()) status = PlainStatus(response.code);
  if (recorder->lasts_) recorder->Add(Stage::kResponseStarted);
  if (response.stream || response.on_websocket || response.on_stream) {
    if (response.stream) response.stream = std::make_unique<FollowedBody>(std::move(response.stream), recorder);
    Follow(response.on_websocket, recorder);
    Follow(response.on_stream, recorder);
  } else {
    recorder->Complete();
  }
  auto written = recorder->log_->Written();
  co_await std::move(written);
}

Task<void> Recorder::FinishUnknown(std::shared_ptr<Recorder> recorder, std::string message, int code) {
  recorder->event_.response_status = PlainStatus(code, message);
  recorder->done_ = true;
  if (!recorder->Add(Stage::kResponseStarted)) co_return;
  auto written = recorder->log_->Written();
  co_await std::move(written);
}

Audit::Audit(Runtime& runtime, Policy policy, std::shared_ptr<Log> log, MetricsRegistry& registry)
    : runtime_(runtime),
      policy_(std::move(policy)),
      log_(std::move(log)),
      levels_(registry.Counters("apiserver_audit_level_total", "Requests, by how much of them the audit log is told.", {"level"})) {}

Result<std::unique_ptr<Audit>> Audit::Make(Runtime& runtime, const AuditOptions& options, Logger log, MetricsRegistry& registry) {
  if (options.policy_file.empty()) {
    if (!options.log.path.empty()) log.Info("there is no audit policy, so that nothing is logged", {{"path", options.log.path}});
    return nullptr;
  }
  std::vector<std::string> unknown;
  TRY_ASSIGN(Policy policy, Policy::Read(options.policy_file, &unknown));
  for (const std::string& field : unknown) log.Warning("the audit policy has a field that is not known", {{"field", field}});
  if (options.log.path.empty()) return nullptr;
  TRY_ASSIGN(LogFile file, LogFile::Open(options.log));
  auto lines = std::make_shared<Log>(runtime, std::move(file), std::move(log), registry);
  return std::unique_ptr<Audit>(new Audit(runtime, std::move(policy), std::move(lines), registry));
}

std::shared_ptr<Recorder> Audit::Begin(const http::Request& request, const RequestInfo& info, const User* user, std::string id, bool lasts) {
  static const User kNobody;
  auth::Attributes attributes = AttributesOf(info, user == nullptr ? kNobody : *user);
  attributes.user = user;
  Decision decision = policy_.For(attributes);
  levels_.With({NameOf(decision.level)}).Add();
  if (decision.level == Level::kNone) return nullptr;
  Event event;
  event.id = std::move(id);
  event.uri = request.query.empty() ? request.path : request.path + "?" + request.query;
  event.verb = info.verb;
  if (user != nullptr) event.user = *user;
  event.source_addresses = SourceAddresses(request.headers.Get("X-Forwarded-For"), request.headers.Get("X-Real-Ip"), request.remote_address);
  std::string_view agent = request.headers.Get("User-Agent");
  event.user_agent = agent.size() > kMostAgent ? std::string(agent.substr(0, kMostAgent)) + "...TRUNCATED" : std::string(agent);
  if (info.resource_request) event.object = ObjectReference{info.resource, info.ns, info.name, "", info.group, info.version, "", info.subresource};
  event.received = runtime_.WallNow();
  return std::make_shared<Recorder>(runtime_, log_, decision, std::move(event), lasts);
}

}  // namespace homeostat::server::audit
