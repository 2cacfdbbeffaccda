// What the tests of this layer share: recorded data, and short ways to make typed trees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema::test {

// The text of a gzip file under testdata.
std::string ReadGzip(std::string_view name);
std::vector<std::string> Lines(std::string_view text);

// The type of "apps/v1 Deployment"; a test failure and null if there is none.
const Type* FindType(std::string_view gvk);

// The parsed text; a test failure and absent if it is no JSON.
object::Value Parse(object::Arena& arena, std::string_view json);
// The parsed text conformed to the type; a test failure and absent if it doesn't fit.
object::Value Typed(object::Arena& arena, const Type& type, std::string_view json);
std::string Json(const Type& type, const object::Value& value);

std::string FromBase64(std::string_view text);
std::string Hex(std::string_view bytes);

}  // namespace homeostat::schema::test
