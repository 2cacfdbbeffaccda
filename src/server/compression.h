// Compression of large answers. Source of the rules: apiserver's endpoints/handlers/responsewriters.
#pragma once

#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"

namespace homeostat::server {

// Answers of more bytes than that are compressed for clients that take it.
inline constexpr size_t kCompressedFrom = 128 * 1024;

// Whether an Accept-Encoding names gzip, with no weight.
bool NamesGzip(std::string_view accept_encoding);

// The response, compressed off the loop if it is a whole body large enough that is not encoded yet, and the client takes that.
Task<http::Response> Compressed(Runtime& runtime, std::string_view accept_encoding, http::Response response);

}  // namespace homeostat::server
