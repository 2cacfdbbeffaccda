// Which names came before, of the few that most lists have.
#pragma once

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace homeostat::kinds {

// The texts must outlive it.
class NamesSeen {
 public:
  // Whether this is the first of that name.
  bool Add(std::string_view name) {
    constexpr size_t kFew = 24;  // which are looked through faster than found in a tree
    if (few_.size() < kFew) {
      if (std::ranges::find(few_, name) != few_.end()) return false;
      few_.push_back(name);
      return true;
    }
    return std::ranges::find(few_, name) == few_.end() && many_.insert(name).second;
  }

 private:
  std::vector<std::string_view> few_;
  std::set<std::string_view> many_;
};

}  // namespace homeostat::kinds
