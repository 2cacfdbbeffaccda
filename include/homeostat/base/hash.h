// Hashes: SHA-256 of bytes, for entity tags, token ids and image digests. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace homeostat {

// 32 raw octets.
std::string Sha256(std::string_view bytes);
// The same in 64 upper-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace homeostat
