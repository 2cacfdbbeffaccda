#include "object/internal/yaml_json.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "homeostat/object/json.h"

namespace homeostat::object::internal {
namespace {

// Less than what YAML allows a key on one line, and than the nesting it allows texts of any size.
constexpr size_t kMostKeyBytes = 1000;
constexpr size_t kMostDepth = 90;

// What MayDiffer must look at: what is no printable ASCII, and what decides by its neighbour.
constexpr std::array<bool, 256> MakeDoubtful() {
  std::array<bool, 256> doubtful{};
  for (size_t c = 0x7f; c < doubtful.size(); ++c) doubtful[c] = true;
  for (char c : {'\t', '\\', ':'}) doubtful[static_cast<size_t>(c)] = true;
  return doubtful;
}
constexpr std::array<bool, 256> kDoubtful = MakeDoubtful();

// Whether some character or sequence may mean something else in YAML, be refused there, or stand where it must not.
bool MayDiffer(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!kDoubtful[static_cast<uint8_t>(text[i])]) continue;
    char before = i > 0 ? text[i - 1] : '\0', after = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (text[i]) {
      case '\\':
        if (after == 'u' || after == '/') return true;  // half a character in YAML; unknown to it
        break;
      case ':':
        if (before == ' ' || before == '\n' || before == '\r') return true;  // a key must end on its line
        break;
      default:
        return true;  // no white space in YAML; printable ones only
    }
  }
  return text.find("\"<<\"") != std::string_view::npos;  // merges what follows
}

bool HoldsWhatBothHave(const Value& root) {
  struct Place {
    Value value;
    size_t depth;
  };
  std::vector<Place> open{{root, 1}};
  auto take = [&](const Value& value, size_t depth) {
    if (value.kind() == ValueKind::kDouble) return false;
    if (value.size() > 0 && (value.IsList() || value.IsObject())) open.push_back({value, depth});
    return true;
  };
  while (!open.empty()) {
    Place place = open.back();
    open.pop_back();
    if (place.depth > kMostDepth) return false;
    for (const Value& item : place.value.items()) {
      if (!take(item, place.depth + 1)) return false;
    }
    for (const Member& member : place.value.members()) {
      if (member.name().size() > kMostKeyBytes || !take(member.value, place.depth + 1)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Value> ReadJsonAsYaml(Arena& arena, std::string_view text) {
  if (!text.starts_with('{') || MayDiffer(text)) return std::nullopt;
  std::vector<std::string> duplicates;
  Result<Value> parsed = ParseJson(arena, text, &duplicates);
  if (!parsed || !duplicates.empty() || !HoldsWhatBothHave(*parsed)) return std::nullopt;
  return *parsed;
}

}  // namespace homeostat::object::internal
