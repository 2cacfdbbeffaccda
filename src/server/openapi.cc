#include "server/openapi.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "homeostat/api/registry.h"
#include "homeostat/base/gzip.h"
#include "homeostat/base/hash.h"
#include "homeostat/object/json.h"
#include "schema/openapi.h"
#include "server/encode.h"

namespace homeostat::server {
namespace {

using schema::OpenApiForm;

constexpr std::string_view kPrefix = "/openapi/v3/";
// Smaller bodies fit into a packet as they are.
constexpr size_t kWorthPacking = 1400;

// A document in one form, with its entity tag. Without bytes there is no such document.
struct StoredDocument {
  Bytes bytes;
  std::string tag;
  mutable Bytes packed;  // gzip, once somebody has asked for it
};

// Documents as they were made for one state of the index of resources.
class Documents {
 public:
  // salt: makes the names of documents differ from those of every other run of the program, since what they say may.
  Documents(const Resources& resources, std::string git_version, uint64_t salt)
      : resources_(resources), version_(std::move(git_version)), salt_(std::to_string(salt)) {}

  const StoredDocument& V2(OpenApiForm form) {
    Refresh();
    return Made("v2", form, [&] {
      std::vector<const schema::Kind*> kinds = kinds_;
      for (const Resource* resource : resources_.All()) AddCustom(resource, kinds);
      return schema::OpenApiV2Document(Source(kinds), form);
    });
  }
  // path: "api/v1", "apis/apps/v1", "version" …
  const StoredDocument& V3(const std::string& path, OpenApiForm form) {
    Refresh();
    return Made("v3/" + path, form, [&] { return MakeV3(path, form); });
  }
  const StoredDocument& Root() {
    Refresh();
    return Made("root", OpenApiForm::kJson, [this] { return MakeRoot(); });
  }
  // Where the document is served and may be cached for ever.
  std::string Url(const std::string& path) {
    Refresh();
    return std::string(kPrefix) + path + "?hash=" + Tag("v3/" + path);
  }

 private:
  void Refresh() {
    if (generation_ == resources_.generation()) return;
    generation_ = resources_.generation();
    made_.clear();
    kinds_.clear();
    for (const Resource* resource : resources_.All()) {
      if (!resource->custom) kinds_.push_back(resource->kind);
    }
  }

  // What a document says follows from the program and the kinds: no need to make it for its hash. Both forms have the
  // same, as upstream's; Vary tells them apart.
  std::string Tag(const std::string& name) const {
    return Sha256Hex(version_ + "/" + salt_ + "/" + std::to_string(generation_) + "/" + name);
  }

  template <class Make>
  const StoredDocument& Made(const std::string& name, OpenApiForm form, Make make) {
    auto found = made_.find({name, form});
    if (found != made_.end()) return found->second;
    std::string text = make();
    static const StoredDocument kNone;
    if (text.empty()) return kNone;  // paths that don't exist must not fill the memory
    return made_.emplace(std::pair(name, form), StoredDocument{Bytes(std::move(text)), Tag(name), {}}).first->second;
  }

  // A custom kind with its types, which are made for it.
  static void AddCustom(const Resource* resource, std::vector<const schema::Kind*>& kinds) {
    if (!resource->custom) return;
    resource->owner->Load();
    kinds.push_back(resource->kind);
  }

  schema::OpenApiSource Source(std::span<const schema::Kind* const> kinds) const {
    schema::OpenApiSource source;
    source.kinds = kinds;
    source.find_type = [](std::string_view name) { return api::FindType(name); };
    source.find_type_of_kind = [](const schema::GroupVersionKind& gvk) {
      return api::FindTypeOfKind(gvk.group, gvk.version, gvk.kind);
    };
    source.version = version_;
    return source;
  }

  std::string MakeV3(const std::string& path, OpenApiForm form) const {
    std::string group, version;
    if (path.starts_with("api/")) {
      version = path.substr(4);
    } else if (path.starts_with("apis/") && path.find('/', 5) != path.npos) {
      size_t slash = path.find('/', 5);
      group = path.substr(5, slash - 5);
      version = path.substr(slash + 1);
    } else {
      return schema::OpenApiV3RootDocument(Source(kinds_), path, form);
    }
    if (!resources_.HasGroupVersion(group, version)) return "";
    std::vector<const schema::Kind*> kinds = kinds_;
    for (const Resource* resource : resources_.AllOf(group, version)) AddCustom(resource, kinds);
    return schema::OpenApiV3Document(Source(kinds), group, version, form);
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
      json += R"(:{"serverRelativeURL":)";
      object::AppendJsonString(json, Url(path));
      json += '}';
    }
    return json + "}}";
  }

  const Resources& resources_;
  std::string version_;
  std::string salt_;
  uint64_t generation_ = 0;
  std::vector<const schema::Kind*> kinds_;
  std::map<std::pair<std::string, OpenApiForm>, StoredDocument> made_;
};

// The form that the client likes best; none if it takes neither. Protobuf has two names: the older one has an @ that is
// not allowed in media types, and is what clients still ask for.
std::optional<OpenApiForm> NegotiateForm(const PathRequest& request, std::string_view version) {
  const std::string protobuf = "com.github.proto-openapi.spec." + std::string(version) + ".v1.0+protobuf",
                    older = "com.github.proto-openapi.spec." + std::string(version) + "@v1.0+protobuf";
  std::string_view accept = request.request.headers.Get("Accept");
  for (const AcceptClause& clause : ParseAccept(accept.empty() ? "*/*" : accept)) {
    if (clause.type != "application" && clause.type != "*") continue;
    if (clause.subtype == "json" || clause.subtype == "*") return OpenApiForm::kJson;
    if (clause.subtype == protobuf || clause.subtype == older) return OpenApiForm::kProtobuf;
  }
  return std::nullopt;
}

std::string MediaTypeOf(OpenApiForm form, std::string_view version) {
  if (form == OpenApiForm::kJson) return "application/json";
  return "application/com.github.proto-openapi.spec." + std::string(version) + ".v1.0+protobuf";
}

http::Response EmptyResponse(int code) {
  http::Response response;
  response.code = code;
  response.headers.Set("Vary", "Accept");
  return response;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Takes the next item off a list that commas separate.
std::string_view NextItem(std::string_view& list) {
  size_t comma = std::min(list.find(','), list.size());
  std::string_view item = list.substr(0, comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  return Trimmed(item);
}

// Whether a list of entity tags has this one. A weak tag will do: the answer is the same or it isn't.
bool HasTag(std::string_view list, std::string_view quoted) {
  while (!list.empty()) {
    std::string_view tag = NextItem(list);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == quoted || tag == "*") return true;
  }
  return false;
}

bool TakesGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    std::string_view item = NextItem(accept_encoding);
    size_t semicolon = std::min(item.find(';'), item.size());
    std::string_view coding = Trimmed(item.substr(0, semicolon));
    size_t quality = item.find("q=", semicolon);
    bool refused = quality != item.npos && std::atof(std::string(item.substr(quality + 2)).c_str()) <= 0;
    if ((coding == "gzip" || coding == "*") && !refused) return true;
  }
  return false;
}

http::Response Respond(const PathRequest& request, const StoredDocument& document, std::string_view content_type) {
  std::string quoted = "\"" + document.tag + "\"";
  bool known = HasTag(request.request.headers.Get("If-None-Match"), quoted);
  bool packed = !known && document.bytes.size() >= kWorthPacking && TakesGzip(request.request.headers.Get("Accept-Encoding"));
  if (packed && document.packed.empty()) document.packed = Bytes(Gzip(document.bytes));
  http::Response response =
      known ? EmptyResponse(304) : BytesResponse(200, packed ? document.packed : document.bytes, content_type);
  if (packed) response.headers.Set("Content-Encoding", "gzip");
  response.headers.Set("ETag", quoted);
  response.headers.Set("Vary", "Accept, Accept-Encoding");
  return response;
}

http::Response AnswerV3(Documents& documents, const PathRequest& request) {
  std::string path = request.info.path.substr(kPrefix.size());
  std::optional<OpenApiForm> form = NegotiateForm(request, "v3");
  if (!form) return EmptyResponse(406);
  const StoredDocument& document = documents.V3(path, *form);
  if (document.bytes.empty()) return EmptyResponse(404);
  std::string_view hash = request.query.Get("hash");
  if (!hash.empty() && hash != document.tag) {
    http::Response response = EmptyResponse(301);
    response.headers.Set("Location", documents.Url(path));
    return response;
  }
  http::Response response = Respond(request, document, MediaTypeOf(*form, "v3"));
  if (!hash.empty()) response.headers.Set("Cache-Control", "public, immutable");
  return response;
}

}  // namespace

void ServeOpenApi(ApiServer& server, std::string git_version) {
  Parts& parts = server.parts();
  auto documents = std::make_shared<Documents>(parts.resources, std::move(git_version), parts.runtime.Random());
  server.HandlePath("/openapi/v2", [documents](const PathRequest& request) {
    std::optional<OpenApiForm> form = NegotiateForm(request, "v2");
    if (!form) return AnswerNow(EmptyResponse(406));
    return AnswerNow(Respond(request, documents->V2(*form), MediaTypeOf(*form, "v2")));
  });
  server.HandlePath("/openapi/v3", [documents](const PathRequest& request) {
    return AnswerNow(Respond(request, documents->Root(), "text/plain; charset=utf-8"));
  });
  server.HandlePath(std::string(kPrefix),
                    [documents](const PathRequest& request) { return AnswerNow(AnswerV3(*documents, request)); });
}

}  // namespace homeostat::server
