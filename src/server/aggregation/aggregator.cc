#include "server/aggregation/aggregator.h"

#include <algorithm>

#include "callout/service_location.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "server/encode.h"
#include "server/forwarding.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kCollection = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr std::string_view kAuthenticationConfig = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
constexpr Duration kLookAgain = std::chrono::seconds(30), kFirstRetry = std::chrono::milliseconds(5);
constexpr Duration kDiscoveryTime = std::chrono::seconds(5), kRegistrationRetry = std::chrono::seconds(1);
constexpr int kAttempts = 5;
constexpr size_t kProbeBytes = 16 << 20;
// Of custom kinds: below all built-in groups; versions in Kubernetes' order.
constexpr int kCustomGroupPriority = 1000, kCustomVersionPriority = 100;

// As Go's http.Error answers.
http::Response TextError(int code, std::string_view message) { return PlainText(code, std::string(message) + "\n"); }

// The name of the APIService that a path belongs to: /apis/GROUP/VERSION and what lies below it; "" for other paths.
std::string ServiceNameOf(std::string_view path) {
  constexpr std::string_view kPrefix = "/apis/";
  if (!path.starts_with(kPrefix)) return path == "/api" || path.starts_with("/api/") ? "v1." : "";
  path.remove_prefix(kPrefix.size());
  size_t slash = path.find('/');
  if (slash == path.npos) return "";
  std::string_view group = path.substr(0, slash), version = path.substr(slash + 1);
  version = version.substr(0, version.find('/'));
  return version.empty() ? std::string() : ApiServiceName(group, version);
}

// /apis/GROUP/VERSION itself: the discovery document, which clients shouldn't wait long for.
bool IsDiscovery(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::ranges::count(path, '/') == 2;
}

std::string DesiredService(std::string_view name, std::string_view group, std::string_view version) {
  std::string body = R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":)";
  object::AppendJsonString(body, name);
  body += R"(,"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"group":)";
  object::AppendJsonString(body, group);
  body += R"(,"version":)";
  object::AppendJsonString(body, version);
  return body + R"(,"groupPriorityMinimum":)" + std::to_string(kCustomGroupPriority) + R"(,"versionPriority":)" +
         std::to_string(kCustomVersionPriority) + "}}";
}

bool IsAsDesired(const ApiServiceSpec& spec) {
  return !spec.service && spec.ca_bundle.empty() && !spec.insecure_skip_tls_verify && spec.group_priority == kCustomGroupPriority &&
         spec.version_priority == kCustomVersionPriority;
}

}  // namespace

Aggregator::Aggregator(ApiServer& server, std::shared_ptr<http::Handler> transport, AggregatorOptions options)
    : server_(server),
      parts_(server.parts()),
      transport_(std::move(transport)),
      options_(std::move(options)),
      services_(parts_.cache, parts_.resources),
      group_(parts_.runtime) {
  server_.DivertBy([this](const PathRequest& request) { return Divert(request); });
}

Aggregator::~Aggregator() = default;

void Aggregator::Start() {
  parts_.resources.OnCustomChange([this](std::string_view group) { MarkGroup(group); });
  services_.Start([this](const std::string& name, const std::shared_ptr<const ApiService>& now) { Observe(name, now); });
  for (std::string_view plural : {std::string_view("services"), std::string_view("endpointslices")}) {
    const Resource* resource = parts_.resources.FindAny(plural == "services" ? "" : "discovery.k8s.io", plural);
    std::string prefix = StoragePrefix(*resource->storage, "");
    parts_.cache.Observe(prefix, [this, plural](const cache::WatchEvent& event) { ObserveServices(plural, event); });
  }
}

std::shared_ptr<ExtensionServer> Aggregator::Find(const std::string& name) const {
  auto found = extensions_.find(name);
  return found == extensions_.end() ? nullptr : found->second;
}

uint64_t Aggregator::generation() const {
  uint64_t sum = services_.generation() + changes_;
  for (const auto& [name, extension] : extensions_) sum += extension->generation();
  return sum;
}

void Aggregator::Observe(const std::string& name, const std::shared_ptr<const ApiService>& now) {
  if (now ? now->managed == "true" : !name.ends_with('.')) {
    size_t dot = name.find('.');
    if (dot != name.npos) MarkGroup(std::string_view(name).substr(dot + 1));
  }
  auto found = extensions_.find(name);
  std::shared_ptr<ExtensionServer> known = found == extensions_.end() ? nullptr : found->second;
  if (now && now->spec.service && known && known->service().spec == now->spec && known->service().uid == now->uid) {
    known->SetService(now);
    if (now->available != known->verdict()) known->Poke();  // somebody else wrote it
    return;
  }
  if (known) {
    changes_ += known->generation();  // so that the sum does not go back
    known->Close();
    extensions_.erase(found);
  }
  if (now && now->spec.service) {
    auto extension = std::make_shared<ExtensionServer>(parts_.runtime, parts_.objects, options_.loopback, now, options_.identity);
    extensions_[name] = extension;
    group_.Spawn(Follow(extension));
  } else if (now && now->available != AvailableByItself()) {
    group_.Spawn(WriteLocal(name));
  }
}

void Aggregator::ObserveServices(std::string_view resource, const cache::WatchEvent& event) {
  if (!services_.any_remote()) return;
  auto document = (event.current ? event.current : event.deleted)->document();
  if (!document) return;
  const object::Value& object = (*document)->root();
  std::string_view name = resource == "services" ? MetadataString(object, "name")
                                                 : object.Path({"metadata", "labels", callout::kServiceLabel}).AsString();
  PokeFor(MetadataString(object, "namespace"), name);
}

void Aggregator::PokeFor(std::string_view ns, std::string_view service) {
  for (const auto& [name, extension] : extensions_) {
    const ServiceReference& reference = *extension->service().spec.service;
    if (reference.ns == ns && reference.name == service) extension->Poke();
  }
}

// --- Passing requests on

std::optional<Task<http::Response>> Aggregator::Divert(const PathRequest& request) {
  if (!services_.any_remote()) return std::nullopt;
  std::string name = ServiceNameOf(request.info.path);
  if (name.empty()) return std::nullopt;
  auto extension = Find(name);
  if (!extension) return std::nullopt;
  return Pass(std::move(extension), request);
}

Task<http::Response> Aggregator::Pass(std::shared_ptr<ExtensionServer> extension, const PathRequest& request) {
  if (!extension->service().is_available()) co_return TextError(503, "service unavailable");
  if (extension->fault()) co_return TextError(500, extension->fault()->message());
  if (request.request.body_too_large) co_return EncodeStatus(RequestTooLargeError("limit is 3145728"), request.output);
  auto located = extension->Locate();
  if (!located) {
    parts_.log.Error("an extension server can't be located", {{"apiService", extension->service().name}, {"error", located.error()}});
    co_return TextError(503, "service unavailable");
  }
  std::string authority = *std::move(located);
  http::Request forwarded = ForwardedRequest(request.request, request.request.path);
  forwarded.headers.Remove("Host");
  SetIdentity(forwarded, request.user);
  if (!request.audit_id.empty()) forwarded.headers.Set("Audit-Id", request.audit_id);
  bool upgrade = !WantedUpgrade(request.request).empty();
  if (!upgrade) {
    forwarded.headers.Set("X-Forwarded-Uri", request.request.path);
    forwarded.headers.Set("X-Forwarded-Host", authority);
    forwarded.headers.Set("X-Forwarded-Proto", "https");
  }
  Result<http::Response> answer = Fail(ServiceUnavailableError("context deadline exceeded"));
  if (upgrade) {
    auto ask = extension->AskForUpgrade(authority, std::move(forwarded));
    answer = co_await std::move(ask);
    if (!answer) co_return TextError(503, answer.error().message());
    co_return *std::move(answer);
  }
  if (IsDiscovery(request.info.path) && !request.info.resource_request) {
    auto within = Within(parts_.runtime, kDiscoveryTime, extension->Ask(authority, std::move(forwarded)));
    auto in_time = co_await std::move(within);
    if (in_time) answer = *std::move(in_time);
  } else {
    auto ask = extension->Ask(authority, std::move(forwarded));
    answer = co_await std::move(ask);
  }
  if (!answer) co_return TextError(503, "error trying to reach service: " + answer.error().message());
  http::Response response = *std::move(answer);
  if (response.code >= 300 && response.code <= 399 && response.headers.Has("Location")) {
    co_return BytesResponse(502, Bytes::Static("the backend attempted to redirect this request, which is not permitted"),
                            "text/plain; charset=utf-8");
  }
  RemoveConnectionFields(response);
  co_return response;
}

// --- Whether they can be asked

Task<Availability> Aggregator::Probe(std::shared_ptr<ExtensionServer> extension) {
  const ApiService& service = extension->service();
  std::string path = service.name == "v1." ? std::string("/api/v1") : "/apis/" + service.spec.group + "/" + service.spec.version;
  Availability failed{"False", "FailedDiscoveryCheck", ""};
  auto located = extension->Locate();
  if (!located) {
    failed.message = located.error().message();
    co_return failed;
  }
  std::string url = "https://" + *located + path;
  User user;
  user.name = "system:kube-aggregator";
  user.groups = {std::string(kGroupMasters)};
  auto fetch = extension->Fetch(path, {}, user, kDiscoveryTime, kProbeBytes);
  auto answer = co_await std::move(fetch);
  if (answer && answer->code >= 200 && answer->code < 300) co_return Availability{"True", "Passed", "all checks passed"};
  failed.message = "failing or missing response from " + url + ": ";
  failed.message += answer ? "bad status from " + url + ": " + std::to_string(answer->code)
                           : "Get " + GoQuote(url) + ": " + answer.error().message();
  co_return failed;
}

Task<void> Aggregator::ProbeInto(std::shared_ptr<ExtensionServer> extension, std::shared_ptr<std::optional<Availability>> verdict) {
  auto probe = Probe(std::move(extension));
  Availability found = co_await std::move(probe);
  if (!*verdict || (*verdict)->status != "True") *verdict = std::move(found);
}

// One endpoint that answers is enough; where the first doesn't, some more are tried at once.
Task<Availability> Aggregator::Judge(std::shared_ptr<ExtensionServer> extension) {
  const ServiceReference reference = *extension->service().spec.service;
  object::DocumentPtr service = parts_.objects.Get("", "services", reference.ns, reference.name);
  auto verdict = JudgeService(reference, service ? service->root() : object::Value(), callout::SlicesOf(parts_.objects, reference.ns, reference.name));
  if (verdict) co_return *std::move(verdict);
  if (!published_ && !options_.identity_authority.empty()) {
    auto publish = PublishIdentity();
    co_await std::move(publish);
  }
  auto probe = Probe(extension);
  Availability first = co_await std::move(probe);
  if (first.status == "True") co_return first;
  auto result = std::make_shared<std::optional<Availability>>(std::move(first));
  TaskGroup attempts(parts_.runtime);
  for (int i = 1; i < kAttempts; ++i) attempts.Spawn(ProbeInto(extension, result));
  auto join = attempts.Join();
  co_await std::move(join);
  co_return **std::move(result);
}

Task<void> Aggregator::Follow(std::shared_ptr<ExtensionServer> extension) {
  auto turn = Yield(parts_.runtime);
  co_await std::move(turn);
  int failures = 0;
  while (!extension->closed()) {
    uint64_t pokes = extension->pokes();
    auto judge = Judge(extension);
    Availability verdict = co_await std::move(judge);
    if (extension->closed()) co_return;
    extension->SetVerdict(verdict);
    // Before the service is said to be there, so that who waits for that finds its resources.
    if (verdict.status == "True") {
      auto refresh = extension->RefreshDocuments();
      co_await std::move(refresh);
    } else {
      extension->MarkStale();
    }
    bool written = true;
    if (!extension->closed() && extension->service().available != verdict) {
      auto write = WriteCondition(extension->service().name, verdict);
      written = co_await std::move(write);
    }
    bool failed = verdict.reason == "FailedDiscoveryCheck" || !written || extension->documents().stale;
    failures = failed && verdict.reason != "ServiceNotFound" ? std::min(failures + 1, 20) : 0;
    Duration pause = failures == 0 ? kLookAgain : std::min(kLookAgain, kFirstRetry * (1 << std::min(failures, 13)));
    if (extension->pokes() != pokes) continue;  // while it was busy
    auto wait = extension->poked().WaitFor(pause);
    co_await std::move(wait);
  }
}

Task<int> Aggregator::Send(std::string method, std::string path, std::string body) {
  http::Request request;
  request.headers.Set("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
  request.headers.Set("User-Agent", "kube-apiserver");
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = Bytes(std::move(body));
  auto ask = transport_->Handle(std::move(request));
  http::Response response = co_await std::move(ask);
  co_return response.code;
}

Task<bool> Aggregator::WriteCondition(std::string name, Availability available) {
  object::DocumentPtr current = parts_.objects.Get("apiregistration.k8s.io", "apiservices", "", name);
  if (!current) co_return true;
  auto send = Send("PATCH", std::string(kCollection) + "/" + http::PercentEncode(name) + "/status",
                   ConditionPatch(current->root(), available, FormatNow(parts_.runtime)));
  int code = co_await std::move(send);
  // 409: it was changed meanwhile, and will be looked at again for that.
  if (code != 200 && code != 404 && code != 409) {
    parts_.log.Error("the condition of an APIService could not be written", {{"apiService", name}, {"code", code}});
  }
  co_return code == 200;
}

Task<void> Aggregator::WriteLocal(std::string name) {
  auto turn = Yield(parts_.runtime);
  co_await std::move(turn);
  auto service = services_.Find(name);
  if (!service || service->spec.service || service->available == AvailableByItself()) co_return;
  auto write = WriteCondition(std::move(name), AvailableByItself());
  (void)co_await std::move(write);  // a conflict comes with another event
}

Task<void> Aggregator::PublishIdentity() {
  std::string names;
  for (const std::string& name : options_.identity_names) {
    names += names.empty() ? "[" : ",";
    object::AppendJsonString(names, name);
  }
  std::string patch = R"({"data":{"requestheader-client-ca-file":)";
  object::AppendJsonString(patch, options_.identity_authority);
  patch += R"(,"requestheader-allowed-names":)";
  object::AppendJsonString(patch, names.empty() ? "[]" : names + "]");
  patch += R"(,"requestheader-username-headers":"[\"X-Remote-User\"]","requestheader-uid-headers":"[\"X-Remote-Uid\"]",)"
           R"("requestheader-group-headers":"[\"X-Remote-Group\"]","requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]"}})";
  auto send = Send("PATCH", std::string(kAuthenticationConfig), patch);
  int code = co_await std::move(send);
  published_ = code == 200;  // else with the next look
  if (!published_) parts_.log.Error("extension servers could not be told how requests are passed on", {{"code", code}});
}

// --- APIServices of custom kinds

void Aggregator::MarkGroup(std::string_view group) {
  marked_.insert(std::string(group));
  if (!std::exchange(registering_, true)) group_.Spawn(RegisterGroups());
}

Task<void> Aggregator::RegisterGroups() {
  auto turn = Yield(parts_.runtime);
  co_await std::move(turn);
  while (!marked_.empty()) {
    auto groups = std::exchange(marked_, {});
    bool failed = false;
    for (const std::string& group : groups) {
      auto work = RegisterGroup(group);
      bool done = co_await std::move(work);
      if (done) continue;
      marked_.insert(group);
      failed = true;
    }
    if (!failed) continue;
    auto pause = Sleep(parts_.runtime, kRegistrationRetry);
    co_await std::move(pause);
  }
  registering_ = false;
}

Task<bool> Aggregator::RegisterGroup(std::string group) {
  std::vector<std::string> wanted = parts_.resources.CustomVersions(group);
  bool well = true;
  auto fits = [](int code) { return code == 200 || code == 201 || code == 404 || code == 409; };
  for (const std::string& version : wanted) {
    std::string name = ApiServiceName(group, version);
    auto current = services_.Find(name);
    if (current && (current->managed != "true" || IsAsDesired(current->spec))) continue;
    std::string url = std::string(kCollection) + (current ? "/" + http::PercentEncode(name) : "");
    auto send = Send(current ? "PATCH" : "POST", url,
                     current ? R"({"spec":{"service":null,"caBundle":null,"insecureSkipTLSVerify":null,"groupPriorityMinimum":)" +
                                   std::to_string(kCustomGroupPriority) + R"(,"versionPriority":)" + std::to_string(kCustomVersionPriority) + "}}"
                             : DesiredService(name, group, version));
    int code = co_await std::move(send);
    well = well && fits(code);
  }
  std::vector<std::shared_ptr<const ApiService>> spare;
  for (const auto& [name, service] : services_.all()) {
    if (service->spec.group == group && service->managed == "true" && std::ranges::find(wanted, service->spec.version) == wanted.end()) {
      spare.push_back(service);
    }
  }
  for (const auto& service : spare) {
    std::string body = R"({"preconditions":{"uid":)";
    object::AppendJsonString(body, service->uid);
    auto send = Send("DELETE", std::string(kCollection) + "/" + http::PercentEncode(service->name), body + "}}");
    int code = co_await std::move(send);
    well = well && fits(code);
  }
  co_return well;
}

}  // namespace homeostat::server
