// YAML: reading ends, and what it reads can be written as YAML that reads the same.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (std::string_view document : SplitYamlDocuments(text)) {
    Arena arena;
    std::vector<std::string> duplicates;
    auto value = ParseYaml(arena, document, &duplicates);
    if (document.starts_with('{')) {  // JSON is read in a way of its own, which a comment before it avoids
      std::vector<std::string> slow_duplicates;
      auto slow = ParseYaml(arena, "#\n" + std::string(document), &slow_duplicates);
      if (value.has_value() != slow.has_value() || (value && !Equal(*value, *slow)) || duplicates.size() != slow_duplicates.size()) std::abort();
    }
    if (!value) continue;
    std::string json = *WriteJson(*value, {.sort_names = true});
    // As upstream's, a name "<<" comes out plain and merges; the next line mark and the like are folded in plain text.
    if (json.find("<<") != json.npos || json.find("\\u003c\\u003c") != json.npos || size > 4096) continue;
    Arena again;
    auto back = ParseYaml(again, WriteYaml(*value));
    if (!back || *WriteJson(*back, {.sort_names = true}) != json) std::abort();
  }
  return 0;
}
