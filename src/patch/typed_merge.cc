#include "patch/typed_merge.h"

#include <algorithm>
#include <optional>

#include "homeostat/object/member_lookup.h"
#include "patch/internal/compare_values.h"
#include "patch/internal/structure.h"

namespace homeostat::patch {

using internal::EqualValues;
using internal::Identical;
using internal::ItemElement;
using object::MemberLookup;
using internal::Structure;
using object::Member;

namespace {

// The items of a list by their steps. Of steps that come more than once the first is found, and is marked.
class ItemIndex {
 public:
  explicit ItemIndex(const std::vector<PathElement>& elements) : elements_(elements), sorted_(elements.size()) {
    for (size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = i;
    std::stable_sort(sorted_.begin(), sorted_.end(), [&](size_t a, size_t b) { return elements[a] < elements[b]; });
  }

  struct Found {
    size_t index;
    bool repeated;
  };
  std::optional<Found> Find(const PathElement& wanted) const {
    auto at = std::lower_bound(sorted_.begin(), sorted_.end(), wanted,
                               [&](size_t i, const PathElement& element) { return elements_[i] < element; });
    if (at == sorted_.end() || !(elements_[*at] == wanted)) return std::nullopt;
    return Found{*at, at + 1 != sorted_.end() && elements_[*(at + 1)] == wanted};
  }

 private:
  const std::vector<PathElement>& elements_;
  std::vector<size_t> sorted_;
};

class Merger {
 public:
  explicit Merger(Arena& arena) : arena_(arena) {}

  // Absent stands for a side that has nothing here; at least one has.
  Value Merge(const Structure& structure, const Value& live, const Value& config) {
    if (config.IsAbsent()) return live;
    if (!live.IsAbsent() && Identical(live, config)) return live;
    switch (internal::MainPart(structure.PartsFor(config))) {
      case internal::kMapPart:
        return MergeMap(structure, live, config);
      case internal::kListPart:
        return MergeList(structure, live, config);
      case internal::kScalarPart:
        break;
    }
    return Whole(live, config);
  }

 private:
  // Config's value as it is; live's if that says the same, so that more of the tree is shared.
  static Value Whole(const Value& live, const Value& config) {
    return !live.IsAbsent() && EqualValues(live, config) ? live : config;
  }

  Value MergeMap(const Structure& structure, const Value& live, const Value& config) {
    // Two empty ones are kept apart from null.
    if (structure.map_atomic() || (live.members().empty() && config.members().empty())) return Whole(live, config);
    if (live.members().empty()) return config;
    if (config.members().empty()) return live;
    size_t start = members_.size();
    bool changed = false;
    MemberLookup in_config(config);
    size_t matched = 0;
    for (const Member& member : live.members()) {
      const Member* wanted = in_config.Find(member.name());
      if (wanted == nullptr) {
        members_.push_back(member);
        continue;
      }
      ++matched;
      Value merged = Merge(structure.MapChild(member).structure, member.value, wanted->value);
      changed = changed || !Identical(merged, member.value);
      members_.emplace_back(member.name(), merged, member.field);
    }
    if (matched < config.size()) {
      changed = true;
      MemberLookup in_live(live);
      for (const Member& member : config.members()) {
        if (!in_live.Find(member.name())) members_.push_back(member);
      }
    }
    Value result = changed ? TakeMembers(start) : live;
    members_.resize(start);
    return result;
  }

  Value TakeMembers(size_t start) {
    size_t count = members_.size() - start;
    Member* members = arena_.AllocateArray<Member>(count);
    std::uninitialized_copy(members_.begin() + static_cast<ptrdiff_t>(start), members_.end(), members);
    return Value::Object({members, count});
  }

  Value MergeList(const Structure& structure, const Value& live, const Value& config) {
    if (structure.list_atomic() || (live.items().empty() && config.items().empty())) return Whole(live, config);
    if (live.items().empty()) return config;
    if (config.items().empty()) return live;
    std::vector<PathElement> live_steps = Steps(structure, live), config_steps = Steps(structure, config);
    Structure element = structure.ListElement();
    std::vector<Value> merged;
    merged.reserve(std::max(live.size(), config.size()));
    if (std::equal(live_steps.begin(), live_steps.end(), config_steps.begin(), config_steps.end())) {
      for (size_t i = 0; i < live.size(); ++i) merged.push_back(Merge(element, live.items()[i], config.items()[i]));
    } else {
      Interleave(element, live, config, live_steps, config_steps, merged);
    }
    if (std::equal(merged.begin(), merged.end(), live.items().begin(), live.items().end(), Identical)) return live;
    Value* items = arena_.AllocateArray<Value>(merged.size());
    std::uninitialized_copy(merged.begin(), merged.end(), items);
    return Value::List({items, merged.size()});
  }

  std::vector<PathElement> Steps(const Structure& structure, const Value& list) {
    std::vector<PathElement> steps;
    steps.reserve(list.size());
    for (const Value& item : list.items()) {
      auto step = ItemElement(arena_, structure, item);
      steps.push_back(step ? *step : PathElement::Item(item));
    }
    return steps;
  }

  // Items of config come in config's order. An item that only live has comes before the first item of config that
  // follows it in live, as long as the items they share are met in config's order.
  void Interleave(const Structure& element, const Value& live, const Value& config,
                  const std::vector<PathElement>& live_steps, const std::vector<PathElement>& config_steps,
                  std::vector<Value>& merged) {
    ItemIndex in_live(live_steps), in_config(config_steps);
    std::vector<std::optional<ItemIndex::Found>> partner(config_steps.size());
    for (size_t i = 0; i < config_steps.size(); ++i) partner[i] = in_live.Find(config_steps[i]);
    auto next_shared = [&](size_t from) {
      while (from < partner.size() && !partner[from]) ++from;
      return from;
    };
    size_t shared = next_shared(0), l = 0, c = 0;
    while (l < live.size() || c < config.size()) {
      if (l < live.size()) {
        auto same = in_config.Find(live_steps[l]);
        if (!same) {
          merged.push_back(live.items()[l++]);
          continue;
        }
        bool due = c < config.size() && same->index == c;
        bool early = !due && c < config.size() && shared < partner.size() && same->index != shared;
        if (early || (!due && same->index < c)) {
          ++l;  // it is put where config has it, or was already
          if (early || c == config.size()) continue;
        } else if (due) {
          ++l;
        }
      }
      if (c < config.size()) {
        merged.push_back(MergeItem(element, live, partner[c], config.items()[c]));
        if (shared == c) shared = next_shared(c + 1);
        ++c;
      }
    }
  }

  // An item that live has more than once is not merged with any of them.
  Value MergeItem(const Structure& element, const Value& live, const std::optional<ItemIndex::Found>& partner,
                  const Value& config) {
    if (!partner) return config;
    return Merge(element, partner->repeated ? Value::Null() : live.items()[partner->index], config);
  }

  Arena& arena_;
  std::vector<Member> members_;
};

}  // namespace

Value MergeTyped(Arena& arena, const schema::Type& type, const Value& live, const Value& config) {
  return Merger(arena).Merge(Structure(type), live, config);
}

}  // namespace homeostat::patch
