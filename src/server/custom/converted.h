// Converted: what a webhook has answered about one object, held against what it was asked. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"

namespace homeostat::server {

// The body of a ConversionReview that asks for these JSON objects in a version. review_version: v1 or v1beta1.
std::string ConversionRequest(std::string_view review_version, std::string_view uid, std::string_view desired_api_version,
                              std::span<const std::string> objects);

// response.convertedObjects of an answer's body, or why there is none: upstream's words after "failed: ".
Result<object::Value> ReadConversionReview(object::Arena& arena, std::string_view body, std::string_view review_version, std::string_view uid);

// The converted object, typed as `to`, with the metadata of the original (typed as `from`) but for labels and annotations. `where`
// says which object it is about, in upstream's words: "object", or "converted object at index 3". Errors are upstream's after
// "conversion webhook for … returned ".
Result<object::Value> AcceptConverted(object::Arena& arena, const object::Value& original, const schema::Kind& from,
                                      const object::Value& converted, const schema::Kind& to, size_t index, bool one_of_many);

}  // namespace homeostat::server
