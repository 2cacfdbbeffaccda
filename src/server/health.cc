#include "server/health.h"

#include <algorithm>
#include <set>

#include "homeostat/base/log.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "server/encode.h"
#include "server/routes.h"

namespace homeostat::server {
namespace {

http::Response Json(std::string text) {
  object::Arena arena;
  auto tree = object::ParseJson(arena, text);
  auto pretty = tree ? object::WriteJson(*tree, {.pretty = true}) : Result<std::string>(text);
  return BytesResponse(200, Bytes(pretty ? *pretty : text), "application/json");
}

std::set<std::string> Excluded(const http::Query& query) {
  std::set<std::string> names;
  for (std::string_view name : query.GetAll("exclude")) names.emplace(name);
  return names;
}

http::Response RunChecks(const Logger& log, const std::string& endpoint, const std::vector<HealthCheck>& checks, const http::Query& query) {
  std::set<std::string> excluded = Excluded(query);
  std::string report, failed;
  for (const HealthCheck& check : checks) {
    if (excluded.erase(check.name) > 0) {
      report += "[+]" + check.name + " excluded: ok\n";
      continue;
    }
    if (auto fault = check.check()) {
      log.Warning("health check failed", {{"check", check.name}, {"reason", *fault}});
      report += "[-]" + check.name + " failed: reason withheld\n";
      failed += (failed.empty() ? "" : ",") + check.name;
    } else {
      report += "[+]" + check.name + " ok\n";
    }
  }
  if (!excluded.empty()) {
    std::string unknown;
    for (const std::string& name : excluded) unknown += (unknown.empty() ? "" : ", ") + GoQuote(name);
    report += "warn: some health checks cannot be excluded: no matches for " + unknown + "\n";
  }
  if (!failed.empty()) return PlainText(500, report + endpoint + " check failed\n");
  if (!query.Has("verbose")) return PlainText(200, "ok");
  return PlainText(200, report + endpoint + " check passed\n");
}

http::Response RunOne(const HealthCheck& check) {
  if (auto fault = check.check()) return PlainText(500, "internal server error: " + *fault + "\n");
  return PlainText(200, "ok");
}

}  // namespace

void ServeHealth(ApiServer& server, std::vector<HealthCheck> checks) {
  for (std::string_view name : {"livez", "readyz", "healthz"}) {
    std::vector<HealthCheck> chosen;
    for (const HealthCheck& check : checks) if (name == "readyz" ? check.ready : check.live) chosen.push_back(check);
    std::string endpoint(name);
    for (const HealthCheck& check : chosen) {
      server.HandlePath("/" + endpoint + "/" + check.name, [check](const PathRequest&) { return AnswerNow(RunOne(check)); });
    }
    server.HandlePath("/" + endpoint, [endpoint, chosen, log = server.parts().log](const PathRequest& request) {
      return AnswerNow(RunChecks(log, endpoint, chosen, request.query));
    });
  }
}

void ServeVersion(ApiServer& server, VersionInfo version) {
  std::string json = R"({"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"36","minCompatibilityMajor":"1",)"
                     R"("minCompatibilityMinor":"35","gitVersion":)";
  object::AppendJsonString(json, version.git_version);
  json += R"(,"gitCommit":)";
  object::AppendJsonString(json, version.git_commit);
  json += R"(,"gitTreeState":"","buildDate":)";
  object::AppendJsonString(json, version.build_date);
  // Clients read these three as texts and do nothing with them; they say what the program was made with.
  json += R"(,"goVersion":"none","compiler":"g++ )" __VERSION__ R"(","platform":"linux/amd64"})";
  auto answer = [json](const PathRequest&) { return AnswerNow(Json(json)); };
  server.HandlePath("/version", OnlyGet(answer));
  server.HandlePath("/version/", [served = OnlyGet(answer)](const PathRequest& request) {
    return request.info.path == "/version/" ? served(request) : AnswerNow(EncodeStatus(NoSuchResource(), request.output));
  });
}

void ServeFlowControlDumps(ApiServer& server, const FlowControl& flow_control) {
  const std::string base = "/debug/api_priority_and_fairness/dump_";
  auto levels = [&flow_control](const PathRequest&) { return AnswerNow(PlainText(200, flow_control.DumpLevels())); };
  auto queues = [&flow_control](const PathRequest&) { return AnswerNow(PlainText(200, flow_control.DumpQueues())); };
  auto requests = [&flow_control](const PathRequest& request) {
    return AnswerNow(PlainText(200, flow_control.DumpRequests(!request.query.Get("includeRequestDetails").empty())));
  };
  server.HandlePath(base + "priority_levels", levels);
  server.HandlePath(base + "queues", queues);
  server.HandlePath(base + "requests", requests);
}

void ServeIndex(ApiServer& server) {
  server.HandlePath("/", [&server](const PathRequest& request) {
    if (request.info.path != "/") return AnswerNow(PlainText(404, "404 page not found\n"));
    std::vector<std::string> paths = server.Paths();
    for (const Resources::GroupVersions& group : server.parts().resources.groups()) {
      std::string base = group.group.empty() ? std::string("/api") : "/apis/" + group.group;
      paths.push_back(base);
      for (const std::string& version : group.versions) paths.push_back(base + "/" + version);
    }
    std::ranges::sort(paths);
    paths.erase(std::ranges::unique(paths).begin(), paths.end());
    std::string json = R"({"paths":[)";
    for (size_t i = 0; i < paths.size(); ++i) {
      if (i > 0) json += ',';
      object::AppendJsonString(json, paths[i]);
    }
    return AnswerNow(Json(json + "]}"));
  });
}

}  // namespace homeostat::server
