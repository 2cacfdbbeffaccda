#include "schema/internal/fields_v1.h"

#include <string>

#include "homeostat/object/json.h"
#include "homeostat/object/json_output.h"

namespace homeostat::schema::internal {

using object::Value;

Value FieldsV1Text(object::Arena& arena, const Value& tree) {
  std::string text;
  object::JsonOutput(text).Untyped(tree, false);
  return Value::BytesCopy(arena, text);
}

Value FieldsV1Tree(object::Arena& arena, const Value& text) {
  // Every codec has made or checked it.
  auto tree = object::ParseJson(arena, text.AsString());
  return tree ? *tree : Value::Null();
}

}  // namespace homeostat::schema::internal
