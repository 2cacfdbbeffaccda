#include "patch/internal/conflicts.h"

#include "homeostat/base/text.h"

namespace homeostat::patch::internal {

namespace {

std::string OwnerText(const ManagedEntry& owner) {
  std::string text = GoQuote(owner.manager);
  if (!owner.subresource.empty()) text += " with subresource " + GoQuote(owner.subresource);
  if (!owner.applied) text.append(" using ").append(owner.api_version);
  return text;
}

std::string Message(const std::vector<Conflict>& conflicts) {
  if (conflicts.size() == 1) {
    return "Apply failed with 1 conflict: conflict with " + OwnerText(conflicts[0].owner) + ": " +
           PathString(conflicts[0].path);
  }
  std::string text = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts: ";
  const ManagedEntry* owner = nullptr;
  for (const Conflict& conflict : conflicts) {
    if (owner == nullptr || !owner->BelongsTo(conflict.owner)) {
      if (owner != nullptr) text += '\n';
      text += "conflicts with " + OwnerText(conflict.owner) + ":";
      owner = &conflict.owner;
    }
    text += "\n- " + PathString(conflict.path);
  }
  return text;
}

}  // namespace

std::vector<Conflict> ConflictsWith(const ManagedEntry& owner, const FieldSet& fields) {
  std::vector<Conflict> conflicts;
  fields.ForEach([&](PathView path) { conflicts.push_back({owner, Path(path.begin(), path.end())}); });
  return conflicts;
}

Status ConflictStatus(const std::vector<Conflict>& conflicts) {
  StatusDetails details;
  for (const Conflict& conflict : conflicts) {
    details.causes.push_back(
        {"FieldManagerConflict", "conflict with " + OwnerText(conflict.owner), PathString(conflict.path)});
  }
  return Status(409, "Conflict", Message(conflicts)).WithDetails(std::move(details));
}

}  // namespace homeostat::patch::internal
