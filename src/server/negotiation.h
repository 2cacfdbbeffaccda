// Negotiation: which encoding a request's body has and which one its answer shall have.
//
// Source: RFC 9110 content negotiation as upstream's handlers/negotiation reads it: media types by quality, then by
// order; parameters as, g, v ask for a transformation (Table, PartialObjectMetadata).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::server {

enum class Encoding : uint8_t { kJson, kYaml, kProtobuf, kCbor };

// What the client wants to see instead of the object itself.
enum class Transformation : uint8_t { kNone, kTable, kPartialMetadata, kPartialMetadataList };

struct MediaTypeOptions {
  Encoding encoding = Encoding::kJson;
  Transformation transformation = Transformation::kNone;
  std::string transformation_version;   // v1 or v1beta1 of meta.k8s.io
  bool pretty = false;
  bool stream = false;                  // ;stream=watch
  bool operator==(const MediaTypeOptions&) const = default;
};

// One clause of an Accept header.
struct AcceptClause {
  std::string type, subtype;
  std::vector<std::pair<std::string, std::string>> parameters;
  double quality = 1.0;
  std::string_view Parameter(std::string_view name) const;
};
std::vector<AcceptClause> ParseAccept(std::string_view header);

struct NegotiationScope {
  bool protobuf = true;                 // built-in kinds; custom ones have none
  bool partial_protobuf = false;        // … but their metadata has
  bool tables = true;                   // as tables, too; metadata alone is always offered
  bool transformations = true;          // errors are shown in no other form
  bool streams = false;                 // watches are offered, in forms of their own
  bool routed = false;                  // go-restful's router comes first, and refuses types it does not know in its own words
};

// The answer's encoding. 406 with the list of representations when nothing fits.
Result<MediaTypeOptions> NegotiateOutput(std::string_view accept, const NegotiationScope& scope);

// The body's encoding; an empty header means JSON. 415 when it is not one of ours.
Result<Encoding> NegotiateInput(std::string_view content_type, const NegotiationScope& scope);

// "application/json" …
std::string_view MediaType(Encoding encoding);
// Content-Type of a watch in that encoding.
std::string_view StreamMediaType(Encoding encoding);

// Media type without parameters, lower case; empty if it is not of the form type/subtype.
std::string BareMediaType(std::string_view content_type);

}  // namespace homeostat::server
