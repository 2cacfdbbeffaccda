// Small helpers for text that people and machines read: quoting as Go does it, letters, and base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace homeostat {

// Text in double quotes with Go's escapes, as the verb %q prints it: Kubernetes' messages quote names and values so.
std::string GoQuote(std::string_view text);

// Without the white space of ASCII around it, as Go's strings.TrimSpace.
std::string_view TrimSpace(std::string_view text);

// The letters A to Z as small ones; all else stays as it is.
std::string LowerCase(std::string_view text);
// Whether they are the same but for that.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// The characters of UTF-8: octets that continue none. Of what is no UTF-8 it says little.
size_t CountCharacters(std::string_view text);

// Base64 with the standard alphabet and padding (RFC 4648, section 4), as JSON carries bytes.
std::string Base64Encode(std::string_view bytes);
// nullopt for anything that is not exactly one standard encoding; line breaks are skipped, as Go's decoder does.
std::optional<std::string> Base64Decode(std::string_view text);
// The alphabet that is safe in URLs, without padding (RFC 4648, section 5): tokens and WebSocket bearer protocols.
std::string Base64UrlEncode(std::string_view bytes);
std::optional<std::string> Base64UrlDecode(std::string_view text);

// Appends text with every control character (and the backslash) as an escape, so that it stays on one line.
void AppendOneLine(std::string& out, std::string_view text);

}  // namespace homeostat
