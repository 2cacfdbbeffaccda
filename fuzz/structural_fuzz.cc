// A schema and an object, both any JSON, separated by a newline: the schema compiles to something that decodes the object,
// gives defaults, checks it, and is published; the decoded object, decoded again, is the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/structural.h"
#include "schema/openapi.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t end = text.find('\n');
  auto schema_document = object::ParseJsonDocument(text.substr(0, end));
  if (!schema_document) return 0;
  auto compiled = schema::StructuralSchema::Compile(
      (*schema_document)->root(), *schema_document,
      {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = "com.example.v1.Any", .go_name = "Any"});
  object::Arena arena;
  schema::OpenApiDefinition(arena, compiled->type(), schema::OpenApiVersion::kV3);
  schema::OpenApiDefinition(arena, compiled->type(), schema::OpenApiVersion::kV2);
  if (end == text.npos) return 0;
  auto parsed = object::ParseJson(arena, text.substr(end + 1));
  if (!parsed) return 0;
  schema::ConformReport report;
  auto typed = schema::Conform(arena, *parsed, compiled->type(), report);
  if (!typed) return 0;
  schema::FieldErrors errors;
  schema::CheckConditions(compiled->condition(), *typed, schema::FieldPath(), errors, &compiled->type(), *typed);
  if (!errors.empty()) std::abort();  // what did not change is forgiven
  schema::CheckConditions(compiled->condition(), *typed, schema::FieldPath(), errors);
  schema::Defaults defaults;
  auto defaulted = defaults.Apply(arena, compiled->type(), *typed);
  if (!defaulted) return 0;
  auto again = schema::Conform(arena, *typed, compiled->type(), report);
  if (!again || !object::Equal(*again, *typed)) std::abort();
  return 0;
}
