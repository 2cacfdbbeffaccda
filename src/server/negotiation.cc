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

std::string_view TrimSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// What stands before a separator; the rest is left.
std::string_view Next(std::string_view& rest, char separator) {
  size_t end = std::min(rest.find(separator), rest.size());
  std::string_view item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return item;
}

// Letters count as they are, quotes are letters, and a parameter without a value is none.
std::optional<AcceptClause> ParseClause(std::string_view text) {
  std::string_view media = Next(text, ';');
  AcceptClause clause;
  clause.type = TrimSpaces(Next(media, '/'));
  if (media.empty()) {
    if (clause.type != "*") return std::nullopt;
    clause.subtype = "*";
  } else {
    clause.subtype = TrimSpaces(Next(media, '/'));
    if (!media.empty()) return std::nullopt;
  }
  while (!text.empty()) {
    std::string_view parameter = Next(text, ';'), name = TrimSpaces(Next(parameter, '=')), value = Next(parameter, '=');
    if (value.empty() || !parameter.empty()) continue;
    if (name == "q") {
      clause.quality = std::atof(std::string(value).c_str());
    } else {
      std::erase_if(clause.parameters, [&](const auto& earlier) { return earlier.first == name; });
      clause.parameters.emplace_back(name, TrimSpaces(value));
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

// Reads as, g, v, pretty, stream, sv; false when they ask for what is not offered, so that the clause does not count.
bool ReadParameters(const AcceptClause& clause, const NegotiationScope& scope, MediaTypeOptions& options) {
  options.pretty = clause.Parameter("pretty") == "1";
  std::string_view stream = clause.Parameter("stream"), server_version = clause.Parameter("sv");
  if (!stream.empty() && (stream != "watch" || options.encoding == Encoding::kYaml)) return false;
  if (!server_version.empty() && (server_version != "v1" || !scope.transformations)) return false;
  options.stream = !stream.empty();
  std::string_view as = clause.Parameter("as"), group = clause.Parameter("g"), version = clause.Parameter("v");
  if (as.empty() && group.empty() && version.empty()) return true;
  if (!scope.transformations || group != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return false;
  options.transformation_version = version;
  if (as == "Table") options.transformation = Transformation::kTable;
  else if (as == "PartialObjectMetadata") options.transformation = Transformation::kPartialMetadata;
  else if (as == "PartialObjectMetadataList") options.transformation = Transformation::kPartialMetadataList;
  else return false;
  // Tables have no protobuf form.
  return options.transformation != Transformation::kTable || (scope.tables && options.encoding != Encoding::kProtobuf);
}

// Whether the router in front of built-in kinds lets the request in: it knows whole names only.
bool IsRouted(std::string_view accept, const NegotiationScope& scope) {
  while (!accept.empty()) {
    std::string_view clause = Next(accept, ',');
    std::string_view media = TrimSpaces(Next(clause, ';'));
    if (media == "*/*") return true;
    for (const Known& known : kKnown) {
      if (Offered(known, scope) && media == MediaType(known.encoding)) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view AcceptClause::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) if (key == name) return value;
  return {};
}

std::vector<AcceptClause> ParseAccept(std::string_view header) {
  std::vector<AcceptClause> clauses;
  while (!header.empty()) {
    if (auto clause = ParseClause(TrimSpaces(Next(header, ',')))) clauses.push_back(std::move(*clause));
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
  if (scope.routed && !IsRouted(accept, scope)) {
    StatusDetails details;
    details.shown = true;
    return Fail(NotAcceptableError("406: Not Acceptable\n\nAvailable representations: " + OfferedList(scope)).WithDetails(details));
  }
  for (const AcceptClause& clause : ParseAccept(accept)) {
    for (const Known& known : kKnown) {
      bool fits = (clause.type == known.type && (clause.subtype == known.subtype || clause.subtype == "*")) ||
                  (clause.type == "*" && clause.subtype == "*");
      if (!fits || !OfferedTo(clause, known, scope)) continue;
      MediaTypeOptions options;
      options.encoding = known.encoding;
      if (ReadParameters(clause, scope, options)) return options;
    }
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
