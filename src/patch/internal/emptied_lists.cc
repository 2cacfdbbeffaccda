#include "patch/internal/emptied_lists.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "patch/internal/structure.h"

namespace homeostat::patch::internal {
namespace {

// A step of a path: .name or [index].
struct Step {
  std::string_view name;
  std::optional<size_t> index;
};

std::optional<Step> NextStep(std::string_view& rest) {
  if (rest.starts_with('.')) rest.remove_prefix(1);
  if (rest.empty()) return std::nullopt;
  if (!rest.starts_with('[')) {
    Step step{rest.substr(0, rest.find_first_of(".[")), std::nullopt};
    rest.remove_prefix(step.name.size());
    return step;
  }
  size_t index = 0;
  auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != ']') return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()) + 1);
  return Step{{}, index};
}

// The path to the list that counts as one value, or, where that is within something that does, to that; none if there is no list.
std::optional<Path> PathToList(Arena& arena, const schema::Type& type, const Value& object, std::string_view text) {
  Structure structure(type);
  Value value = object;
  Path path;
  bool within_one = false;
  while (auto step = NextStep(text)) {
    if (!structure.declared()) return std::nullopt;
    if (step->index) {
      if (!value.IsList() || *step->index >= value.size()) return std::nullopt;
      if (within_one || structure.list_atomic()) return path;
      auto element = ItemElement(arena, structure, value.items()[*step->index]);
      if (!element) return std::nullopt;
      path.push_back(*element);
      value = value.items()[*step->index];
      structure = structure.ListElement();
      continue;
    }
    const object::Member* member = value.IsObject() ? value.Find(step->name) : nullptr;
    if (member == nullptr) return std::nullopt;  // also the empty one itself, in which there is no list
    within_one = within_one || structure.map_atomic();
    if (!within_one) path.push_back(PathElement::Field(arena.Copy(step->name)));
    value = member->value;
    structure = structure.MapChild(*member).structure;
  }
  return std::nullopt;
}

}  // namespace

FieldSet EmptiedLists(Arena& arena, const schema::Type& type, const Value& object, const schema::EmptyFields& empty) {
  std::vector<Path> paths;
  for (const auto& [text, shown] : empty.fields()) {
    if (text.find('[') == std::string::npos) continue;
    auto path = PathToList(arena, type, object, text);
    if (path && std::ranges::find(paths, *path) == paths.end()) paths.push_back(*std::move(path));
  }
  return paths.empty() ? FieldSet() : FieldSet::Of(arena, paths);
}

}  // namespace homeostat::patch::internal
