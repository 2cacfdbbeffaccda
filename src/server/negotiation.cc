#include "server/negotiation.h"

#include <algorithm>
#include <cstdlib>

#include "homeostat/base/text.h"

namespace homeostat::server {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits at a separator outside quotes.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == separator && !quoted) {
      parts.push_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(Trim(text.substr(start)));
  return parts;
}

std::string Unquote(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::optional<AcceptClause> ParseClause(std::string_view text) {
  std::vector<std::string_view> parts = Split(text, ';');
  std::string media = LowerCase(parts[0]);
  AcceptClause clause;
  size_t slash = media.find('/');
  if (slash == std::string::npos) {
    if (media != "*") return std::nullopt;
    clause.type = clause.subtype = "*";
  } else {
    clause.type = media.substr(0, slash);
    clause.subtype = media.substr(slash + 1);
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) continue;
    std::string name = LowerCase(Trim(parts[i].substr(0, equals)));
    std::string value = Unquote(Trim(parts[i].substr(equals + 1)));
    if (name == "q") {
      clause.quality = std::atof(value.c_str());
    } else {
      clause.parameters.emplace_back(std::move(name), std::move(value));
    }
  }
  return clause;
}

struct Known {
  std::string_view type, subtype;
  Encoding encoding;
};
constexpr Known kKnown[] = {
    {"application", "json", Encoding::kJson},
    {"application", "yaml", Encoding::kYaml},
    {"application", "vnd.kubernetes.protobuf", Encoding::kProtobuf},
};

bool Offered(const Known& known, const NegotiationScope& scope) {
  return known.encoding != Encoding::kProtobuf || scope.protobuf;
}

// Whether a clause can be answered in this encoding: what has no protobuf form of its own still has metadata.
bool OfferedTo(const AcceptClause& clause, const Known& known, const NegotiationScope& scope) {
  bool partial = scope.partial_protobuf && clause.Parameter("as").starts_with("PartialObjectMetadata");
  return Offered(known, scope) || partial;
}

std::string OfferedList(const NegotiationScope& scope) {
  std::string list;
  for (const Known& known : kKnown) {
    if (!Offered(known, scope) && !scope.partial_protobuf) continue;
    if (!list.empty()) list += ", ";
    list += MediaType(known.encoding);
  }
  if (scope.streams) list += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
  return list;
}

bool IsTrue(std::string_view text) { return text == "1" || text == "true" || text == "t" || text == "T" || text == "True" || text == "TRUE"; }

// Reads as, g, v, pretty, stream; false when the transformation is none that is offered, so that the clause does not count.
bool ReadParameters(const AcceptClause& clause, const NegotiationScope& scope, MediaTypeOptions& options) {
  options.pretty = IsTrue(clause.Parameter("pretty"));
  options.stream = clause.Parameter("stream") == "watch";
  std::string_view as = clause.Parameter("as");
  if (as.empty()) return true;
  if (!scope.transformations || clause.Parameter("g") != "meta.k8s.io") return false;
  std::string_view version = clause.Parameter("v");
  if (version != "v1" && version != "v1beta1") return false;
  options.transformation_version = version;
  if (as == "Table") options.transformation = Transformation::kTable;
  else if (as == "PartialObjectMetadata") options.transformation = Transformation::kPartialMetadata;
  else if (as == "PartialObjectMetadataList") options.transformation = Transformation::kPartialMetadataList;
  else return false;
  // Tables have no protobuf form.
  return options.transformation != Transformation::kTable || (scope.tables && options.encoding != Encoding::kProtobuf);
}

}  // namespace

std::string_view AcceptClause::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) if (key == name) return value;
  return {};
}

std::vector<AcceptClause> ParseAccept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  for (std::string_view part : Split(header, ',')) {
    if (part.empty()) continue;
    if (auto clause = ParseClause(part)) clauses.push_back(std::move(*clause));
  }
  // By quality, then the more specific; otherwise the client's order.
  std::stable_sort(clauses.begin(), clauses.end(), [](const AcceptClause& a, const AcceptClause& b) {
    if (a.quality != b.quality) return a.quality > b.quality;
    auto wildness = [](const AcceptClause& c) { return (c.type == "*") + (c.subtype == "*"); };
    return wildness(a) < wildness(b);
  });
  return clauses;
}

Result<MediaTypeOptions> NegotiateOutput(std::string_view accept, const NegotiationScope& scope) {
  if (Trim(accept).empty()) return MediaTypeOptions{};
  bool type_is_offered = false;
  for (const AcceptClause& clause : ParseAccept(accept)) {
    if (clause.type == "*" && clause.subtype == "*") {
      MediaTypeOptions options;
      if (ReadParameters(clause, scope, options)) return options;
      type_is_offered = true;
      continue;
    }
    for (const Known& known : kKnown) {
      if (!OfferedTo(clause, known, scope) || clause.type != known.type || clause.subtype != known.subtype) continue;
      MediaTypeOptions options;
      options.encoding = known.encoding;
      if (ReadParameters(clause, scope, options)) return options;
      type_is_offered = true;
    }
  }
  // A type we do not have at all is refused by the router, in its own words.
  if (!type_is_offered) {
    StatusDetails details;
    details.shown = true;
    return Fail(NotAcceptableError("406: Not Acceptable\n\nAvailable representations: " + OfferedList(scope)).WithDetails(details));
  }
  NegotiationScope of_verb = scope;  // which has no streams
  of_verb.streams = false;
  return Fail(NotAcceptableError("only the following media types are accepted: " + OfferedList(of_verb)));
}

Result<Encoding> NegotiateInput(std::string_view content_type, const NegotiationScope& scope) {
  if (Trim(content_type).empty()) return Encoding::kJson;
  std::string media = BareMediaType(content_type);
  for (const Known& known : kKnown) {
    if (Offered(known, scope) && media == MediaType(known.encoding)) return known.encoding;
  }
  return Fail(UnsupportedMediaTypeError("the body of the request was in an unknown format - accepted media types include: " +
                                        OfferedList(scope)));
}

std::string_view MediaType(Encoding encoding) {
  switch (encoding) {
    case Encoding::kJson: return "application/json";
    case Encoding::kYaml: return "application/yaml";
    case Encoding::kProtobuf: return "application/vnd.kubernetes.protobuf";
    case Encoding::kCbor: return "application/cbor";
  }
  return "application/json";
}

std::string_view StreamMediaType(Encoding encoding) {
  switch (encoding) {
    case Encoding::kProtobuf: return "application/vnd.kubernetes.protobuf;stream=watch";
    case Encoding::kCbor: return "application/cbor-seq";
    default: return "application/json";
  }
}

std::string BareMediaType(std::string_view content_type) {
  std::string media = LowerCase(Trim(content_type.substr(0, content_type.find(';'))));
  return media.find('/') == std::string::npos ? std::string() : media;
}

}  // namespace homeostat::server
