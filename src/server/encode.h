// Encode: objects, lists, tables and errors as the bytes of an answer.
#pragma once

#include "homeostat/base/http.h"
#include "server/context.h"

namespace homeostat::server {

// Any typed value with its kind and apiVersion set, in the encoding asked for (no transformation).
Result<Bytes> EncodeValue(const schema::Type& type, std::string_view api_version, std::string_view kind,
                          const object::Value& value, Encoding encoding, bool pretty);

// An answer in the encoding and transformation the request negotiated. 406 when a transformation does not fit.
Result<http::Response> EncodeAnswer(RequestContext& context, const Answer& answer);

// A Status as a response; never fails (falls back to JSON).
http::Response EncodeStatus(const Status& status, const MediaTypeOptions& output);
// {"kind":"Status","status":"Success",…} with details of what was deleted.
http::Response EncodeSuccess(const StatusDetails& details, int code, const MediaTypeOptions& output);
// {"kind":"Status","status":"Success","code":201}: of writes that answer with no object.
http::Response EncodePlainSuccess(int code, const MediaTypeOptions& output);
// The Status object as a tree of meta/v1 Status's type.
object::Value StatusValue(object::Arena& arena, const Status& status);

// The stored object `entry` in the request's version and encoding, made once and shared. `as_item`: as it stands in a
// list of a built-in kind, without kind and apiVersion.
Result<Bytes> EncodeEntry(const Resource& resource, const cache::EntryPtr& entry, Encoding encoding, bool as_item);
// A stored object's tree in the version of `resource`.
Result<object::Value> InVersion(object::Arena& arena, const Resource& resource, const object::Value& stored);

// A list of stored objects in the request's encoding and transformation.
struct ListMeta {
  uint64_t revision = 0;
  std::string continue_token;
  std::optional<int64_t> remaining;
};
Result<http::Response> EncodeList(RequestContext& context, const std::vector<cache::EntryPtr>& entries, const ListMeta& meta);
// A list of objects that are stored nowhere, typed as the kind, in the request's encoding and transformation.
Result<http::Response> EncodeComputedList(RequestContext& context, std::span<const object::Value> objects);

// An object's metadata as tables and partial objects show it.
object::Value ShownMetadata(RequestContext& context, const object::Value& object);

// A whole answer.
http::Response BytesResponse(int code, Bytes body, std::string_view content_type);
// As Go's http.Error answers, but for the line's end.
http::Response PlainText(int code, std::string text);
// There is no such URL: 404, whose details say nothing.
Status NoSuchResource();
// There is such a URL, but not for this method: 405, whose details say nothing.
Status MethodNotAllowed();

}  // namespace homeostat::server
