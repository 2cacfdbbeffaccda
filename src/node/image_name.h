// Names of images: registry/repository:tag@digest. Pure.
//
// Source of the grammar: the distribution specification's reference grammar.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::node {

// The name with ":latest" if it has neither tag nor digest. The error reads as upstream's: couldn't parse image name ….
Result<std::string> WithDefaultTag(std::string_view image);

// The registry it comes from: "docker.io" for a name without one.
std::string RegistryOf(std::string_view image);
// The repository with its registry, without tag and digest: docker.io/library/web.
std::string RepositoryOf(std::string_view image);

}  // namespace homeostat::node
