#include "server/table.h"

#include <fmt/format.h>

#include "homeostat/object/json.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/body.h"
#include "server/encode.h"
#include "server/metadata.h"
#include "server/table_cells.h"

namespace homeostat::server {
namespace {

void AppendColumns(std::string& out, std::span<const schema::Column> columns) {
  out += R"("columnDefinitions":[)";
  bool first = true;
  for (const schema::Column& column : columns) {
    if (column.name.empty()) continue;
    if (!first) out += ',';
    first = false;
    out += R"({"name":)";
    object::AppendJsonString(out, column.name);
    out += R"(,"type":)";
    object::AppendJsonString(out, column.type);
    out += R"(,"format":)";
    object::AppendJsonString(out, column.format);
    out += R"(,"description":)";
    object::AppendJsonString(out, column.description);
    out += fmt::format(R"(,"priority":{}}})", column.priority);
  }
  out += ']';
}

// The columns of kinds that upstream has no printer for: without rows it then writes null.
bool HasDefaultColumns(std::span<const schema::Column> columns) { return columns.size() == 2 && columns[1].name == "Created At"; }

Result<void> AppendRow(RequestContext& context, const Value& object, const TableOptions& options, WallTime now,
                       std::string& out) {
  const kinds::Behaviour& behaviour = *context.resource->behaviour;
  out += R"({"cells":[)";
  bool first = true;
  TRY_ASSIGN(Value shown, StoredToWorking(context.arena(), *context.resource, object));
  for (const schema::Column& column : context.working().columns) {
    if (!first) out += ',';
    first = false;
    TRY(object::AppendJson(out, TableCell(context.arena(), column, behaviour, *context.working().type, shown, now)));
  }
  out += ']';
  if (auto completion = behaviour.completed != nullptr ? behaviour.completed(object) : std::nullopt) {
    out += fmt::format(R"(,"conditions":[{{"type":"Completed","status":"True","reason":"{}","message":"{}"}}])", completion->reason,
                       completion->message);
  }
  out += R"(,"object":)";
  const schema::Kind& kind = context.kind();
  switch (options.include) {
    case IncludeObject::kNone:
      out += "null";
      break;
    case IncludeObject::kObject: {
      TRY_ASSIGN(Value version, InVersion(context.arena(), *context.resource, object));
      Value whole = schema::WithTypeMeta(context.arena(), *kind.type, version, kind.gvk.ApiVersion(), kind.gvk.kind);
      schema::EncodeJson(*kind.type, whole, out);
      break;
    }
    case IncludeObject::kMetadata:
      out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/)" + options.version + R"(","metadata":)";
      schema::EncodeJson(*context.storage().type->FindField("metadata")->type, ShownMetadata(context, object), out);
      out += '}';
      break;
  }
  out += '}';
  return {};
}

}  // namespace

Result<IncludeObject> ParseIncludeObject(const http::Query& query) {
  std::string_view text = query.Get("includeObject");
  if (text.empty() || text == "Metadata") return IncludeObject::kMetadata;
  if (text == "Object") return IncludeObject::kObject;
  if (text == "None") return IncludeObject::kNone;
  return Fail(BadRequestError("Unable to convert to Table as requested: includeObject: Invalid value: " +
                              GoQuote(text) + ": must be 'Metadata', 'Object', 'None', or empty"));
}

Result<void> AppendTable(RequestContext& context, std::span<const Value> objects, std::string_view resource_version,
                         std::string_view continue_token, std::optional<int64_t> remaining, const TableOptions& options,
                         std::string& out) {
  WallTime now = context.runtime().WallNow();
  out += R"({"kind":"Table","apiVersion":"meta.k8s.io/)" + options.version + R"(","metadata":{)";
  std::string_view separator;
  if (!resource_version.empty()) {
    out += fmt::format(R"("resourceVersion":"{}")", resource_version);
    separator = ",";
  }
  if (!continue_token.empty()) {
    out += separator;
    out += R"("continue":)";
    object::AppendJsonString(out, continue_token);
  }
  if (remaining) out += fmt::format(R"({}"remainingItemCount":{})", separator, *remaining);
  out += "},";
  if (options.headers) AppendColumns(out, context.working().columns);
  else out += R"("columnDefinitions":null)";
  if (objects.empty() && HasDefaultColumns(context.storage().columns)) {
    out += R"(,"rows":null})";
    return {};
  }
  out += R"(,"rows":[)";
  for (size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) out += ',';
    TRY(AppendRow(context, objects[i], options, now, out));
  }
  out += "]}";
  return {};
}

}  // namespace homeostat::server
