#include "server/audit/bodies.h"

#include <algorithm>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/negotiation.h"

namespace homeostat::server::audit {
namespace {

using object::ObjectBuilder;
using object::Value;

constexpr size_t kMostStatusBytes = 64 * 1024;  // nothing larger is a Status

std::string Joined(const std::vector<Bytes>& parts) {
  std::string whole;
  for (const Bytes& part : parts) whole += part.view();
  return whole;
}

size_t SizeOf(const std::vector<Bytes>& parts) {
  size_t size = 0;
  for (const Bytes& part : parts) size += part.size();
  return size;
}

Value WithoutManagedFields(object::Arena& arena, const Value& object) {
  return object::WithPath(arena, object, {"metadata", "managedFields"}, Value());
}

// An object, a list, or a table whose rows have objects.
Value WithoutAnyManagedFields(object::Arena& arena, const Value& answer) {
  Value without = WithoutManagedFields(arena, answer);
  for (std::string_view name : {"items", "rows"}) {
    Value list = without.Get(name);
    if (!list.IsList()) continue;
    object::ListBuilder items(arena);
    for (const Value& item : list.items()) {
      if (name == "items" || !item.Get("object")) {
        items.Append(WithoutManagedFields(arena, item));
        continue;
      }
      ObjectBuilder row(arena, item);
      row.Set("object", WithoutManagedFields(arena, item.Get("object")));
      items.Append(row.Build());
    }
    ObjectBuilder builder(arena, without);
    builder.Set(name, items.Build());
    without = builder.Build();
  }
  return without;
}

// A message in Kubernetes' envelope, of any built-in kind or list, as JSON.
std::optional<std::string> JsonOfProtobuf(std::string_view bytes) {
  auto envelope = object::ParseProtobufEnvelope(bytes);
  if (!envelope) return std::nullopt;
  auto [group, version] = schema::ParseApiVersion(envelope->api_version);
  const schema::Type* type = api::FindTypeOfKind(group, version, envelope->kind);
  if (type == nullptr) return std::nullopt;
  object::Arena arena;
  auto object = schema::DecodeProtobufObject(arena, bytes, *type);
  if (!object) return std::nullopt;
  std::string json;
  schema::EncodeJson(*type, *object, json);
  return json;
}

// The text of a whole body as JSON, not yet on one line.
std::optional<std::string> AnyJson(const http::Response& response) {
  if (response.stream || response.body.empty() || response.headers.Has("Content-Encoding")) return std::nullopt;
  std::string media = BareMediaType(response.headers.Get("Content-Type"));
  std::string body = Joined(response.body);
  if (media == MediaType(Encoding::kJson)) return body;
  if (media == MediaType(Encoding::kProtobuf)) return JsonOfProtobuf(body);
  if (media != MediaType(Encoding::kYaml)) return std::nullopt;
  object::Arena arena;
  auto tree = object::ParseYaml(arena, body);
  if (!tree) return std::nullopt;
  return object::JsonText(*tree);
}

}  // namespace

std::string JsonOfObject(const schema::Type& type, std::string_view api_version, std::string_view kind, const Value& object,
                         bool omit_managed_fields) {
  object::Arena arena;
  Value whole = schema::WithTypeMeta(arena, type, omit_managed_fields ? WithoutManagedFields(arena, object) : object, api_version, kind);
  std::string json;
  schema::EncodeJson(type, whole, json);
  return json;
}

std::optional<std::string> JsonOfAnswer(const http::Response& response, bool omit_managed_fields) {
  auto json = AnyJson(response);
  if (!json) return std::nullopt;
  if (json->ends_with('\n')) json->pop_back();
  if (!omit_managed_fields && json->find('\n') == json->npos) return json;
  object::Arena arena;
  auto tree = object::ParseJson(arena, *json);
  if (!tree) return std::nullopt;
  return object::JsonText(omit_managed_fields ? WithoutAnyManagedFields(arena, *tree) : *tree);
}

std::optional<std::string> StatusIn(const http::Response& response) {
  if (SizeOf(response.body) > kMostStatusBytes) return std::nullopt;
  auto json = AnyJson(response);
  if (!json) return std::nullopt;
  object::Arena arena;
  auto tree = object::ParseJson(arena, *json);
  if (!tree || tree->Get("kind").AsString() != "Status" || tree->Get("apiVersion").AsString() != "v1") return std::nullopt;
  ObjectBuilder status(arena, *tree);
  status.Erase("kind");
  status.Erase("apiVersion");
  status.Set("metadata", Value::EmptyObject());
  return object::JsonText(status.Build());
}

}  // namespace homeostat::server::audit
