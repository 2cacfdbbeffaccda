#include "server/encode.h"

#include "homeostat/api/meta/v1.h"
#include "homeostat/api/meta/v1_builders.h"
#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/body.h"
#include "server/metadata.h"
#include "server/table.h"

namespace homeostat::server {
namespace {

using object::ObjectBuilder;

// Text of one JSON value: in one line with a newline, or indented and without, as Go writes them.
Result<Bytes> FinishJson(std::string compact, bool pretty) {
  if (!pretty) {
    compact.push_back('\n');
    return Bytes(std::move(compact));
  }
  object::Arena arena;
  TRY_ASSIGN(Value tree, object::ParseJson(arena, compact));
  TRY_ASSIGN(std::string text, object::WriteJson(tree, {.pretty = true}));
  return Bytes(std::move(text));
}

Result<Bytes> JsonToYaml(std::string_view json) {
  object::Arena arena;
  TRY_ASSIGN(Value tree, object::ParseJson(arena, json));
  return Bytes(object::WriteYaml(tree));
}

// JSON text in the encoding asked for.
Result<Bytes> FinishText(std::string json, const MediaTypeOptions& output) {
  if (output.encoding == Encoding::kYaml) return JsonToYaml(json);
  return FinishJson(std::move(json), output.pretty);
}

// Appends {"kind":"PartialObjectMetadata",…} of one object with that metadata; type: the object's own.
void AppendPartialMetadata(std::string& out, const schema::Type& type, const Value& shown, std::string_view version) {
  const schema::Type& metadata = *type.FindField("metadata")->type;
  out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/)";
  out += version;
  out += R"(","metadata":)";
  schema::EncodeJson(metadata, shown, out);
  out += "}";
}

void AppendListMeta(std::string& out, const ListMeta& meta) {
  out += R"("metadata":{"resourceVersion":")";
  out += std::to_string(meta.revision);
  out += '"';
  if (!meta.continue_token.empty()) {
    out += R"(,"continue":)";
    object::AppendJsonString(out, meta.continue_token);
  }
  if (meta.remaining) out += ",\"remainingItemCount\":" + std::to_string(*meta.remaining);
  out += '}';
}

std::string_view GoPackageOf(const schema::Kind& kind) {
  return kind.gvk.group.empty() ? std::string_view("core") : kind.gvk.group.substr(0, kind.gvk.group.find('.'));
}

// expected: about how long the text is going to be.
Result<Bytes> EncodeItemJson(const Resource& resource, const Value& stored, bool as_item, size_t expected) {
  object::Arena arena;
  TRY_ASSIGN(Value value, FromStorage(arena, resource, stored));
  const schema::Kind& kind = *resource.kind;
  bool bare = as_item && !resource.custom;
  value = schema::WithTypeMeta(arena, *kind.type, value, bare ? "" : kind.gvk.ApiVersion(), bare ? "" : kind.gvk.kind);
  std::string json;
  json.reserve(expected);
  schema::EncodeJson(*kind.type, value, json);
  if (!as_item) json.push_back('\n');
  return Bytes(std::move(json));
}

Result<Bytes> EncodeItemProtobuf(const Resource& resource, const Value& stored, bool as_item) {
  object::Arena arena;
  TRY_ASSIGN(Value value, FromStorage(arena, resource, stored));
  const schema::Kind& kind = *resource.kind;
  if (as_item) return Bytes(schema::EncodeProtobuf(*kind.type, value));
  value = schema::WithTypeMeta(arena, *kind.type, value, kind.gvk.ApiVersion(), kind.gvk.kind);
  return Bytes(schema::EncodeProtobufObject(*kind.type, value));
}

Result<http::Response> EncodeJsonList(RequestContext& context, const std::vector<cache::EntryPtr>& entries,
                                      const ListMeta& meta) {
  const schema::Kind& kind = context.kind();
  std::string json;
  if (context.resource->custom) {
    // A map to Go: in order of names, with what a struct would leave out.
    json = R"({"apiVersion":")" + kind.gvk.ApiVersion() + R"(","items":[)";
  } else {
    json = R"({"kind":")";
    json += kind.list_kind;
    json += R"(","apiVersion":")" + kind.gvk.ApiVersion() + R"(",)";
    AppendListMeta(json, meta);
    json += R"(,"items":[)";
  }
  bool first = true;
  for (const cache::EntryPtr& entry : entries) {
    TRY_ASSIGN(Bytes item, EncodeEntry(*context.resource, entry, Encoding::kJson, true));
    if (!first) json += ',';
    first = false;
    json += item.view();
  }
  if (context.resource->custom) {
    json += R"(],"kind":")" + std::string(kind.list_kind) + R"(","metadata":{"continue":)";
    object::AppendJsonString(json, meta.continue_token);
    if (meta.remaining) json += ",\"remainingItemCount\":" + std::to_string(*meta.remaining);
    json += R"(,"resourceVersion":")" + std::to_string(meta.revision) + "\"}}";
  } else {
    json += "]}";
  }
  TRY_ASSIGN(Bytes body, FinishText(std::move(json), context.output));
  return BytesResponse(200, std::move(body), MediaType(context.output.encoding));
}

// ListMeta is field 1, items are field 2 of every list message.
Result<http::Response> EncodeProtobufList(RequestContext& context, const std::vector<cache::EntryPtr>& entries,
                                          const ListMeta& meta) {
  object::WireWriter writer;
  size_t envelope = object::BeginProtobufEnvelope(writer);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    TRY_ASSIGN(Bytes item, EncodeEntry(*context.resource, *entry, Encoding::kProtobuf, true));
    writer.Field(2, item.view());
  }
  size_t mark = writer.size();
  if (meta.remaining) writer.VarintField(4, static_cast<uint64_t>(*meta.remaining));
  writer.Field(3, meta.continue_token);
  writer.Field(2, std::to_string(meta.revision));
  writer.Field(1, "");
  writer.Message(1, mark);
  object::EndProtobufEnvelope(writer, envelope, context.kind().gvk.ApiVersion(), context.kind().list_kind);
  return BytesResponse(200, Bytes(std::move(writer).Take()), MediaType(Encoding::kProtobuf));
}

Result<std::vector<Value>> Trees(RequestContext& context, const std::vector<cache::EntryPtr>& entries) {
  std::vector<Value> trees;
  trees.reserve(entries.size());
  for (const cache::EntryPtr& entry : entries) {
    TRY_ASSIGN(object::DocumentPtr document, entry->document());
    context.arena().Keep(document);
    trees.push_back(document->root());
  }
  return trees;
}

Result<http::Response> EncodePartialList(RequestContext& context, const std::vector<cache::EntryPtr>& entries,
                                         const ListMeta& meta) {
  TRY_ASSIGN(std::vector<Value> trees, Trees(context, entries));
  const std::string& version = context.output.transformation_version;
  std::string json = R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/)" + version + R"(",)";
  AppendListMeta(json, meta);
  json += R"(,"items":)";
  for (size_t i = 0; i < trees.size(); ++i) {
    json += i > 0 ? ',' : '[';
    AppendPartialMetadata(json, *context.storage().type, ShownMetadata(context, trees[i]), version);
  }
  json += trees.empty() ? "null}" : "]}";
  if (context.output.encoding == Encoding::kProtobuf) {
    object::Arena arena;
    TRY_ASSIGN(Value tree, object::ParseJson(arena, json));
    schema::ConformReport report;
    TRY_ASSIGN(Value typed, schema::Conform(arena, tree, api::meta::v1::PartialObjectMetadataList::SchemaType(), report));
    TRY_ASSIGN(Bytes body, EncodeValue(api::meta::v1::PartialObjectMetadataList::SchemaType(), "meta.k8s.io/" + version,
                                       "PartialObjectMetadataList", typed, Encoding::kProtobuf, false));
    return BytesResponse(200, std::move(body), MediaType(Encoding::kProtobuf));
  }
  TRY_ASSIGN(Bytes body, FinishText(std::move(json), context.output));
  return BytesResponse(200, std::move(body), MediaType(context.output.encoding));
}

// version: "" for what has none yet.
Result<http::Response> EncodeTable(RequestContext& context, std::span<const Value> trees, const ListMeta& meta, std::string_view version, int code) {
  TableOptions options;
  options.version = context.output.transformation_version;
  TRY_ASSIGN(options.include, ParseIncludeObject(context.query));
  std::string json;
  TRY(AppendTable(context, trees, version, meta.continue_token, meta.remaining, options, json));
  TRY_ASSIGN(Bytes body, FinishText(std::move(json), context.output));
  return BytesResponse(code, std::move(body), MediaType(context.output.encoding));
}

Result<http::Response> EncodePartialOne(RequestContext& context, const Answer& answer) {
  const std::string& version = context.output.transformation_version;
  std::string json;
  Value shown = ShownMetadata(context, answer.value);
  AppendPartialMetadata(json, *answer.kind->type, shown, version);
  if (context.output.encoding == Encoding::kProtobuf) {
    object::Arena arena;
    ObjectBuilder partial(arena);
    partial.Append("metadata", shown);
    schema::ConformReport report;
    TRY_ASSIGN(Value typed, schema::Conform(arena, partial.Build(), api::meta::v1::PartialObjectMetadata::SchemaType(), report));
    TRY_ASSIGN(Bytes body, EncodeValue(api::meta::v1::PartialObjectMetadata::SchemaType(), "meta.k8s.io/" + version,
                                       "PartialObjectMetadata", typed, Encoding::kProtobuf, false));
    return BytesResponse(answer.code, std::move(body), MediaType(Encoding::kProtobuf));
  }
  TRY_ASSIGN(Bytes body, FinishText(std::move(json), context.output));
  return BytesResponse(answer.code, std::move(body), MediaType(context.output.encoding));
}

}  // namespace

Result<Bytes> EncodeValue(const schema::Type& type, std::string_view api_version, std::string_view kind, const Value& value,
                          Encoding encoding, bool pretty) {
  object::Arena arena;
  Value whole = schema::WithTypeMeta(arena, type, value, api_version, kind);
  if (encoding == Encoding::kProtobuf) return Bytes(schema::EncodeProtobufObject(type, whole));
  std::string json;
  schema::EncodeJson(type, whole, json);
  return FinishText(std::move(json), MediaTypeOptions{.encoding = encoding, .pretty = pretty});
}

http::Response BytesResponse(int code, Bytes body, std::string_view content_type) {
  http::Response response;
  response.code = code;
  response.headers.Add("Content-Type", content_type);
  response.body.push_back(std::move(body));
  return response;
}

http::Response PlainText(int code, std::string text) {
  http::Response response = BytesResponse(code, Bytes(std::move(text)), "text/plain; charset=utf-8");
  response.headers.Set("X-Content-Type-Options", "nosniff");
  return response;
}

Status NoSuchResource() {
  StatusDetails details;
  details.shown = true;
  return Status(404, "NotFound", "the server could not find the requested resource").WithDetails(details);
}

Status MethodNotAllowed() {
  StatusDetails details;
  details.shown = true;
  return Status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource").WithDetails(details);
}

Value StatusValue(object::Arena& arena, const Status& status) {
  api::meta::v1::StatusBuilder builder;
  builder.set_status("Failure");
  builder.set_message(status.message());
  builder.set_reason(status.reason());
  builder.set_code(status.code());
  const StatusDetails& details = status.details();
  if (!details.continue_token.empty()) builder.mutable_metadata().set_continue(details.continue_token);
  // A token is all that the details of an expired list are there for.
  const bool given = status.has_details() && details.continue_token.empty();
  if (!details.empty() || details.shown || given) {
    auto target = builder.mutable_details();
    if (!details.name.empty()) target.set_name(details.name);
    if (!details.group.empty()) target.set_group(details.group);
    if (!details.kind.empty()) target.set_kind(details.kind);
    if (!details.uid.empty()) target.set_uid(details.uid);
    if (details.retry_after_seconds != 0) target.set_retry_after_seconds(details.retry_after_seconds);
    for (const StatusCause& cause : details.causes) {
      auto item = target.add_causes();
      if (!cause.reason.empty()) item.set_reason(cause.reason);
      if (!cause.message.empty()) item.set_message(cause.message);
      if (!cause.field.empty()) item.set_field(cause.field);
    }
  }
  return builder.FreezeInto(arena);
}

http::Response EncodeStatus(const Status& status, const MediaTypeOptions& output) {
  object::Arena arena;
  Value value = StatusValue(arena, status);
  auto body = EncodeValue(api::meta::v1::Status::SchemaType(), "v1", "Status", value, output.encoding, output.pretty);
  Encoding encoding = body ? output.encoding : Encoding::kJson;
  http::Response response = BytesResponse(status.code(), body ? *body : Bytes(status.message()), MediaType(encoding));
  if (status.details().retry_after_seconds > 0) {
    response.headers.Set("Retry-After", std::to_string(status.details().retry_after_seconds));
  }
  return response;
}

http::Response EncodeSuccess(const StatusDetails& details, int code, const MediaTypeOptions& output) {
  object::Arena arena;
  api::meta::v1::StatusBuilder builder;
  builder.set_status("Success");
  auto target = builder.mutable_details();
  target.set_name(details.name);
  if (!details.group.empty()) target.set_group(details.group);
  target.set_kind(details.kind);
  if (!details.uid.empty()) target.set_uid(details.uid);
  Value value = builder.FreezeInto(arena);
  auto body = EncodeValue(api::meta::v1::Status::SchemaType(), "v1", "Status", value, output.encoding, output.pretty);
  return BytesResponse(code, body ? *body : Bytes(), MediaType(output.encoding));
}

http::Response EncodePlainSuccess(int code, const MediaTypeOptions& output) {
  object::Arena arena;
  api::meta::v1::StatusBuilder builder;
  builder.set_status("Success");
  builder.set_code(code);
  Value value = builder.FreezeInto(arena);
  auto body = EncodeValue(api::meta::v1::Status::SchemaType(), "v1", "Status", value, output.encoding, output.pretty);
  return BytesResponse(code, body ? *body : Bytes(), MediaType(output.encoding));
}

Result<Bytes> EncodeEntry(const Resource& resource, const cache::EntryPtr& entry, Encoding encoding, bool as_item) {
  std::string name = resource.kind->gvk.ApiVersion();  // two groups may show one object (events)
  name += encoding == Encoding::kProtobuf ? "/protobuf" : "/json";
  if (as_item) name += "/item";
  // JSON has the names that protobuf has numbers for.
  size_t expected = entry->stored_size() + entry->stored_size() / 2 + 1024;
  return entry->Encoding(name, [&](const Value& stored) {
    return encoding == Encoding::kProtobuf ? EncodeItemProtobuf(resource, stored, as_item)
                                           : EncodeItemJson(resource, stored, as_item, expected);
  });
}

Result<Value> InVersion(object::Arena& arena, const Resource& resource, const Value& stored) {
  return FromStorage(arena, resource, stored);
}

Value ShownMetadata(RequestContext& context, const Value& object) {
  Value metadata = object.Get("metadata");
  auto shown = context.resource->behaviour->shown_metadata;
  return shown == nullptr ? metadata : shown(context.arena(), metadata);
}

Result<http::Response> EncodeAnswer(RequestContext& context, const Answer& answer) {
  const MediaTypeOptions& output = context.output;
  bool stored_kind = answer.kind == context.resource->storage;
  switch (output.transformation) {
    case Transformation::kTable: {
      if (!stored_kind) break;
      Value trees[] = {answer.value};
      return EncodeTable(context, trees, {}, MetadataString(answer.value, "resourceVersion"), answer.code);
    }
    case Transformation::kPartialMetadata:
      return EncodePartialOne(context, answer);
    case Transformation::kPartialMetadataList:
      if (answer.kind->type->structural) return Fail(Status(500, "", "content is not a list"));
      return Fail(NotAcceptableError("you requested PartialObjectMetadataList, but the requested object is not a list (*" +
                                     std::string(GoPackageOf(answer.kind == &context.kind() ? context.storage() : *answer.kind)) + "." + std::string(answer.kind->gvk.kind) + ")"));
    case Transformation::kNone:
      break;
  }
  if (answer.entry && stored_kind && output.encoding != Encoding::kYaml && !output.pretty) {
    TRY_ASSIGN(Bytes body, EncodeEntry(*context.resource, answer.entry, output.encoding, false));
    return BytesResponse(answer.code, std::move(body), MediaType(output.encoding));
  }
  Value value = answer.value;
  const schema::Kind* kind = answer.kind;
  if (stored_kind) {
    TRY_ASSIGN(value, FromStorage(context.arena(), *context.resource, value));
    kind = context.resource->kind;
  }
  TRY_ASSIGN(Bytes body, EncodeValue(*kind->type, kind->gvk.ApiVersion(), kind->gvk.kind, value, output.encoding, output.pretty));
  return BytesResponse(answer.code, std::move(body), MediaType(output.encoding));
}

Result<http::Response> EncodeComputedList(RequestContext& context, std::span<const Value> objects) {
  const schema::Kind& kind = context.kind();
  if (context.output.transformation == Transformation::kTable) return EncodeTable(context, objects, {}, "0", 200);
  ObjectBuilder list(context.arena());
  object::ListBuilder items(context.arena());
  // The list says of what kind its items are.
  for (const Value& object : objects) items.Append(schema::WithTypeMeta(context.arena(), *kind.type, object, "", ""));
  int index = kind.list_type->FieldIndex("items");
  if (!items.empty()) list.SetField(static_cast<uint16_t>(index), "items", items.Build());
  TRY_ASSIGN(Bytes body, EncodeValue(*kind.list_type, kind.gvk.ApiVersion(), kind.list_kind, list.Build(), context.output.encoding,
                                     context.output.pretty));
  return BytesResponse(200, std::move(body), MediaType(context.output.encoding));
}

Result<http::Response> EncodeList(RequestContext& context, const std::vector<cache::EntryPtr>& entries, const ListMeta& meta) {
  switch (context.output.transformation) {
    case Transformation::kTable: {
      TRY_ASSIGN(std::vector<Value> trees, Trees(context, entries));
      return EncodeTable(context, trees, meta, std::to_string(meta.revision), 200);
    }
    case Transformation::kPartialMetadataList:
      return EncodePartialList(context, entries, meta);
    case Transformation::kPartialMetadata:
      return Fail(NotAcceptableError("you requested PartialObjectMetadata, but the requested object is a list (*" +
                                     (context.resource->custom ? std::string("unstructured.UnstructuredList")
                                                               : std::string(GoPackageOf(context.storage())) + "." + std::string(context.kind().list_kind)) + ")"));
    case Transformation::kNone:
      break;
  }
  if (context.output.encoding == Encoding::kProtobuf) return EncodeProtobufList(context, entries, meta);
  return EncodeJsonList(context, entries, meta);
}

}  // namespace homeostat::server
