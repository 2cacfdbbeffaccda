// What is in the files of ConfigMap, Secret, downward and projected volumes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/pod_facts.h"

namespace homeostat::node {

struct VolumeFile {
  std::string content;
  uint32_t mode = 0644;
  bool operator==(const VolumeFile&) const = default;
};
// By path in the volume: relative, without "..".
using VolumeFiles = std::map<std::string, VolumeFile>;

// A token that a projected volume wants.
struct TokenWish {
  std::string path, audience;
  int64_t expiration_seconds = 3600;
  uint32_t mode = 0644;
};
std::vector<TokenWish> TokensOf(core::Volume volume);

// The files of a volume of one of those four kinds. `tokens`: by path, as TokensOf asked. The error says what is missing.
Result<VolumeFiles> MakeVolumeFiles(core::Pod pod, core::Volume volume, const PodReferences& references,
                                    const PodSurroundings& around, const std::map<std::string, std::string>& tokens);

// Whether the volume is of one of those kinds.
bool IsFilesVolume(core::Volume volume);

// Refuses paths that could leave the volume or clash with the names that updates work with.
Result<void> CheckVolumePath(std::string_view path);

}  // namespace homeostat::node
