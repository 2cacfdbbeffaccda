#include "server/table.h"

#include <fmt/format.h>

#include "homeostat/object/json.h"
#include "homeostat/object/jsonpath.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "server/encode.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

Value AgeCell(object::Arena& arena, const Value& timestamp, WallTime now) {
  auto created = object::ParseTime(timestamp.AsString());
  if (!created) return Value::StringRef("<unknown>");
  return Value::String(arena, HumanDuration(now - created->ToClock()));
}

// A column's cell from its path: what JSONPath finds, one value as it is, several as text.
Value PathCell(object::Arena& arena, const schema::Column& column, const Value& object, WallTime now) {
  auto found = object::EvaluateJsonPath(column.path, object);
  if (!found || found->empty()) return Value::Null();
  Value first = found->front();
  if (column.type == "date" && first.IsString()) return AgeCell(arena, first, now);
  if (found->size() == 1 || column.type != "string") return first;
  std::string text;
  for (const Value& value : *found) {
    if (!text.empty()) text += ",";
    text += value.IsString() ? std::string(value.AsString()) : object::JsonText(value);
  }
  return Value::String(arena, text);
}

Value Cell(RequestContext& context, const schema::Column& column, const Value& object, WallTime now) {
  object::Arena& arena = context.arena();
  if (column.cell == "age") return AgeCell(arena, object.Path({"metadata", "creationTimestamp"}), now);
  if (!column.cell.empty() && context.resource->behaviour->cell != nullptr) {
    return context.resource->behaviour->cell(arena, column.cell, object, now);
  }
  // A path is written with or without the leading dot.
  return PathCell(arena, column, object, now);
}

void AppendColumns(std::string& out, std::span<const schema::Column> columns) {
  out += R"("columnDefinitions":[)";
  bool first = true;
  for (const schema::Column& column : columns) {
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

Result<void> AppendRow(RequestContext& context, const Value& object, const TableOptions& options, WallTime now,
                       std::string& out) {
  out += R"({"cells":[)";
  bool first = true;
  for (const schema::Column& column : context.storage().columns) {
    if (!first) out += ',';
    first = false;
    TRY(object::AppendJson(out, Cell(context, column, object, now)));
  }
  out += R"(],"object":)";
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
      schema::EncodeJson(*context.storage().type->FindField("metadata")->type, object.Get("metadata"), out);
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
  if (options.headers) AppendColumns(out, context.storage().columns);
  else out += R"("columnDefinitions":null)";
  out += R"(,"rows":[)";
  for (size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) out += ',';
    TRY(AppendRow(context, objects[i], options, now, out));
  }
  out += "]}";
  return {};
}

std::string HumanDuration(Duration duration) {
  using namespace std::chrono;
  int64_t total = duration_cast<seconds>(duration).count();
  if (total < -1) return "<invalid>";
  if (total < 0) return "0s";
  // Each unit is shown with the next smaller one while that still says something.
  auto two = [](int64_t big, char big_unit, int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit) : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (total < 120) return fmt::format("{}s", total);
  int64_t minutes = total / 60, hours = total / 3600, days = hours / 24;
  if (minutes < 10) return two(minutes, 'm', total % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return fmt::format("{}d", days);
  if (days < 8 * 365) return two(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

}  // namespace homeostat::server
