// JSON text to values and back, as Kubernetes' API servers read and write it.
//
// Source of the rules: sigs.k8s.io/json (reading: integers kept exactly, 10,000 levels, messages) and Go's encoding/json
// (writing: HTML-safe escapes, shortest doubles). All functions may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

// How deep lists and objects may nest in what is read.
inline constexpr int kMaxDepth = 10000;

// Reads one JSON value; texts are copied into the arena. Members keep their order; of members with the same name the
// last value wins, at the place of the first, and the path of each such field (`spec.containers[0].name`) is added to
// duplicate_fields: each path once, in the order of the text, 100 at most. Numbers written without point and exponent
// that fit are kInt, all others kDouble. Invalid UTF-8 and lone surrogates become U+FFFD.
//
// BadRequest with Go's words (`invalid character 'x' looking for beginning of value`) if it is no JSON.
Result<Value> ParseJson(Arena& arena, std::string_view text, std::vector<std::string>* duplicate_fields = nullptr);

// The same, but members with the same name all stay, in the order of the text: for what decodes one into the other (Conform).
// Numbers beyond the largest double become that.
Result<Value> ParseJsonWithRepeats(Arena& arena, std::string_view text);
// Whether it is all that ParseJson had against a text that there is such a number in it.
bool IsBeyondDoubles(const Status& error);

// The same into a document of its own.
Result<std::shared_ptr<Document>> ParseJsonDocument(std::string_view text, std::vector<std::string>* duplicate_fields = nullptr);

// Whether the text is JSON to the letter, in UTF-8.
bool IsJson(std::string_view text);

struct JsonStyle {
  bool pretty = false;      // indented by two spaces, as ?pretty=true answers; no newline at the end
  bool sort_names = false;  // members by name, as Go writes maps; untyped objects only look as upstream's with this set
};

// Appends the value. Bytes are written as base64, an absent value as null. Any depth.
// InternalError with Go's words if there is an infinity or a not-a-number in it, which JSON cannot say.
Done AppendJson(std::string& out, const Value& value, const JsonStyle& style = {});
Result<std::string> WriteJson(const Value& value, const JsonStyle& style = {});
// For messages and logs, where a number that JSON cannot say must not be a failure: those are written as Go prints them.
std::string JsonText(const Value& value);

// The text as a JSON string, with its quotes.
void AppendJsonString(std::string& out, std::string_view text);
// A finite number as Go's encoding/json writes it: shortest digits that read back the same, exponents from 1e21 and below 1e-6.
void AppendJsonDouble(std::string& out, double number);

// Base64 with padding (RFC 4648, section 4), as JSON holds bytes: straight into the text, and with the message of Go when
// it is none (base/text.h has the plain functions).
void AppendBase64(std::string& out, std::string_view octets);
// Line breaks are passed over, as in Go. BadRequest `illegal base64 data at input byte 3`.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace homeostat::object
