// OpenAPI documents made from kinds and types: version 3, one document for each group version, and version 2, one for
// all.
//
// Shapes are those of Kubernetes' own documents: definitions with x-kubernetes-group-version-kind, patch strategies and
// merge keys, list types and keys, map types, formats, defaults (version 3), enums; operations with x-kubernetes-action
// and the parameters that clients look for (kubectl reads dryRun and fieldValidation). Texts are our own documentation.
//
// Making a document costs milliseconds and a few megabytes: callers keep the text for as long as the kinds stay.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

enum class OpenApiVersion { kV2, kV3 };
// JSON, or gnostic's protobuf messages (schema/openapi_protobuf.h).
enum class OpenApiForm { kJson, kProtobuf };

// What documents are made from. Kinds and types must outlive the calls, nothing longer.
struct OpenApiSource {
  // Every kind that is served, of all groups and versions.
  std::span<const Kind* const> kinds;
  // Types that operations name: by definition name (io.k8s.apimachinery.pkg.apis.meta.v1.Status), and of kinds that
  // subresources take and give (policy/v1 Eviction). Null for what there is none of.
  std::function<const Type*(std::string_view definition_name)> find_type;
  std::function<const Type*(const GroupVersionKind& gvk)> find_type_of_kind;
  // Whether a subresource that needs a feature gate is served; all are if this is not set.
  std::function<bool(std::string_view feature_gate)> gate_enabled;
  bool enums = true;  // publish the values that a field may have
  bool says_security = true;  // how clients prove who they are; documents of custom groups leave it out
  std::string title = "Kubernetes";
  std::string version = "unversioned";  // the server's, e.g. v1.36.3
};

// The document at /openapi/v3/apis/GROUP/VERSION, or /openapi/v3/api/VERSION for the core group.
std::string OpenApiV3Document(const OpenApiSource& source, std::string_view group, std::string_view version,
                              OpenApiForm form = OpenApiForm::kJson);
// The documents beside these: at /openapi/v3/ + path, where path is api, apis, apis/GROUP, version, logs,
// openid/v1/jwks or .well-known/openid-configuration. Empty for any other path.
std::string OpenApiV3RootDocument(const OpenApiSource& source, std::string_view path,
                                  OpenApiForm form = OpenApiForm::kJson);

// The document at /openapi/v2.
std::string OpenApiV2Document(const OpenApiSource& source, OpenApiForm form = OpenApiForm::kJson);

// One definition as it stands in these documents, without x-kubernetes-group-version-kind. If `referenced` is given,
// the types that it refers to are added.
object::Value OpenApiDefinition(object::Arena& arena, const Type& type, OpenApiVersion version, bool enums = true,
                                std::vector<const Type*>* referenced = nullptr);

}  // namespace homeostat::schema
