// Writes a folder of files that readers see change all at once.
//
//   target/key        → ..data/key             links that users see
//   target/..data     → ..2026_01_02_…         replaced in one step
//   target/..2026_01_02_…/key                  the files
//
// Source of the layout: what programs that watch ..data expect. Blocking.
#pragma once

#include <string>

#include "node/volume_files.h"

namespace homeostat::node {

// Makes the folder's content what `files` says; the folder must be there. Answers whether anything changed. `stamp` makes
// the new folder's name unlike any before it. With `group`, all belongs to that group, readable by it.
Result<bool> WriteAtomically(const std::string& target, const VolumeFiles& files, const std::string& stamp,
                             std::optional<int64_t> group = std::nullopt);

}  // namespace homeostat::node
