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
#include "schema/openapi_protobuf.h"
#include "server/aggregation/openapi_merge.h"
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

// Documents as they were made for one state of what is served.
class Documents {
 public:
  // salt: makes the names of documents differ from those of every other run of the program, since what they say may.
  Documents(const Resources& resources, Aggregator& aggregator, std::string git_version, uint64_t salt)
      : resources_(resources), aggregator_(aggregator), version_(std::move(git_version)), salt_(std::to_string(salt)) {
    for (const Resource* resource : resources_.All()) {
      if (!resource->custom) kinds_.push_back(resource->kind);
    }
  }

  const StoredDocument& V2(OpenApiForm form) {
    Refresh();
    return Made("v2", form, [&] { return MakeV2(form); });
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
  // The extension server that has the document; null: this server has it, or nobody.
  std::shared_ptr<ExtensionServer> Elsewhere(const std::string& path) const {
    auto place = PlaceOf(path);
    if (place) return aggregator_.Find(ApiServiceName(place->first, place->second));
    constexpr std::string_view kGroups = "apis/";
    if (!path.starts_with(kGroups)) return nullptr;
    // The document of a group that only extension servers have.
    std::string_view group = std::string_view(path).substr(kGroups.size());
    std::shared_ptr<ExtensionServer> found;
    for (const auto& [name, extension] : aggregator_.extensions()) {
      if (extension->service().spec.group == group) found = extension;
    }
    bool ours = std::ranges::any_of(resources_.groups(), [&](const auto& own) { return own.group == group; });
    return ours ? nullptr : found;
  }

 private:
  // Documents that say the same as before stay.
  void Refresh() {
    if (generation_ == aggregator_.generation()) return;
    generation_ = aggregator_.generation();
    std::erase_if(made_, [this](const auto& made) { return made.second.tag != Tag(made.first.first); });
  }

  // Group and version of a path.
  static std::optional<std::pair<std::string, std::string>> PlaceOf(std::string_view path) {
    if (path.starts_with("api/")) return std::pair(std::string(), std::string(path.substr(4)));
    size_t slash = path.starts_with("apis/") ? path.find('/', 5) : path.npos;
    if (slash == path.npos) return std::nullopt;
    return std::pair(std::string(path.substr(5, slash - 5)), std::string(path.substr(slash + 1)));
  }

  // What a document says follows from the program and the kinds: no need to make it for its hash. Both forms have the
  // same, as upstream's; Vary tells them apart. That of a group version changes with its own kinds alone.
  std::string Tag(const std::string& name) const {
    std::string text = version_ + "/" + salt_ + "/" + name;
    if (!name.starts_with("v3/")) return Sha256Hex(text + "/" + std::to_string(generation_));
    if (auto place = PlaceOf(std::string_view(name).substr(3))) {
      for (const Resource* resource : resources_.AllOf(place->first, place->second)) {
        if (resource->custom) text += "/" + std::string(resource->owner->fingerprint());
      }
    }
    return Sha256Hex(text);
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

  std::string MakeV2(OpenApiForm form) const {
    std::vector<const schema::Kind*> kinds = kinds_;
    for (const Resource* resource : resources_.All()) AddCustom(resource, kinds);
    std::vector<std::shared_ptr<ExtensionServer>> others;
    for (const auto& [name, extension] : aggregator_.extensions()) {
      if (!extension->documents().openapi_v2.empty()) others.push_back(extension);
    }
    if (others.empty()) return schema::OpenApiV2Document(Source(kinds), form);
    object::Arena arena;
    auto merged = object::ParseJson(arena, schema::OpenApiV2Document(Source(kinds), OpenApiForm::kJson));
    if (!merged) return "";
    for (const auto& extension : others) {
      auto added = object::ParseJson(arena, extension->documents().openapi_v2);
      if (added) merged = MergeOpenApiV2(arena, *merged, *added);
    }
    return form == OpenApiForm::kJson ? object::JsonText(*merged) : schema::OpenApiProtobuf(*merged, schema::OpenApiVersion::kV2);
  }

  std::string MakeV3(const std::string& path, OpenApiForm form) const {
    auto place = PlaceOf(path);
    if (!place) return schema::OpenApiV3RootDocument(Source(kinds_), path, form);
    const auto& [group, version] = *place;
    if (!resources_.HasGroupVersion(group, version)) return "";
    std::vector<const schema::Kind*> kinds = kinds_;
    for (const Resource* resource : resources_.AllOf(group, version)) AddCustom(resource, kinds);
    return schema::OpenApiV3Document(Source(kinds), group, version, form);
  }

  // The list of documents. The hash in each URL lets clients cache it for ever.
  std::string MakeRoot() {
    std::vector<std::pair<std::string, std::string>> urls;
    for (std::string path : {".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"}) urls.emplace_back(path, Url(path));
    for (const DiscoveredGroup& group : aggregator_.services().groups()) {
      std::string base = group.group.empty() ? std::string("api") : "apis/" + group.group;
      bool ours = false;
      for (const DiscoveredVersion& version : group.versions) {
        std::string path = base + "/" + version.version;
        if (version.remote) {
          auto extension = aggregator_.Find(version.remote->name);
          if (extension && !extension->documents().group_openapi.empty()) urls.emplace_back(path, extension->documents().group_openapi);
        } else if (version.served) {
          if (!ours && std::ranges::any_of(kinds_, [&](const schema::Kind* kind) { return kind->gvk.group == group.group; }) && !group.group.empty()) urls.emplace_back(base, Url(base));
          ours = true;
          urls.emplace_back(path, Url(path));
        }
      }
    }
    std::string json = R"({"paths":{)";
    bool first = true;
    for (const auto& [path, url] : urls) {
      if (!first) json += ',';
      first = false;
      object::AppendJsonString(json, path);
      json += R"(:{"serverRelativeURL":)";
      object::AppendJsonString(json, url);
      json += '}';
    }
    return json + "}}";
  }

  const Resources& resources_;
  Aggregator& aggregator_;
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

void ServeOpenApi(ApiServer& server, Aggregator& aggregator, std::string git_version) {
  Parts& parts = server.parts();
  auto documents = std::make_shared<Documents>(parts.resources, aggregator, std::move(git_version), parts.runtime.Random());
  server.HandlePath("/openapi/v2", [documents](const PathRequest& request) {
    std::optional<OpenApiForm> form = NegotiateForm(request, "v2");
    if (!form) return AnswerNow(EmptyResponse(406));
    return AnswerNow(Respond(request, documents->V2(*form), MediaTypeOf(*form, "v2")));
  });
  server.HandlePath("/openapi/v3", [documents](const PathRequest& request) {
    return AnswerNow(Respond(request, documents->Root(), "text/plain; charset=utf-8"));
  });
  server.HandlePath(std::string(kPrefix), [documents, &aggregator](const PathRequest& request) {
    if (auto extension = documents->Elsewhere(request.info.path.substr(kPrefix.size()))) return aggregator.Pass(std::move(extension), request);
    return AnswerNow(AnswerV3(*documents, request));
  });
}

}  // namespace homeostat::server
