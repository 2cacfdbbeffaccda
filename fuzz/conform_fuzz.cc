// Any JSON as a Deployment: it is refused or becomes a typed tree, which written and read again, as JSON and as
// protobuf, is the same.
#include <cstdint>
#include <cstdlib>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/diff.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"

namespace {

using namespace homeostat;

std::string Json(const schema::Type& type, const object::Value& value) {
  std::string text;
  schema::EncodeJson(type, value, text);
  return text;
}

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const schema::Type& type = *api::FindTypeOfKind("apps", "v1", "Deployment");
  static const schema::Defaults defaults;
  object::Arena arena;
  auto parsed = object::ParseJson(arena, {reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  schema::ConformReport report;
  auto typed = schema::Conform(arena, *parsed, type, report);
  if (!typed) return 0;
  std::string text = Json(type, *typed);
  auto again = schema::Conform(arena, *object::ParseJson(arena, text), type, report);
  Check(again && Json(type, *again) == text && schema::IsEqual(type, *typed, *again));
  std::string bytes = schema::EncodeProtobufObject(type, *typed);
  auto decoded = schema::DecodeProtobufObject(arena, bytes, type);
  Check(decoded && Json(type, *decoded) == text);
  auto defaulted = defaults.Apply(arena, type, *typed);
  Check(defaulted.has_value());
  auto twice = defaults.Apply(arena, type, *defaulted);
  Check(twice && object::Equal(*twice, *defaulted));
  return 0;
}
