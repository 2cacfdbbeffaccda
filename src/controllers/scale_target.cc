#include "controllers/scale_target.h"

#include <utility>

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

Task<Result<ScaleTarget>> FindScale(sdk::Client client, std::string ns, std::string api_version, std::string kind, std::string name) {
  std::string group(schema::ParseApiVersion(api_version).group);
  std::string base = (group.empty() ? "/api/" : "/apis/") + api_version, plural;
  auto discover = GetJson(client, base, {});
  Result<object::DocumentPtr> resources = co_await discover;
  if (!resources && !resources.error().IsNotFound()) co_return Fail(resources.error());
  bool scales = false;
  if (resources) {
    for (const Value& resource : (*resources)->root().Get("resources").items()) {
      std::string_view one = resource.Get("name").AsString();
      if (resource.Get("kind").AsString() == kind && one.find('/') == one.npos) plural = one;
    }
    for (const Value& resource : (*resources)->root().Get("resources").items()) scales |= !plural.empty() && resource.Get("name").AsString() == plural + "/scale";
  }
  if (plural.empty()) co_return Fail(SystemError("no matches for kind \"" + kind + "\" in group \"" + group + "\""));
  if (!scales) co_return Fail(SystemError(plural + (group.empty() ? "" : "." + group) + " does not implement the scale subresource"));
  ScaleTarget target;
  target.path = base + "/namespaces/" + ns + "/" + plural + "/" + name + "/scale";
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
