// What this program is: the Kubernetes version it stands in for, and its own.
#pragma once

#include <string_view>

namespace homeostat::cli {

// Kubernetes' version with ours behind the plus sign, as semantic versioning has it for builds.
inline constexpr std::string_view kGitVersion = "v1.36.3+homeostat.1";
inline constexpr std::string_view kVersion = "0.1.0";
// Of the source; set by the build, and fixed values where it is not told.
#ifdef HOMEOSTAT_GIT_COMMIT
inline constexpr std::string_view kGitCommit = HOMEOSTAT_GIT_COMMIT;
#else
inline constexpr std::string_view kGitCommit = "unknown";
#endif
inline constexpr std::string_view kBuildDate = "1970-01-01T00:00:00Z";

}  // namespace homeostat::cli
