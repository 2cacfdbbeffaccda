// Recorder: one request on its way into the audit log. Audit: the policy and the log that make recorders.
//
// A request has an event when it was received and one when its answer is complete; one that lasts (a watch, a stream) has one between,
// when its answer begins. Source of the stages and of what stands in events: apiserver's endpoints/filters/audit.go and audit/.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "homeostat/base/http.h"
#include "homeostat/base/metrics.h"
#include "homeostat/schema/kind.h"
#include "kinds/audit_annotations.h"
#include "server/audit/event.h"
#include "server/audit/log.h"
#include "server/audit/policy.h"
#include "server/request_info.h"

namespace homeostat::server::audit {

// Loop only. Kept by the request and by what is streamed of its answer.
class Recorder {
 public:
  Recorder(Runtime& runtime, std::shared_ptr<Log> log, Decision decision, Event event, bool lasts);
  // A request that was given up before it was answered is told of as one whose connection was closed.
  ~Recorder();
  Recorder(const Recorder&) = delete;

  // The first event; the request goes on once it is written.
  Task<void> Receive();
  void Impersonate(const User& user) { event_.impersonated = user; }
  // The object that was sent: typed, of that kind.
  void NoteRequest(const schema::Type& type, std::string_view api_version, std::string_view kind, const object::Value& object);
  // A patch, as JSON.
  void NotePatch(std::string json);
  // Whether what was sent is told of.
  bool WantsRequests() const { return decision_.level >= Level::kRequest; }
  // An answer that is not compressed yet.
  void NoteAnswer(const http::Response& response);
  kinds::AuditAnnotations& annotations() { return annotations_; }

  // The last event, once the answer is at hand; one that is read as it goes is followed to its end.
  static Task<void> Finish(std::shared_ptr<Recorder> recorder, http::Response& response);
  // The one event of a request from nobody knows whom.
  static Task<void> FinishUnknown(std::shared_ptr<Recorder> recorder, std::string message, int code);
  // At the end of what was followed.
  void Complete();

 private:
  bool Add(Stage stage);

  Runtime& runtime_;
  std::shared_ptr<Log> log_;
  const Decision decision_;
  Event event_;
  const bool lasts_;
  kinds::AuditAnnotations annotations_;
  bool noted_ = false, received_ = false, done_ = false;
};

struct AuditOptions {
  std::string policy_file;  // empty: nothing is logged
  LogFileOptions log;       // path empty: nothing is logged
};

// Loop only.
class Audit {
 public:
  // Reads the policy and opens the log: blocks. Null if nothing is to be logged.
  static Result<std::unique_ptr<Audit>> Make(Runtime& runtime, const AuditOptions& options, Logger log, MetricsRegistry& registry);

  // Null: the policy wants nothing of this request. user: null if nobody was found out.
  std::shared_ptr<Recorder> Begin(const http::Request& request, const RequestInfo& info, const User* user, std::string id, bool lasts);
  Task<void> Written() { return log_->Written(); }

 private:
  Audit(Runtime& runtime, Policy policy, std::shared_ptr<Log> log, MetricsRegistry& registry);

  Runtime& runtime_;
  Policy policy_;
  std::shared_ptr<Log> log_;
  CounterFamily& levels_;
};

}  // namespace homeostat::server::audit
