// JSONPaths over a tree: what is found is a part of the tree, and names alone lead where looking them up does.
#include "homeostat/object/jsonpath.h"
#include "json_input.h"

using namespace homeostat;          // NOLINT: a program of one file
using namespace homeostat::object;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The path, and the tree on the next line.
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t end = text.find('\n');
  if (end == text.npos) return 0;
  auto path = JsonPath::Parse(text.substr(0, end));
  if (!path) return 0;
  Arena arena;
  auto trees = fuzz::JsonLines(arena, data + end + 1, size - end - 1);
  if (!trees || trees->empty()) return 0;
  auto found = path->Evaluate(trees->front());
  if (!found || !path->IsSimple()) return 0;
  Value place = trees->front();
  for (const std::string& name : path->Names()) place = place.Get(name);
  fuzz::Require(found->size() <= 1, "a path of names alone leads to one place");
  if (found->size() == 1) fuzz::Require(Equal(found->front(), place), "names lead where looking them up does");
  return 0;
}
