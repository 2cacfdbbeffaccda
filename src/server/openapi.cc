#include "server/openapi.h"

#include <map>

#include "homeostat/api/registry.h"
#include "homeostat/base/hash.h"
#include "homeostat/object/json.h"
#include "schema/openapi.h"
#include "server/encode.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kPrefix = "/openapi/v3/";

// Documents as they were made for one state of the index of resources.
class Documents {
 public:
  Documents(const Resources& resources, std::string git_version) : resources_(resources), version_(std::move(git_version)) {}

  const Bytes& V2() {
    Refresh();
    return Made("v2", [this] { return schema::OpenApiV2Document(Source()); });
  }
  // Empty if there is no such document. path: "api/v1", "apis/apps/v1", "version" …
  const Bytes& V3(const std::string& path) {
    Refresh();
    return Made("v3/" + path, [&] { return MakeV3(path); });
  }
  const Bytes& Root() {
    Refresh();
    return Made("root", [this] { return MakeRoot(); });
  }

 private:
  void Refresh() {
    if (generation_ == resources_.generation()) return;
    generation_ = resources_.generation();
    made_.clear();
    kinds_.clear();
    for (const Resource* resource : resources_.All()) kinds_.push_back(resource->kind);
  }

  template <class Make>
  const Bytes& Made(const std::string& name, Make make) {
    auto found = made_.find(name);
    if (found == made_.end()) found = made_.emplace(name, Bytes(make())).first;
    return found->second;
  }

  schema::OpenApiSource Source() const {
    schema::OpenApiSource source;
    source.kinds = kinds_;
    source.find_type = [](std::string_view name) { return api::FindType(name); };
    source.find_type_of_kind = [](const schema::GroupVersionKind& gvk) {
      return api::FindTypeOfKind(gvk.group, gvk.version, gvk.kind);
    };
    source.version = version_;
    return source;
  }

  std::string MakeV3(const std::string& path) const {
    std::string group, version;
    if (path.starts_with("api/")) {
      version = path.substr(4);
    } else if (path.starts_with("apis/") && path.find('/', 5) != path.npos) {
      size_t slash = path.find('/', 5);
      group = path.substr(5, slash - 5);
      version = path.substr(slash + 1);
    } else {
      return schema::OpenApiV3RootDocument(Source(), path);
    }
    if (!resources_.HasGroupVersion(group, version)) return "";
    return schema::OpenApiV3Document(Source(), group, version);
  }

  // The list of documents. The hash in each URL lets clients cache it for ever.
  std::string MakeRoot() {
    std::vector<std::string> paths = {".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"};
    for (const Resources::GroupVersions& group : resources_.groups()) {
      std::string base = group.group.empty() ? std::string("api") : "apis/" + group.group;
      if (!group.group.empty()) paths.push_back(base);
      for (const std::string& version : group.versions) paths.push_back(base + "/" + version);
    }
    std::string json = R"({"paths":{)";
    bool first = true;
    for (const std::string& path : paths) {
      if (!first) json += ',';
      first = false;
      object::AppendJsonString(json, path);
      // What a document says follows from the program and the kinds: no need to make it for its hash.
      std::string hash = Sha256Hex(version_ + "/" + std::to_string(generation_) + "/" + path);
      json += R"(:{"serverRelativeURL":)";
      object::AppendJsonString(json, std::string(kPrefix) + path + "?hash=" + hash);
      json += '}';
    }
    return json + "}}";
  }

  const Resources& resources_;
  std::string version_;
  uint64_t generation_ = 0;
  std::vector<const schema::Kind*> kinds_;
  std::map<std::string, Bytes> made_;
};

http::Response Document(const PathRequest& request, const Bytes& text, std::string_view content_type) {
  std::string etag = "\"" + Sha256Hex(text) + "\"";
  http::Response response;
  if (request.request.headers.Get("If-None-Match") == etag) response.code = 304;
  else response = BytesResponse(200, text, content_type);
  response.headers.Set("ETag", etag);
  response.headers.Set("Vary", "Accept");
  if (!request.query.Get("hash").empty()) response.headers.Set("Cache-Control", "public, immutable");
  return response;
}

// Only JSON is made; clients that ask for protobuf first take it too.
bool AcceptsJson(const PathRequest& request) {
  std::string_view accept = request.request.headers.Get("Accept");
  if (accept.empty()) return true;
  for (const AcceptClause& clause : ParseAccept(accept)) {
    if (clause.subtype == "json" || clause.subtype == "*" || clause.subtype.find("proto-openapi") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void ServeOpenApi(ApiServer& server, std::string git_version) {
  auto documents = std::make_shared<Documents>(server.parts().resources, std::move(git_version));
  server.HandlePath("/openapi/v2", [documents](const PathRequest& request) {
    if (!AcceptsJson(request)) return AnswerNow(EncodeStatus(NotAcceptableError("only application/json is served"), request.output));
    return AnswerNow(Document(request, documents->V2(), "application/json"));
  });
  server.HandlePath("/openapi/v3", [documents](const PathRequest& request) {
    return AnswerNow(Document(request, documents->Root(), "text/plain; charset=utf-8"));
  });
  server.HandlePath(std::string(kPrefix), [documents](const PathRequest& request) {
    const Bytes& text = documents->V3(request.info.path.substr(kPrefix.size()));
    if (text.empty()) return AnswerNow(BytesResponse(404, Bytes::Static("404 page not found\n"), "text/plain; charset=utf-8"));
    return AnswerNow(Document(request, text, "application/json"));
  });
}

}  // namespace homeostat::server
