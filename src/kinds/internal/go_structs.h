// What upstream's internal Go structs look like where the API's types don't say it.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::kinds::internal {

// A struct that differs: its fields in order, separated by spaces, each
//   json             the API's field of that name
//   Name=json        … under another name in Go
//   Name=^json       … that the API has one level up
//   Name=-           a field that the API doesn't have
// and, after a colon, what it is in Go if not the same as in the API: p pointer, i number, b boolean, s string, o IntOrString.
struct GoStruct {
  std::string_view definition, fields;
};

// Null if the struct has the API's fields in the API's order.
const GoStruct* FindGoStruct(std::string_view definition);
std::string GoName(std::string_view json_name);

}  // namespace homeostat::kinds::internal
