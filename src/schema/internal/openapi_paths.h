// The operations of an API as data: what both versions of OpenAPI are written from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/openapi.h"

namespace homeostat::schema::internal {

struct Parameter {
  std::string in;  // query or path
  std::string name;
  std::string type;  // string, integer, boolean
  std::string description;
  bool operator==(const Parameter&) const = default;
};

// What an answer's or a body's media types are.
enum class Media {
  kObject,     // the four object encodings
  kStream,     // these, and streams of watch events
  kText,       // the four, and plain text
  kAny,        // whatever the other end says
  kDiscovery,  // the object encodings without CBOR
  kJson,       // JSON alone
  kKeySet,     // a JSON Web Key Set
  kNone,       // not said
};

struct Operation {
  std::string method;  // get, put …
  std::string id;
  std::string description;
  std::string action;  // x-kubernetes-action; empty for discovery
  std::string tag;
  GroupVersionKind gvk;  // what it works on; no kind for discovery
  std::vector<Parameter> parameters;
  const Type* body = nullptr;
  bool body_required = false;
  bool patch = false;          // the body is a patch
  bool takes_nothing = false;  // no media types are said that it takes
  bool custom = false;         // of a custom kind, whose document says JSON and YAML alone
  Media media = Media::kObject;
  // Codes of success with the type of the answer; null for a text.
  std::vector<std::pair<int, const Type*>> responses;
};

struct PathItem {
  std::string path;
  std::vector<Operation> operations;
};

// The paths of a group version: discovery, and every verb of every kind and subresource.
std::vector<PathItem> GroupVersionPaths(const OpenApiSource& source, std::string_view group, std::string_view version);
// The paths of what stands above group versions; see OpenApiV3RootDocument. Empty for unknown ones.
std::vector<PathItem> RootPaths(const OpenApiSource& source, std::string_view path);

// Whether custom kinds are all that is served of the group: then nothing stands above its versions.
bool IsCustomGroup(const OpenApiSource& source, std::string_view group);

// Parameters that all operations of the path share, sorted; they are said once for the path.
std::vector<Parameter> CommonParameters(const PathItem& item);

// What the names of a group's operations have in them: Apps, RbacAuthorization, Core.
std::string OperationGroupName(std::string_view group);

}  // namespace homeostat::schema::internal
