#include "server/api_server.h"

#include <algorithm>

#include "homeostat/base/ids.h"
#include "homeostat/base/log.h"
#include "homeostat/base/text.h"
#include "patch/manager_name.h"
#include "server/audit/recorder.h"
#include "server/compression.h"
#include "server/encode.h"
#include "server/impersonation.h"
#include "server/request_chain.h"
#include "server/request_deadline.h"
#include "server/request_metrics.h"
#include "server/routes.h"
#include "server/verbs.h"

namespace homeostat::server {
namespace {

http::Response TooManyRequests(int retry_after) {
  http::Response response = PlainText(429, "Too many requests, please try again later.\n");
  response.headers.Set("Retry-After", std::to_string(retry_after));
  return response;
}

http::Response NotFoundPage() { return PlainText(404, "404 page not found\n"); }

bool IsReading(std::string_view verb) { return verb == "get" || verb == "list" || verb == "watch" || verb == "head" || verb == "options"; }

using VerbFunction = Task<Result<http::Response>> (*)(RequestContext&);
VerbFunction FunctionOf(std::string_view verb) {
  if (verb == "get") return GetObject;
  if (verb == "list") return ListObjects;
  if (verb == "watch") return WatchObjects;
  if (verb == "create") return CreateObject;
  if (verb == "update") return UpdateObject;
  if (verb == "patch") return PatchObject;
  if (verb == "delete") return DeleteObject;
  return DeleteCollection;
}

// Past this many characters in all, each warning is cut to its first 256. Source: apiserver's endpoints/filters/warning.go.
constexpr size_t kMostWarningText = 4 * 1024, kShortWarning = 256;

std::string_view Shortened(std::string_view text) {
  size_t end = 0, count = 0;
  for (; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && count++ == kShortWarning) break;
  }
  return text.substr(0, end);
}

// Warnings as RFC 7234 writes them, each once; what can't stand in a header is left out.
void AddWarnings(http::Response& response, const std::vector<std::string>& warnings) {
  std::vector<std::string_view> distinct;
  size_t size = 0;
  for (const std::string& warning : warnings) {
    if (warning.empty() || std::ranges::find(distinct, warning) != distinct.end()) continue;
    distinct.push_back(warning);
    size += CountCharacters(warning);
  }
  for (std::string_view warning : distinct) {
    std::string text = "299 - \"";
    for (unsigned char c : size > kMostWarningText ? Shortened(warning) : warning) {
      if (c == '"' || c == '\\') text.push_back('\\');
      if (c >= 0x20 && c != 0x7F) text.push_back(static_cast<char>(c));
    }
    response.headers.Add("Warning", text + "\"");
  }
}

// Text for a version of a kind that is on its way out.
void WarnOfDeprecation(const schema::Kind& kind, std::vector<std::string>& warnings) {
  if (!kind.deprecation_warning.empty()) warnings.emplace_back(kind.deprecation_warning);
  if (kind.deprecated.empty()) return;
  std::string text = kind.gvk.ApiVersion() + " " + std::string(kind.gvk.kind) + " is deprecated in v" + std::string(kind.deprecated) + "+";
  if (!kind.removed.empty()) text += ", unavailable in v" + std::string(kind.removed) + "+";
  if (!kind.replacement.empty()) text += "; use " + std::string(kind.replacement);
  warnings.push_back(std::move(text));
}

// A subresource that is a part of the object itself, such as status: the verbs of the object serve it.
bool IsPartOfObject(const schema::Subresource& subresource, const schema::Kind& kind) {
  return subresource.kind == kind.gvk;
}

// Kinds are no resource at all at URLs of the other scope. All objects of a namespaced kind can be read at once, and only that.
bool IsOutOfScope(const Resource& resource, const RequestInfo& info) {
  if (!resource.namespaced()) return info.below_namespace;
  if (info.below_namespace && (!resource.custom || !info.ns.empty())) return false;
  if (info.parts.size() > 1) return true;
  return resource.custom && info.verb != "list" && info.verb != "watch";
}

bool HasBuiltIn(const Resources& resources, const RequestInfo& info) {
  return info.resource_request && std::ranges::any_of(resources.AllOf(info.group, info.version), [](const Resource* resource) { return !resource->custom; });
}

// Indented for people: asked for, or the client is one that people type.
bool WantsPretty(const http::Request& request, const http::Query& query, bool accepted) {
  if (query.Has("pretty")) return query.Get("pretty") == "1" || query.Get("pretty") == "true";
  if (accepted) return true;
  std::string_view agent = request.headers.Get("User-Agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

// How an error is shown where the encoding of the answer is not settled.
MediaTypeOptions ErrorOutput(const http::Request& request, const http::Query& query) {
  MediaTypeOptions output;
  if (auto negotiated = NegotiateOutput(request.headers.Get("Accept"), NegotiationScope{.transformations = false})) {
    output.encoding = negotiated->encoding;
    output.pretty = WantsPretty(request, query, negotiated->pretty);
  } else {
    output.pretty = true;  // an error for which the client takes no form, or only another (a Table) is written so
  }
  return output;
}

// By what a request is told from others, and what the audit log is told of it.
struct Trail {
  std::string id;
  std::shared_ptr<audit::Recorder> recorder;  // null: nothing
};

std::string AuditId(const http::Request& request, Runtime& runtime) {
  std::string id(request.headers.Get("Audit-Id"));
  return id.empty() ? NewUuid(runtime) : id;
}

std::string Dashed(std::string_view text) { return text.empty() ? "-" : std::string(text); }

}  // namespace

std::string RequestContext::FieldManager(std::string_view asked) const {
  return patch::ManagerName(asked, request.headers.Get("User-Agent"));
}

class ApiServer::Impl {
 public:
  Impl(Parts parts, std::vector<auth::Authenticator*> authenticators, ApiServerOptions options)
      : parts_(parts), authenticators_(std::move(authenticators)), options_(options) {}

  // info must outlive the task.
  Task<http::Response> Serve(User user, http::Request request, const RequestInfo& info, http::Query query, Trail trail);
  // Of a request from nobody knows whom.
  Task<http::Response> Refuse(http::Request request, Status error);
  // Once it is known who asks for what: their turn, whether they may, the answer.
  Task<http::Response> ServeInTurn(const User& user, const http::Request& request, const RequestInfo& info, http::Query query,
                                   MediaTypeOptions error_output, Trail trail);
  Task<http::Response> ServeAllowed(const User& user, const http::Request& request, const RequestInfo& info, http::Query query,
                                    MediaTypeOptions error_output, Trail trail);
  Task<http::Response> ServePath(const http::Request& request, const RequestInfo& info, const http::Query& query,
                                 const User& user, MediaTypeOptions output);
  Task<Result<http::Response>> ServeResource(RequestContext& context);
  const ResourceHandler* FindHandler(const RequestContext& context) const;
  const PathHandler* FindPath(std::string_view path) const;
  bool Enter(const RequestInfo& info, const User& user);
  void Count(const RequestInfo& info, std::string_view method, int code, Duration took);

  Parts parts_;
  std::vector<auth::Authenticator*> authenticators_;
  ApiServerOptions options_;
  std::map<std::string, PathHandler, std::less<>> paths_;
  std::map<std::string, ResourceHandler, std::less<>> resource_handlers_;
  Diversion diversion_;
  audit::Audit* audit_ = nullptr;
  // Kept by every request under way: one that is given up when the server ends may outlive it.
  struct InFlight {
    int reading = 0, mutating = 0;
  };
  std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();
  FlowControl* flow_control_ = nullptr;
  std::unique_ptr<RequestMetrics> metrics_;
  std::unique_ptr<StoreMetrics> store_metrics_;
};

void ApiServer::Impl::Count(const RequestInfo& info, std::string_view method, int code, Duration took) {
  std::string verb(method);
  if (info.verb == "list" || info.verb == "watch" || info.verb == "deletecollection") {
    verb = info.verb;
    std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return std::toupper(c); });
  }
  // Only what is served is counted by name, so that strangers can't make the series grow.
  bool known = parts_.resources.Find(info.group, info.version, info.resource) != nullptr;
  std::string_view scope = !known ? "" : !info.name.empty() ? "resource" : !info.ns.empty() ? "namespace" : "cluster";
  std::string_view none;
  metrics_->Finished(verb, known ? info.group : none, known ? info.version : none, known ? info.resource : none,
                     known ? info.subresource : none, scope, code, took);
  metrics_->InFlight(in_flight_->reading, in_flight_->mutating);
}

// The masters always get in: the server itself writes as one of them while it answers somebody.
bool ApiServer::Impl::Enter(const RequestInfo& info, const User& user) {
  if (IsLongRunning(info)) return true;
  int& count = IsReading(info.verb) ? in_flight_->reading : in_flight_->mutating;
  int limit = flow_control_ != nullptr ? 0 : IsReading(info.verb) ? options_.max_requests : options_.max_mutating_requests;
  if (limit > 0 && count >= limit && !user.InGroup(kGroupMasters)) return false;
  ++count;
  return true;
}

const PathHandler* ApiServer::Impl::FindPath(std::string_view path) const {
  if (auto exact = paths_.find(path); exact != paths_.end()) return &exact->second;
  // The longest registered folder that the path is in.
  for (size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0; slash = path.rfind('/', slash - 1)) {
    auto folder = paths_.find(path.substr(0, slash + 1));
    if (folder != paths_.end()) return &folder->second;
  }
  return nullptr;
}

const ResourceHandler* ApiServer::Impl::FindHandler(const RequestContext& context) const {
  const RequestInfo& info = context.info;
  std::string base = info.group + "/" + info.resource + "/" + info.subresource + "/";
  for (std::string_view verb : {std::string_view(info.verb), std::string_view("*")}) {
    auto found = resource_handlers_.find(base + std::string(verb));
    if (found != resource_handlers_.end()) return &found->second;
  }
  if (info.subresource.empty() || context.kind().FindSubresource(info.subresource) == nullptr) return nullptr;
  auto any = resource_handlers_.find("*/*/" + info.subresource + "/" + info.verb);
  return any == resource_handlers_.end() ? nullptr : &any->second;
}

namespace {

// Custom kinds have no router in front of them: their own handler says what it has no verb for.
Status NotSupportedOf(const RequestContext& context) {
  const RequestInfo& info = context.info;
  if (info.subresource.empty() && info.name.empty() && (info.verb == "update" || info.verb == "patch")) return BadRequestError("name must be provided");
  static constexpr std::string_view kVerbs[] = {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"};
  bool known = std::ranges::find(kVerbs, info.verb) != std::end(kVerbs);
  return MethodNotSupportedError(context.kind().gvk.group, context.kind().plural, known ? std::string_view(info.verb) : std::string_view());
}

}  // namespace

Task<Result<http::Response>> ApiServer::Impl::ServeResource(RequestContext& context) {
  const RequestInfo& info = context.info;
  const schema::Kind& kind = context.kind();
  if (const ResourceHandler* handler = FindHandler(context)) {
    if (info.subresource.empty() && !context.resource->custom) WarnOfDeprecation(kind, context.warnings);
    auto handling = (*handler)(context);
    co_return co_await std::move(handling);
  }
  uint32_t verbs = kind.verbs;
  if (!info.subresource.empty()) {
    const schema::Subresource* subresource = kind.FindSubresource(info.subresource);
    if (subresource == nullptr) co_return Fail(context.resource->custom ? context.NotFound(info.name) : NoSuchResource());
    if (!IsPartOfObject(*subresource, kind)) co_return Fail(context.resource->custom ? NotSupportedOf(context) : MethodNotAllowed());
    verbs = subresource->verbs;
  }
  // A custom object that is made under a name is made all the same.
  const bool named_create = context.resource->custom && info.verb == "create" && info.subresource.empty() && (verbs & schema::kCreate) != 0;
  if (!named_create && !HasVerbThere(info, kind, verbs)) co_return Fail(context.resource->custom ? NotSupportedOf(context) : MethodNotAllowed());
  if (!context.resource->custom) WarnOfDeprecation(kind, context.warnings);
  auto verb = FunctionOf(info.verb)(context);
  co_return co_await std::move(verb);
}

Task<http::Response> ApiServer::Impl::ServePath(const http::Request& request, const RequestInfo& info, const http::Query& query,
                                                const User& user, MediaTypeOptions output) {
  const PathHandler* handler = FindPath(info.path);
  if (handler == nullptr) co_return NotFoundPage();
  PathRequest path{request, info, query, user, output};
  auto handling = (*handler)(path);
  co_return co_await std::move(handling);
}

Task<http::Response> ApiServer::Impl::Serve(User user, http::Request request, const RequestInfo& info, http::Query query, Trail trail) {
  MediaTypeOptions error_output = ErrorOutput(request, query);
  if (auto allowed = TimeAllowed(info, query); !allowed) co_return EncodeStatus(allowed.error(), error_output);
  auto impersonated = Impersonate(parts_.authorizer, request, info, std::move(user));
  if (!impersonated) co_return EncodeStatus(impersonated.error(), error_output);
  User effective = *std::move(impersonated);
  if (trail.recorder && request.headers.Has("Impersonate-User")) trail.recorder->Impersonate(effective);
  auto serving = ServeInTurn(effective, request, info, std::move(query), error_output, std::move(trail));
  co_return co_await std::move(serving);
}

Task<http::Response> ApiServer::Impl::ServeInTurn(const User& user, const http::Request& request, const RequestInfo& info, http::Query query,
                                                  MediaTypeOptions error_output, Trail trail) {
  // Of what lasts, only the beginning of a watch counts.
  FlowControl::Pass pass(IsLongRunning(info) && info.verb != "watch" ? nullptr : flow_control_);
  if (!pass.Enter(user, info)) {
    auto wait = pass.Wait();
    if (!co_await std::move(wait)) {
      http::Response refusal = TooManyRequests(pass.retry_after());
      pass.Describe(refusal.headers);
      co_return refusal;
    }
  }
  auto serving = ServeAllowed(user, request, info, std::move(query), error_output, std::move(trail));
  http::Response response = co_await std::move(serving);
  pass.Describe(response.headers);
  co_return response;
}

Task<http::Response> ApiServer::Impl::ServeAllowed(const User& effective, const http::Request& request, const RequestInfo& info, http::Query query,
                                                   MediaTypeOptions error_output, Trail trail) {
  kinds::AuditAnnotations* annotations = trail.recorder ? &trail.recorder->annotations() : nullptr;
  if (auto allowed = AuthorizeRequest(parts_.authorizer, AttributesOf(info, effective), annotations); !allowed) {
    co_return EncodeStatus(allowed.error(), error_output);
  }
  if (!Enter(info, effective)) co_return TooManyRequests(1);
  struct Leaving {
    std::shared_ptr<InFlight> in_flight;
    bool counts, reads;
    ~Leaving() {
      if (counts) --(reads ? in_flight->reading : in_flight->mutating);
    }
  } leaving{in_flight_, !IsLongRunning(info), IsReading(info.verb)};

  if (diversion_) {
    PathRequest asked{request, info, query, effective, error_output, trail.id};
    if (auto diverted = diversion_(asked)) {
      auto elsewhere = *std::move(diverted);
      co_return co_await std::move(elsewhere);
    }
  }
  const Resource* resource =
      info.resource_request ? parts_.resources.Find(info.group, info.version, info.resource) : nullptr;
  if (request.path.starts_with("//")) co_return NotFoundPage();
  if (resource == nullptr || IsOutOfScope(*resource, info)) {
    // A group version of built-in kinds answers for what it hasn't; one of custom kinds isn't there without them.
    const bool built_in = resource == nullptr ? HasBuiltIn(parts_.resources, info) : !resource->custom;
    if (built_in) co_return EncodeStatus(NoSuchResource(), error_output);
    auto serving = ServePath(request, info, query, effective, error_output);
    co_return co_await std::move(serving);
  }
  if (!resource->custom) {
    auto refused = RefusedByRouter(info, request.method, request.headers.Get("Content-Type"), *resource);
    if (refused) co_return EncodeStatus(*refused, error_output);
  }
  Resource kept = *resource;  // a custom kind may go while its request is under way
  RequestContext context{parts_, request, info, std::move(query), effective};
  context.resource = &kept;
  context.audit_id = std::move(trail.id);
  context.recorder = trail.recorder.get();
  context.annotations = annotations;
  if (kept.owner) context.arena().Keep(kept.owner);
  // Of custom kinds whatever is asked is answered with that.
  if (kept.custom) WarnOfDeprecation(*kept.kind, context.warnings);
  if (kept.custom && !info.subresource.empty() && kept.kind->FindSubresource(info.subresource) == nullptr) {
    http::Response refusal = EncodeStatus(context.NotFound(info.name), error_output);
    AddWarnings(refusal, context.warnings);
    co_return refusal;
  }
  NegotiationScope scope;
  scope.protobuf = scope.routed = !kept.custom;
  scope.partial_protobuf = true;
  scope.tables = HasTables(info, kept);
  scope.streams = !kept.custom && (info.verb == "list" || info.verb == "watch");
  auto output = NegotiateOutput(request.headers.Get("Accept"), scope);
  if (!output) {
    http::Response refusal = EncodeStatus(output.error(), error_output);
    // The router knows nothing of what the verb behind it would say.
    if (!output.error().details().shown && !kept.custom) WarnOfDeprecation(*kept.kind, context.warnings);
    AddWarnings(refusal, context.warnings);
    co_return refusal;
  }
  context.output = *output;
  context.output.pretty = WantsPretty(request, context.query, context.output.pretty);
  auto serving = ServeResource(context);
  if (auto limit = TimeAllowed(info, context.query); limit && *limit) {
    context.deadline = parts_.runtime.Now() + **limit;
    serving = AnswerWithin(parts_.runtime, **limit, std::move(serving));
  }
  auto answer = co_await std::move(serving);
  http::Response response = answer ? *std::move(answer) : EncodeStatus(answer.error(), error_output);
  if (trail.recorder) trail.recorder->NoteAnswer(response);
  AddWarnings(response, context.warnings);
  auto compress = Compressed(parts_.runtime, request.headers.Get("Accept-Encoding"), std::move(response));
  co_return co_await std::move(compress);
}

Task<http::Response> AnswerNow(http::Response response) { co_return response; }

ApiServer::ApiServer(Parts parts, std::vector<auth::Authenticator*> authenticators, ApiServerOptions options)
    : impl_(std::make_unique<Impl>(parts, std::move(authenticators), options)) {}
ApiServer::~ApiServer() = default;

void ApiServer::HandlePath(std::string path, PathHandler handler) { impl_->paths_[std::move(path)] = std::move(handler); }

void ApiServer::HandleResource(std::string group, std::string plural, std::string subresource, std::string verb,
                               ResourceHandler handler) {
  impl_->resource_handlers_[group + "/" + plural + "/" + subresource + "/" + verb] = std::move(handler);
}

Task<http::Response> ApiServer::Handle(http::Request request) {
  auto user = AuthenticateRequest(impl_->authenticators_, request, impl_->options_.anonymous);
  if (!user) {
    auto refuse = impl_->Refuse(std::move(request), user.error());
    co_return co_await std::move(refuse);
  }
  auto serving = HandleAs(*std::move(user), std::move(request));
  co_return co_await std::move(serving);
}

Task<http::Response> ApiServer::Impl::Refuse(http::Request request, Status error) {
  http::Response response = EncodeStatus(error, MediaTypeOptions{});
  if (audit_ == nullptr) co_return response;
  RequestInfo info = ParseRequestInfo(request.method, http::PercentDecode(request.path, false), http::Query::Parse(request.query));
  auto recorder = audit_->Begin(request, info, nullptr, AuditId(request, parts_.runtime), false);
  if (!recorder) co_return response;
  bool bearer = request.headers.Get("Authorization").starts_with("Bearer ");
  std::string message = bearer ? "Authentication failed, attempted: bearer" : "Authentication failed, no credentials provided";
  auto finish = audit::Recorder::FinishUnknown(std::move(recorder), std::move(message), response.code);
  co_await std::move(finish);
  co_return response;
}

Task<http::Response> ApiServer::HandleAs(User user, http::Request request) {
  std::string audit_id = AuditId(request, impl_->parts_.runtime);
  std::string method = request.method, path = request.path, name = user.name, agent(request.headers.Get("User-Agent"));
  MonotonicTime start = impl_->parts_.runtime.Now();
  http::Query query = http::Query::Parse(request.query);
  RequestInfo info = ParseRequestInfo(request.method, http::PercentDecode(request.path, false), query);
  Trail trail{audit_id, nullptr};
  if (impl_->audit_ != nullptr) trail.recorder = impl_->audit_->Begin(request, info, &user, audit_id, IsLongRunning(info));
  std::shared_ptr<audit::Recorder> recorder = trail.recorder;
  if (recorder) {
    auto receive = recorder->Receive();
    co_await std::move(receive);
  }
  auto serving = impl_->Serve(std::move(user), std::move(request), info, std::move(query), std::move(trail));
  http::Response response = co_await std::move(serving);
  if (recorder) {
    auto finish = audit::Recorder::Finish(std::move(recorder), response);
    co_await std::move(finish);
  }
  response.headers.Set("Audit-Id", audit_id);
  if (!response.headers.Has("Cache-Control")) response.headers.Set("Cache-Control", "no-cache, private");
  if (impl_->metrics_ != nullptr) impl_->Count(info, method, response.code, impl_->parts_.runtime.Now() - start);
  Logger log = impl_->parts_.log.V(4);
  if (log.Enabled()) {
    log.Info("request", {{"method", method}, {"path", path}, {"code", response.code}, {"user", name}, {"agent", Dashed(agent)},
                         {"took", impl_->parts_.runtime.Now() - start}, {"auditID", audit_id}});
  }
  co_return response;
}

namespace {
// Calls the server directly, as one user.
class InProcessTransport : public http::Handler {
 public:
  InProcessTransport(ApiServer& server, User user) : server_(server), user_(std::move(user)) {}
  Task<http::Response> Handle(http::Request request) override {
    size_t mark = request.path.find('?');
    if (mark != std::string::npos) {
      request.query = request.path.substr(mark + 1);
      request.path.resize(mark);
    }
    return server_.HandleAs(user_, std::move(request));
  }

 private:
  ApiServer& server_;
  User user_;
};
}  // namespace

std::shared_ptr<http::Handler> ApiServer::InProcess(User user) {
  return std::make_shared<InProcessTransport>(*this, std::move(user));
}

void ApiServer::RecordWith(audit::Audit& audit) { impl_->audit_ = &audit; }
void ApiServer::DivertBy(Diversion diversion) { impl_->diversion_ = std::move(diversion); }
void ApiServer::LimitWith(FlowControl& flow_control) { impl_->flow_control_ = &flow_control; }

void ApiServer::CountInto(MetricsRegistry& registry) {
  impl_->metrics_ = std::make_unique<RequestMetrics>(registry);
  impl_->store_metrics_ = std::make_unique<StoreMetrics>(registry);
  impl_->parts_.store_metrics = impl_->store_metrics_.get();
}

Parts& ApiServer::parts() { return impl_->parts_; }

std::vector<std::string> ApiServer::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, handler] : impl_->paths_) {
    if ((!path.ends_with('/') || path.size() == 1) && !path.starts_with("/debug/")) paths.push_back(path);
  }
  return paths;
}

}  // namespace homeostat::server
