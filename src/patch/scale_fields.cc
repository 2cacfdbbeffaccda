#include "patch/scale_fields.h"

#include <algorithm>

#include "patch/managed_fields.h"

namespace homeostat::patch {

namespace {

constexpr std::string_view kScaleVersion = "autoscaling/v1";

Path ScaleReplicas() { return FieldPathOf({"spec", "replicas"}); }

const Path* PathIn(const std::vector<ReplicasPath>& paths, std::string_view api_version) {
  auto found =
      std::find_if(paths.begin(), paths.end(), [&](const ReplicasPath& one) { return one.api_version == api_version; });
  return found == paths.end() ? nullptr : &found->path;
}

// The entry, owning nothing but that path, in that version.
ManagedEntry Owning(Arena& arena, ManagedEntry entry, const Path& path, std::string_view api_version) {
  entry.SetFields(FieldSet::Of(arena, {path}));
  entry.api_version = api_version;
  return entry;
}

}  // namespace

Result<Value> ScaleManagedFields(Arena& arena, const Value& parent, const std::vector<ReplicasPath>& paths,
                                 const schema::Type* entry_type, FieldsForm form) {
  TRY_ASSIGN(ManagedFields entries, ManagedFields::Read(arena, parent));
  ManagedFields scale;
  for (const ManagedEntry& entry : entries.entries()) {
    const Path* path = PathIn(paths, entry.api_version);
    if (path == nullptr || path->empty() || !entry.fields.Has(*path)) continue;
    scale.entries().push_back(Owning(arena, entry, ScaleReplicas(), kScaleVersion));
  }
  return scale.Write(arena, entry_type, form);
}

Result<Value> ParentManagedFields(Arena& arena, const Value& parent, const Value& scale,
                                  const std::vector<ReplicasPath>& paths, std::string_view api_version,
                                  const schema::Type* entry_type, FieldsForm form) {
  TRY_ASSIGN(ManagedFields before, ManagedFields::Read(arena, parent));
  TRY_ASSIGN(ManagedFields written, ManagedFields::Read(arena, scale));
  ManagedFields after;
  for (ManagedEntry entry : before.entries()) {
    const Path* path = PathIn(paths, entry.api_version);
    if (path == nullptr) continue;
    if (!path->empty() && entry.fields.Has(*path)) {
      if (written.Find(entry) != nullptr) {
        written.Erase(entry);
      } else {
        // The Scale has taken the replicas from it, or shows it as an entry of its own version, which comes back below.
        entry.SetFields(Difference(arena, entry.fields, FieldSet::Of(arena, {*path})));
        if (entry.fields.empty()) continue;
      }
    }
    after.entries().push_back(entry);
  }
  const Path* path = PathIn(paths, api_version);
  if (path == nullptr || path->empty()) return after.Write(arena, entry_type, form);
  for (const ManagedEntry& entry : written.entries()) {
    if (!entry.fields.Has(ScaleReplicas())) continue;
    const ManagedEntry* same = before.Find(entry);
    ManagedEntry owner = Owning(arena, entry, *path, api_version);
    owner.time = same ? same->time : std::string_view();
    if (entry.applied) after.Erase(entry);  // an applier has one entry, in whatever version
    after.entries().push_back(owner);
  }
  return after.Write(arena, entry_type, form);
}

}  // namespace homeostat::patch
