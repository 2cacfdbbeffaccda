#include "controllers/scale_target.h"

#include <utility>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::controllers {

using object::Value;

namespace {

std::string TextOf(const http::Response& response) {
  std::string text;
  for (const Bytes& piece : response.body) text += piece.view();
  return text;
}

// The error that a refused request carries.
Status RefusalOf(int code, const Value& body) {
  std::string message(body.Get("message").AsString());
  if (message.empty()) message = code == 404 ? "the server could not find the requested resource" : "the server answered " + std::to_string(code);
  return Status(code < 400 ? 500 : code, body.Get("reason").AsString(), message);
}

}  // namespace

Task<Result<object::DocumentPtr>> GetJson(sdk::Client client, std::string path, std::string query) {
  http::Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.query = std::move(query);
  request.headers.Set("Accept", "application/json");
  auto ask = client.Raw(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await ask);
  auto document = object::ParseJsonDocument(TextOf(response));
  if (response.code / 100 != 2) co_return Fail(RefusalOf(response.code, document ? (*document)->root() : Value()));
  if (!document) co_return Fail(document.error());
  co_return object::DocumentPtr(*document);
}

namespace {

// What a list of a version's resources says of the kind; without a plural if it says nothing.
ResourcePlace PlaceIn(const Value& resources, std::string base, std::string group, std::string_view kind) {
  ResourcePlace place{std::move(base), std::move(group), {}, false};
  for (const Value& resource : resources.items()) {
    std::string_view name = resource.Get("name").AsString();
    if (resource.Get("kind").AsString() == kind && name.find('/') == name.npos) place.plural = name;
  }
  for (const Value& resource : resources.items()) place.scales |= !place.plural.empty() && resource.Get("name").AsString() == place.plural + "/scale";
  return place;
}

}  // namespace

Task<Result<ResourcePlace>> FindResource(sdk::Client client, std::string api_version, std::string kind) {
  std::string group(schema::ParseApiVersion(api_version).group);
  std::vector<std::string> versions{api_version};
  for (size_t i = 0; i < versions.size(); ++i) {
    std::string base = (group.empty() ? "/api/" : "/apis/") + versions[i];
    auto discover = GetJson(client, base, {});
    Result<object::DocumentPtr> resources = co_await discover;
    if (!resources && !resources.error().IsNotFound()) co_return Fail(resources.error());
    if (resources) {
      ResourcePlace place = PlaceIn((*resources)->root().Get("resources"), base, group, kind);
      if (!place.plural.empty()) co_return place;
    }
    if (i > 0 || group.empty()) continue;
    // The kind is what counts: manifests may name a version that is served no more.
    auto look = GetJson(client, "/apis/" + group, {});
    Result<object::DocumentPtr> others = co_await look;
    if (!others && !others.error().IsNotFound()) co_return Fail(others.error());
    if (!others) continue;
    for (const Value& version : (*others)->root().Get("versions").items()) {
      if (version.Get("groupVersion").AsString() != api_version) versions.emplace_back(version.Get("groupVersion").AsString());
    }
  }
  co_return Fail(SystemError("no matches for kind \"" + kind + "\" in group \"" + group + "\""));
}

Task<Result<ScaleTarget>> FindScale(sdk::Client client, std::string ns, std::string api_version, std::string kind, std::string name) {
  auto find = FindResource(client, std::move(api_version), std::move(kind));
  CO_TRY_ASSIGN(ResourcePlace place, co_await find);
  if (!place.scales) co_return Fail(SystemError(place.QualifiedName() + " does not implement the scale subresource"));
  ScaleTarget target;
  target.path = place.base + "/namespaces/" + ns + "/" + place.plural + "/" + name + "/scale";
  auto get = GetJson(client, target.path, {});
  CO_TRY_ASSIGN(target.scale, co_await get);
  co_return target;
}

Task<Result<void>> WriteScale(sdk::Client client, ScaleTarget target, int32_t replicas) {
  object::Arena arena;
  Value next = object::WithPath(arena, target.scale->root(), {"spec", "replicas"}, Value::Int(replicas));
  CO_TRY_ASSIGN(std::string body, object::WriteJson(next));
  http::Request request;
  request.method = "PUT";
  request.path = target.path;
  request.headers.Set("Content-Type", "application/json");
  request.headers.Set("Accept", "application/json");
  request.body = Bytes(std::move(body));
  auto ask = client.Raw(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await ask);
  if (response.code / 100 == 2) co_return Done();
  auto document = object::ParseJsonDocument(TextOf(response));
  co_return Fail(RefusalOf(response.code, document ? (*document)->root() : Value()));
}

}  // namespace homeostat::controllers
