// The built-in kinds and types: everything that api/ describes, in constant tables.
#pragma once

#include <span>
#include <string_view>

#include "homeostat/schema/kind.h"
#include "homeostat/schema/type.h"

namespace homeostat::api {

// Every built-in kind in every version, also those that a default server doesn't serve (Kind::served_by_default).
std::span<const schema::Kind* const> AllKinds();

// Every type with a definition name, sorted by it.
std::span<const schema::Type* const> AllTypes();

// By OpenAPI definition name, e.g. io.k8s.api.apps.v1.DeploymentSpec. Null if there is none.
const schema::Type* FindType(std::string_view definition_name);

// The kind of a resource. Null if it is no built-in one.
const schema::Kind* FindKind(std::string_view group, std::string_view version, std::string_view kind);

// The type of anything that carries kind and apiVersion: kinds, their lists, options (PodExecOptions), Scale, Eviction,
// TokenRequest. Those of meta.k8s.io (Status, DeleteOptions, WatchEvent …) are found in every group and version.
const schema::Type* FindTypeOfKind(std::string_view group, std::string_view version, std::string_view kind);

// Whether Kubernetes has kinds in that version of the group, served or not.
bool IsGroupVersion(std::string_view group, std::string_view version);

// Whether Kubernetes knows a kind, or the list of one, in a version that is served no more.
bool IsOldKind(std::string_view group, std::string_view version, std::string_view kind);

// The type in which Kubernetes reads an object of `kind` that says another group or version than `current`, but is the same for it:
// versions that are served no more or not by default, and groups that a kind has moved from. Where the fields of such a version
// are not known, they are taken for those of `type`, current's own. Null if it is none of those.
// Source: the register.go files of k8s.io/api, and what the server's scheme installs.
const schema::Type* FindOtherVersion(std::string_view group, std::string_view version, std::string_view kind,
                                     const schema::GroupVersionKind& current, const schema::Type& type);

}  // namespace homeostat::api
