// The smallest words of HTTP (RFC 9110, section 5.6), shared by both versions of it. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"

namespace homeostat::http::internal {

// Without spaces and tabs at both ends.
std::string_view Trim(std::string_view text);

// A method or field name: one or more token characters.
bool IsToken(std::string_view text);
// A field value: no control characters but the tab. (Spaces around it belong to the line, not to the value.)
bool IsFieldValue(std::string_view text);
// What a Host field or :authority may hold: host, optionally with a port; may be empty.
bool IsHost(std::string_view text);
// The path of a request: begins with a slash, has no spaces or control characters, every percent sign begins an escape.
bool IsPath(std::string_view text);
// A query: no spaces or control characters.
bool IsQuery(std::string_view text);

// Digits only, at most 18 of them (Content-Length).
std::optional<uint64_t> ParseLength(std::string_view text);
// Hexadecimal digits only, at most 15 of them (chunk sizes).
std::optional<uint64_t> ParseHex(std::string_view text);

// Whether one of the comma-separated elements of the fields of that name is the token, compared without case.
bool HasListToken(const Headers& headers, std::string_view name, std::string_view token);
// The comma-separated elements of all fields of that name, without empty ones.
std::vector<std::string_view> ListElements(const Headers& headers, std::string_view name);

// Fields that speak of one connection only and are never passed on (RFC 9110, section 7.6.1).
bool IsConnectionField(std::string_view name);

// "Mon, 02 Jan 2006 15:04:05 GMT" (RFC 9110, section 5.6.7). Times before the year 0 and after 9999 are not asked for.
std::string HttpDate(WallTime time);

}  // namespace homeostat::http::internal
