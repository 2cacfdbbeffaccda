// EventRecorder, declared in controller.h.
#include <fmt/format.h>

#include <deque>
#include <utility>

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/log.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/sdk/controller.h"
#include "sdk/internal/event_correlator.h"

namespace homeostat::sdk {

using api::core::v1::Event;
using api::core::v1::EventBuilder;
using api::core::v1::ObjectReference;

namespace {

constexpr size_t kMostWaiting = 1000;
constexpr int kAttempts = 12;
constexpr Duration kRetryPause = std::chrono::seconds(10);

// Nobody answered: it may work later. Anything else is the server's decision.
bool IsNobodyThere(const Status& status) { return status.code() == 503 || status.code() == 504; }

}  // namespace

struct EventRecorder::State {
  // An event that waits to be written. With count > 1 it is there already, and is only brought up to date.
  struct Waiting {
    object::DocumentPtr event;
    EventCorrelator::Output output;
  };

  State(Runtime& loop, Client the_client, std::string the_component, std::string the_host)
      : runtime(loop),
        client(std::move(the_client)),
        component(std::move(the_component)),
        host(std::move(the_host)),
        group(loop) {}

  Runtime& runtime;
  Client client;
  std::string component, host;
  EventCorrelator correlator;
  std::deque<Waiting> waiting;
  int64_t last_stamp = 0;
  bool writing = false;
  TaskGroup group;

  std::string NewName(std::string_view object_name);
  object::DocumentPtr Make(const ObjectReference& about, std::string_view ns, std::string_view type, std::string_view reason,
                           const EventCorrelator::Output& output, const std::string& now) const;
  void Add(const ObjectReference& about, std::string_view ns, std::string_view type, std::string_view reason, std::string message);
  Task<void> WriteAll();
  Task<Result<void>> Write(Waiting entry);
};

// As client-go names them, by the time; made unique where two fall on one instant, also those of two recorders (clocks are
// coarser than the nanoseconds they count in, and a simulated one stands still).
std::string EventRecorder::State::NewName(std::string_view object_name) {
  const auto within = static_cast<int64_t>(runtime.Random() % 1000);
  int64_t stamp = std::max<int64_t>(runtime.WallNow().time_since_epoch().count() + within, last_stamp + 1);
  last_stamp = stamp;
  return fmt::format("{}.{:x}", object_name, static_cast<uint64_t>(stamp));
}

object::DocumentPtr EventRecorder::State::Make(const ObjectReference& about, std::string_view ns, std::string_view type,
                                               std::string_view reason, const EventCorrelator::Output& output,
                                               const std::string& now) const {
  EventBuilder event;
  event.mutable_metadata().set_name(output.name).set_namespace(ns);
  event.set_involved_object(schema::Subtree(about));
  event.set_reason(reason).set_message(output.message).set_type(type).set_count(output.count);
  event.set_first_timestamp(output.first_timestamp).set_last_timestamp(now);
  event.mutable_source().set_component(component).set_host(host);
  event.set_reporting_component(component).set_reporting_instance(host);
  return event.Freeze();
}

void EventRecorder::State::Add(const ObjectReference& about, std::string_view ns, std::string_view type, std::string_view reason,
                               std::string message) {
  if (waiting.size() >= kMostWaiting) {
    client.options().log.Warning("Too many events wait to be written, dropping one", {{"reason", reason}, {"object", about.name()}});
    return;
  }
  std::string now = object::FormatTime(object::Timestamp::FromClock(runtime.WallNow()));
  EventCorrelator::Input input;
  input.source = component + '\0' + host;
  for (std::string_view text : {about.kind(), about.api_version(), about.namespace_(), about.name(), about.uid()}) {
    input.object.append(text).push_back('\0');
  }
  input.part = about.field_path();
  input.type = type;
  input.reason = reason;
  input.message = std::move(message);
  auto output = correlator.Correlate(input, NewName(about.name()), now, runtime.Now());
  if (!output) return;
  // Events about what has no namespace stand in default.
  waiting.push_back({Make(about, ns.empty() ? "default" : ns, type, reason, *output, now), *std::move(output)});
  if (!std::exchange(writing, true)) group.Spawn(WriteAll());
}

Task<Result<void>> EventRecorder::State::Write(Waiting entry) {
  Event event(entry.event->root());
  if (entry.output.count > 1) {
    std::string patch = "{\"count\":" + std::to_string(event.count()) + ",\"lastTimestamp\":";
    object::AppendJsonString(patch, event.last_timestamp());
    patch += ",\"message\":";
    object::AppendJsonString(patch, event.message());
    patch += "}";
    auto call = client.Patch(Event::SchemaKind(), std::string(event.metadata().namespace_()), std::string(event.metadata().name()),
                             PatchType::kStrategicMerge, Bytes(std::move(patch)), {}, {});
    auto patched = co_await call;
    if (patched) co_return Done();
    if (!patched.error().IsNotFound()) co_return Fail(patched.error());
    // It ran out of time: begin again under the same name.
  }
  auto create = client.Create(Event::SchemaKind(), std::string(event.metadata().namespace_()), entry.event);
  CO_TRY(co_await create);
  co_return Done();
}

Task<void> EventRecorder::State::WriteAll() {
  while (!waiting.empty()) {
    Waiting entry = waiting.front();
    for (int attempt = 1;; ++attempt) {
      auto write = Write(entry);
      Result<void> written = co_await write;
      if (written) break;
      if (!IsNobodyThere(written.error()) || attempt == kAttempts) {
        // In a namespace that goes nothing more can be said; that is no news.
        client.options().log.V(2).Info("Could not write an event", {{"event", entry.output.name}, {"err", written.error()}});
        correlator.Forget(entry.output.key);
        break;
      }
      auto pause = Sleep(runtime, kRetryPause);
      co_await pause;
    }
    waiting.pop_front();
  }
  writing = false;
}

EventRecorder::EventRecorder(Runtime& runtime, Client client, std::string component, std::string host)
    : state_(std::make_shared<State>(runtime, std::move(client), std::move(component), std::move(host))) {}
EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const schema::Kind& kind, const object::Value& about, std::string_view type, std::string_view reason,
                           std::string message, std::string_view field_path) {
  api::core::v1::ObjectReferenceBuilder reference;
  reference.set_kind(kind.gvk.kind).set_api_version(kind.gvk.ApiVersion());
  reference.set_namespace(meta::Namespace(about)).set_name(meta::Name(about)).set_uid(meta::Uid(about));
  reference.set_resource_version(meta::ResourceVersion(about)).set_field_path(field_path);
  state_->Add(reference.View(), meta::Namespace(about), type, reason, std::move(message));
}

void EventRecorder::RecordReference(const ObjectReference& about, std::string_view ns, std::string_view type,
                                    std::string_view reason, std::string message) {
  state_->Add(about, ns, type, reason, std::move(message));
}

}  // namespace homeostat::sdk
