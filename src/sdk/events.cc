// EventRecorder, declared in controller.h.
#include <map>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/log.h"
#include "homeostat/object/time.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::sdk {

using api::core::v1::Event;
using api::core::v1::EventBuilder;

namespace {

// client-go's correlator: repeated events are counted in one object, and each source may say so much about an object.
constexpr double kBurst = 25, kPerSecond = 1.0 / 300;
constexpr size_t kRemembered = 4096;

struct Known {
  std::string name, ns;
  int32_t count = 1;
  std::string first_time;
};
struct Bucket {
  double tokens = kBurst;
  MonotonicTime at;
};

std::string Base36(uint64_t number) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[number % 16]);
    number /= 16;
  } while (number > 0);
  return text;
}

}  // namespace

struct EventRecorder::State {
  State(Runtime& loop, Client the_client, std::string the_component, std::string the_host)
      : runtime(loop), client(std::move(the_client)), component(std::move(the_component)), host(std::move(the_host)), group(loop) {}

  Runtime& runtime;
  Client client;
  std::string component, host;
  std::map<std::string, Known> known;
  std::map<std::string, Bucket> buckets;
  TaskGroup group;

  bool Allowed(const std::string& object_key);
  Task<void> Write(object::DocumentPtr event, std::string ns);
  Task<void> Repeat(Known known, std::string now, std::string message);
};

bool EventRecorder::State::Allowed(const std::string& object_key) {
  if (buckets.size() > kRemembered) buckets.clear();
  MonotonicTime now = runtime.Now();
  auto [found, added] = buckets.try_emplace(object_key, Bucket{kBurst, now});
  Bucket& bucket = found->second;
  double seconds = std::chrono::duration<double>(now - bucket.at).count();
  bucket.tokens = std::min(kBurst, bucket.tokens + seconds * kPerSecond);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

Task<void> EventRecorder::State::Write(object::DocumentPtr event, std::string ns) {
  auto create = client.Create<Event>(ns, Object<Event>(event));
  auto created = co_await std::move(create);
  if (!created && created.error().reason() != "Forbidden" && !created.error().IsNotFound()) {
    client.options().log.V(2).Info("an event could not be written", {{"error", created.error()}});
  }
}

Task<void> EventRecorder::State::Repeat(Known repeated, std::string now, std::string) {
  std::string body = "{\"count\":" + std::to_string(repeated.count) + ",\"lastTimestamp\":\"" + now + "\"}";
  auto patch = client.Patch(Event::SchemaKind(), repeated.ns, repeated.name, PatchType::kMerge, Bytes(std::move(body)), "", {});
  auto patched = co_await std::move(patch);
  if (!patched) client.options().log.V(2).Info("an event could not be counted", {{"error", patched.error()}});
}

EventRecorder::EventRecorder(Runtime& runtime, Client client, std::string component, std::string host)
    : state_(std::make_shared<State>(runtime, std::move(client), std::move(component), std::move(host))) {}
EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const schema::Kind& kind, const object::Value& about, std::string_view type, std::string_view reason,
                           std::string message, std::string_view field_path) {
  std::string object_key = std::string(kind.gvk.kind) + "/" + meta::Key(about) + "/" + std::string(meta::Uid(about));
  if (!state_->Allowed(object_key)) return;
  std::string now = object::FormatTime(object::Timestamp::FromClock(state_->runtime.WallNow()));
  std::string key = object_key + std::string(field_path) + "/" + std::string(type) + "/" + std::string(reason) + "/" + message;
  auto found = state_->known.find(key);
  if (found != state_->known.end()) {
    ++found->second.count;
    state_->group.Spawn(state_->Repeat(found->second, now, message));
    return;
  }
  if (state_->known.size() > kRemembered) state_->known.clear();
  // Events about what has no namespace stand in default.
  std::string ns(meta::Namespace(about).empty() ? std::string_view("default") : meta::Namespace(about));
  std::string name = std::string(meta::Name(about)) + "." +
                     Base36(static_cast<uint64_t>(state_->runtime.WallNow().time_since_epoch().count()) ^ (state_->runtime.Random() & 0xFFFF));
  EventBuilder event;
  event.mutable_metadata().set_name(name).set_namespace(ns);
  auto object = event.mutable_involved_object();
  object.set_kind(kind.gvk.kind).set_api_version(kind.gvk.ApiVersion()).set_name(meta::Name(about)).set_uid(meta::Uid(about));
  if (!meta::Namespace(about).empty()) object.set_namespace(meta::Namespace(about));
  object.set_resource_version(meta::ResourceVersion(about));
  if (!field_path.empty()) object.set_field_path(field_path);
  event.set_reason(reason).set_message(message).set_type(type).set_count(1);
  event.set_first_timestamp(now).set_last_timestamp(now);
  event.mutable_source().set_component(state_->component);
  if (!state_->host.empty()) event.mutable_source().set_host(state_->host);
  event.set_reporting_component(state_->component).set_reporting_instance(state_->host);
  state_->known[key] = Known{name, ns, 1, now};
  state_->group.Spawn(state_->Write(event.Freeze(), ns));
}

}  // namespace homeostat::sdk
