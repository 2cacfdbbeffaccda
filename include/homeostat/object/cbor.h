// CBOR to values and back, as Kubernetes uses it (RFC 8949; KEP-4222): behind the tag for self-described CBOR, texts as
// byte strings, bytes under the tag that says they become base64.
//
// Source of the rules: apimachinery's runtime/serializer/cbor. Safe to call from any thread.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

// Tag 55799, which every CBOR object of Kubernetes starts with.
inline constexpr std::string_view kCborPrefix = "\xd9\xd9\xf7";

// Reads one data item; texts are copied into the arena. Byte strings are texts, those under tag 21, 22 or 23 in base64url,
// base64 or base16; times of tag 0 and 1 become RFC 3339 text. BadRequest for what is cut short, too deep (10,000), or not
// of JSON's world: integers beyond 64 bits, not-a-number, names that are no texts or come twice, undefined, bignums.
Result<Value> ParseCbor(Arena& arena, std::string_view data);

// Appends prefix and value in the deterministic form: shortest heads and floats, members sorted by encoded name.
// InternalError if there is an infinity or a not-a-number in it.
Done AppendCbor(std::string& out, const Value& value);

// The same without the prefix, for the items of a sequence (application/cbor-seq repeats the prefix itself).
Done AppendCborItem(std::string& out, const Value& value);

}  // namespace homeostat::object
