#include "homeostat/object/member_lookup.h"

namespace homeostat::object {

namespace {

// Names of fields are the table's own, so that most comparisons end at the first look.
bool HasName(const Member& member, std::string_view name) {
  return member.name_data == name.data() ? member.name_size == name.size() : member.name() == name;
}

}  // namespace

const Member* MemberLookup::Find(std::string_view name) {
  if (next_ < members_.size() && HasName(members_[next_], name)) return &members_[next_++];
  if (members_.size() <= kIndexAbove) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!HasName(members_[i], name)) continue;
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

}  // namespace homeostat::object
