#include "patch/internal/member_lookup.h"

namespace homeostat::patch::internal {

using object::Member;

const Member* MemberLookup::Find(std::string_view name) {
  if (next_ < members_.size() && members_[next_].name() == name) return &members_[next_++];
  if (members_.size() <= kIndexAbove) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].name() != name) continue;
      next_ = i + 1;
      return &members_[i];
    }
    return nullptr;
  }
  if (index_.empty()) {
    index_.reserve(members_.size());
    for (uint32_t i = 0; i < members_.size(); ++i) index_.emplace(members_[i].name(), i);
  }
  auto found = index_.find(name);
  if (found == index_.end()) return nullptr;
  next_ = found->second + 1;
  return &members_[found->second];
}

}  // namespace homeostat::patch::internal
