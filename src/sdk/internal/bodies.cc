#include "sdk/internal/bodies.h"

#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include "homeostat/api/meta/v1.h"
#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/packed.h"
#include "homeostat/object/wire.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"

namespace homeostat::sdk {
namespace {

using object::Value;

// The longest text of an answer without a Status that is shown.
constexpr size_t kShownBody = 1024;

bool HasTypeMeta(const Value& object) {
  return !object.Get("kind").AsString().empty() && !object.Get("apiVersion").AsString().empty();
}

Value AddTypeMeta(object::Arena& arena, const BodyType& type, const Value& object) {
  if (HasTypeMeta(object)) return object;
  return schema::WithTypeMeta(arena, *type.type, object, arena.Copy(type.gvk.ApiVersion()), type.gvk.kind);
}

// The type that the object's own names stand for.
Result<const schema::Type*> ResolveType(const BodyType& expected, std::string_view api_version, std::string_view kind) {
  if (kind.empty() || (kind == expected.gvk.kind && api_version == expected.gvk.ApiVersion())) return expected.type;
  auto [group, version] = schema::ParseApiVersion(api_version);
  const schema::Type* type = api::FindTypeOfKind(group, version, kind);
  if (type == nullptr) {
    return Fail(SystemError("the server answered with an unknown kind \"" + std::string(kind) + "\" in version \"" +
                            std::string(api_version) + "\""));
  }
  return type;
}

std::shared_ptr<const void> Holder(Bytes bytes) { return std::make_shared<const Bytes>(std::move(bytes)); }

Result<object::DocumentPtr> DecodeProtobufBody(const BodyType& expected, Bytes body) {
  TRY_ASSIGN(object::ProtobufEnvelope envelope, object::ParseProtobufEnvelope(body.view()));
  TRY_ASSIGN(const schema::Type* type, ResolveType(expected, envelope.api_version, envelope.kind));
  auto document = std::make_shared<object::Document>();
  TRY_ASSIGN(Value root, schema::DecodeProtobufObject(document->arena(), body.view(), *type));
  document->arena().Keep(Holder(std::move(body)));
  document->set_root(type == expected.type ? AddTypeMeta(document->arena(), expected, root) : root);
  return document;
}

Result<object::DocumentPtr> DecodeJsonBody(const BodyType& expected, std::string_view body) {
  auto document = std::make_shared<object::Document>();
  TRY_ASSIGN(Value untyped, object::ParseJson(document->arena(), body));
  TRY_ASSIGN(const schema::Type* type,
             ResolveType(expected, untyped.Get("apiVersion").AsString(), untyped.Get("kind").AsString()));
  schema::ConformReport report{.collect = false, .problems = {}};
  TRY_ASSIGN(Value root, schema::Conform(document->arena(), untyped, *type, report));
  document->set_root(type == expected.type ? AddTypeMeta(document->arena(), expected, root) : root);
  return document;
}

void TakeListMeta(const Value& metadata, ListResult& list) {
  list.resource_version = metadata.Get("resourceVersion").AsString();
  list.continue_token = metadata.Get("continue").AsString();
}

Status NotAList(const ListType& list) { return SystemError("the server answered with something else than a " + std::string(list.kind)); }

Result<object::DocumentPtr> DecodeProtobufItem(const BodyType& type, std::string_view bytes) {
  auto document = std::make_shared<object::Document>();
  std::string_view copy = document->arena().Copy(bytes);
  TRY_ASSIGN(Value root, schema::DecodeProtobuf(document->arena(), copy, *type.type));
  document->set_root(AddTypeMeta(document->arena(), type, root));
  return document;
}

Result<ListResult> DecodeProtobufList(const ListType& type, std::string_view body) {
  const schema::Field* metadata = type.type->FindField("metadata");
  const schema::Field* items = type.type->FindField("items");
  if (metadata == nullptr || items == nullptr) return Fail(NotAList(type));
  TRY_ASSIGN(object::ProtobufEnvelope envelope, object::ParseProtobufEnvelope(body));
  if (envelope.kind != type.kind) return Fail(NotAList(type));
  ListResult list;
  object::Arena scratch;
  object::WireReader reader(envelope.raw, type.kind);
  while (reader.Next()) {
    if (reader.field() == metadata->number && reader.Expect(object::WireType::kLength, "metadata")) {
      TRY_ASSIGN(Value value, schema::DecodeProtobuf(scratch, reader.Bytes(), *metadata->type));
      TakeListMeta(value, list);
    } else if (reader.field() == items->number && reader.Expect(object::WireType::kLength, "items")) {
      TRY_ASSIGN(object::DocumentPtr item, DecodeProtobufItem(type.item, reader.Bytes()));
      list.items.push_back(std::move(item));
    } else if (reader.ok()) {
      reader.Skip();
    }
  }
  TRY(reader.status());
  return list;
}

Result<ListResult> DecodeJsonList(const ListType& type, std::string_view body) {
  object::Arena parsed;
  TRY_ASSIGN(Value root, object::ParseJson(parsed, body));
  std::string_view name = root.Get("kind").AsString();
  if (!root.IsObject() || (!name.empty() && name != type.kind)) return Fail(NotAList(type));
  ListResult list;
  TakeListMeta(root.Get("metadata"), list);
  for (const Value& item : root.Get("items").items()) {
    object::Arena scratch;
    schema::ConformReport report{.collect = false, .problems = {}};
    TRY_ASSIGN(Value typed, schema::Conform(scratch, item, *type.item.type, report));
    auto document = std::make_shared<object::Document>();
    Value copy = object::PackedInto(document->arena(), typed);
    document->set_root(AddTypeMeta(document->arena(), type.item, copy));
    list.items.push_back(std::move(document));
  }
  return list;
}

// What a code means where the answer has no Status to say it.
std::string_view ReasonOfCode(int code) {
  switch (code) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 406: return "NotAcceptable";
    case 409: return "Conflict";
    case 410: return "Expired";
    case 413: return "RequestEntityTooLarge";
    case 415: return "UnsupportedMediaType";
    case 422: return "Invalid";
    case 429: return "TooManyRequests";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return code >= 500 ? "InternalError" : "";
  }
}

int32_t RetryAfterSeconds(const http::Headers& headers) {
  std::string_view text = headers.Get("Retry-After");
  int32_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

}  // namespace

Bytes EncodeBody(const BodyType& type, const Value& object, bool protobuf) {
  object::Arena arena;
  Value complete = AddTypeMeta(arena, type, object);
  if (protobuf) return Bytes(schema::EncodeProtobufObject(*type.type, complete));
  std::string json;
  schema::EncodeJson(*type.type, complete, json);
  return Bytes(std::move(json));
}

Result<object::DocumentPtr> DecodeBody(const BodyType& expected, Bytes body) {
  auto document = object::HasProtobufPrefix(body.view()) ? DecodeProtobufBody(expected, body)
                                                         : DecodeJsonBody(expected, body.view());
  if (!document) return Fail(SystemError("decode the server's answer: " + document.error().message()));
  return document;
}

BodyType ItemTypeOf(const schema::Kind& kind, bool metadata_only) {
  static constexpr schema::GroupVersionKind kMetadata{"meta.k8s.io", "v1", "PartialObjectMetadata"};
  if (metadata_only) return {&api::meta::v1::PartialObjectMetadata::SchemaType(), kMetadata};
  return {kind.type, kind.gvk};
}

ListType ListTypeOf(const schema::Kind& kind, bool metadata_only) {
  BodyType item = ItemTypeOf(kind, metadata_only);
  if (!metadata_only) return {item, kind.list_type, kind.list_kind};
  return {item, &api::meta::v1::PartialObjectMetadataList::SchemaType(), "PartialObjectMetadataList"};
}

Result<ListResult> DecodeList(const ListType& type, Bytes body) {
  bool protobuf = object::HasProtobufPrefix(body.view());
  if (protobuf && type.type == nullptr) return Fail(NotAList(type));
  auto list = protobuf ? DecodeProtobufList(type, body.view()) : DecodeJsonList(type, body.view());
  if (!list) return Fail(SystemError("decode the server's list: " + list.error().message()));
  return list;
}

Status StatusFromObject(const Value& value) {
  api::meta::v1::Status object(value);
  int code = object.code() >= 400 ? object.code() : 500;
  Status status(code, object.reason(), object.message());
  std::string_view continue_token = object.metadata().continue_();
  if (!object.has_details() && continue_token.empty()) return status;
  StatusDetails details;
  details.shown = object.has_details();
  details.name = object.details().name();
  details.group = object.details().group();
  details.kind = object.details().kind();
  details.uid = object.details().uid();
  details.retry_after_seconds = object.details().retry_after_seconds();
  details.continue_token = continue_token;
  for (api::meta::v1::StatusCause cause : object.details().causes()) {
    details.causes.push_back({std::string(cause.reason()), std::string(cause.message()), std::string(cause.field())});
  }
  return status.WithDetails(std::move(details));
}

Status StatusFromResponse(const http::Response& head, Bytes body) {
  static constexpr schema::GroupVersionKind kStatusKind{"", "v1", "Status"};
  bool looks_like_object = object::HasProtobufPrefix(body.view()) || body.view().starts_with('{');
  if (looks_like_object) {
    auto decoded = DecodeBody(BodyType{&api::meta::v1::Status::SchemaType(), kStatusKind}, body);
    if (decoded && (*decoded)->root().Get("kind").AsString() == "Status") {
      Status status = StatusFromObject((*decoded)->root());
      if (api::meta::v1::Status((*decoded)->root()).code() >= 400) return status;
    }
  }
  std::string message(body.view().substr(0, kShownBody));
  while (!message.empty() && (message.back() == '\n' || message.back() == '\r')) message.pop_back();
  if (message.empty()) message = http::ReasonPhrase(head.code);
  Status status(head.code, ReasonOfCode(head.code), message);
  int32_t retry = RetryAfterSeconds(head.headers);
  if (retry == 0) return status;
  StatusDetails details;
  details.retry_after_seconds = retry;
  return status.WithDetails(std::move(details));
}

}  // namespace homeostat::sdk
