// The steps that a JSONPath is made of, and their reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/jsonpath.h"

namespace homeostat::object {

struct JsonPath::Step {
  enum class Kind {
    kField,      // the member of that name
    kSlice,      // the items from … to … in steps
    kWildcard,   // all members or items
    kRecursive,  // the value and everything below that holds something
    kUnion,      // what each of several paths leads to
    kFilter,     // the items for which a comparison holds
    kConstant,   // a value of the path itself, in filters
    kUnknown,    // a word that means nothing; an error when it is evaluated
  };

  Kind kind = Kind::kField;
  std::string text;  // field, string constant, comparison or unknown word

  // kSlice. Without `last` up to the end; one_item: only `first` was given.
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  std::optional<int64_t> stride;
  bool one_item = false;

  Value constant;  // absent for a string, whose text is `text`: steps are copied and moved

  std::vector<std::vector<Step>> paths;  // kUnion: each; kFilter: left and right
};

namespace internal {

// What stands between braces. Fails on what Go's parser refuses, in its words.
Result<std::vector<JsonPath::Step>> ParseJsonPathSteps(std::string_view text);

}  // namespace internal
}  // namespace homeostat::object
