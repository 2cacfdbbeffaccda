#include "patch/internal/ownership.h"

#include <algorithm>

#include "patch/internal/compare_values.h"
#include "patch/internal/structure.h"

namespace homeostat::patch::internal {

namespace {

// Never in anyone's set: what names the object, and what only the server writes.
const FieldSet& NeverOwned() {
  static Arena arena;
  static const FieldSet set =
      FieldSet::Of(arena, {FieldPathOf({"apiVersion"}), FieldPathOf({"kind"}), FieldPathOf({"metadata"}),
                           FieldPathOf({"metadata", "name"}), FieldPathOf({"metadata", "namespace"}),
                           FieldPathOf({"metadata", "creationTimestamp"}), FieldPathOf({"metadata", "selfLink"}),
                           FieldPathOf({"metadata", "uid"}), FieldPathOf({"metadata", "clusterName"}),
                           FieldPathOf({"metadata", "generation"}), FieldPathOf({"metadata", "managedFields"}),
                           FieldPathOf({"metadata", "resourceVersion"})});
  return set;
}

Status Because(std::string_view what, const Status& cause) {
  return Status(500, "", std::string(what) + ": " + cause.message());
}

std::string OwnVersion(const FieldManagerOptions& options) { return options.kind.ApiVersion(); }

std::unexpected<Refusal> Refuse(Status status) { return std::unexpected(Refusal{std::move(status), {}}); }

}  // namespace

Ownership::Versioned Ownership::Own(const Value& object) const {
  return {object, arena_.Copy(OwnVersion(options_)), options_.type};
}

Result<const schema::Type*> Ownership::FindType(std::string_view api_version) const {
  if (api_version == OwnVersion(options_)) return options_.type;
  if (!options_.versions.find_type) return nullptr;
  return options_.versions.find_type(api_version);
}

Result<Ownership::Versioned> Ownership::Convert(const Versioned& object, std::string_view api_version) {
  if (object.api_version == api_version) return object;
  TRY_ASSIGN(const schema::Type* type, FindType(api_version));
  if (type == nullptr || !options_.versions.convert) return Versioned{object.object, object.api_version, nullptr};
  TRY_ASSIGN(Value converted, options_.versions.convert(arena_, object.object, api_version));
  // Versions of a custom kind need not know each other's fields, and nothing of the object is left out on the way.
  if (type->structural) {
    converted = WithFieldIndexes(arena_, *type, converted);
    TRY(CheckTyped(arena_, *type, converted, Duplicates::kRefused));
  }
  return Versioned{converted, api_version, type};
}

// Entries in versions that are gone are left out later, when they are looked at.
Done Ownership::Reconcile(const Value& live) {
  const std::string own = OwnVersion(options_);
  for (ManagedEntry& entry : managed_.entries()) {
    TRY_ASSIGN(const schema::Type* type, FindType(entry.api_version));
    if (type == nullptr) continue;
    if (type->structural && entry.api_version != own) TRY(Convert(Own(live), entry.api_version));
    FieldSet reconciled = ReconcileWithType(arena_, *type, entry.fields);
    if (!Equal(reconciled, entry.fields)) entry.SetFields(reconciled);
  }
  return {};
}

Result<const Comparison*> Ownership::CompareIn(std::string_view api_version, const Value& live, const Value& updated) {
  auto [place, fresh] = comparisons_.try_emplace(api_version);
  if (!fresh) return &place->second;
  Result<Versioned> from = Convert(Own(live), api_version);
  if (!from) return Fail(Because("failed to convert old object", from.error()));
  Result<Versioned> to = Convert(Own(updated), api_version);
  if (!to) return Fail(Because("failed to convert new object", to.error()));
  if (from->type == nullptr || to->type == nullptr) return nullptr;
  Comparison comparison = CompareTyped(arena_, *to->type, from->object, to->object);
  if (!counted_.empty() && api_version == OwnVersion(options_)) comparison.modified = Union(arena_, comparison.modified, counted_);
  // The reset fields of custom objects are those of their own version: what a write has not got it takes from entries of others.
  // Those of a subresource are of all versions.
  const bool resets = !options_.type->structural || !options_.subresource.empty() || api_version == OwnVersion(options_);
  for (FieldSet* set : {&comparison.added, &comparison.modified, &comparison.removed})
    if (resets) *set = options_.reset_fields.Apply(arena_, *set);
  place->second = comparison;
  return &place->second;
}

void Ownership::Lose(const std::vector<std::pair<ManagedEntry, FieldSet>>& losses) {
  for (const auto& [owner, fields] : losses) {
    ManagedEntry* entry = managed_.Find(owner);
    if (!Intersection(arena_, entry->fields, fields).empty())
      entry->SetFields(Difference(arena_, entry->fields, fields));
  }
}

std::expected<Comparison, Refusal> Ownership::TakeOver(const Value& live, const Value& updated,
                                                       const ManagedEntry* writer, bool force) {
  comparisons_.clear();
  auto own = CompareIn(arena_.Copy(OwnVersion(options_)), live, updated);
  if (!own) return Refuse(own.error());
  std::vector<std::pair<ManagedEntry, FieldSet>> taken, gone;
  std::vector<ManagedEntry> obsolete;
  for (const ManagedEntry& entry : managed_.entries()) {
    if (writer != nullptr && entry.BelongsTo(*writer)) continue;
    auto comparison = CompareIn(entry.api_version, live, updated);
    if (!comparison) return Refuse(comparison.error());
    if (*comparison == nullptr) {
      obsolete.push_back(entry);
      comparisons_.erase(entry.api_version);
      continue;
    }
    const Comparison& changes = **comparison;
    FieldSet changed = Intersection(arena_, entry.fields, Union(arena_, changes.modified, changes.added));
    if (!changed.empty()) taken.emplace_back(entry, changed);
    if (!changes.removed.empty()) gone.emplace_back(entry, changes.removed);
  }
  for (const ManagedEntry& entry : obsolete) managed_.Erase(entry);
  if (!force && !taken.empty()) {
    std::sort(taken.begin(), taken.end(),
              [](const auto& a, const auto& b) { return a.first.Identifier() < b.first.Identifier(); });
    std::vector<Conflict> conflicts;
    for (const auto& [owner, fields] : taken) {
      for (Conflict& conflict : ConflictsWith(owner, fields)) conflicts.push_back(std::move(conflict));
    }
    Status status = ConflictStatus(conflicts);
    return std::unexpected(Refusal{std::move(status), std::move(conflicts)});
  }
  Lose(taken);
  Lose(gone);
  managed_.DropEmpty();
  return **own;
}

Done Ownership::Update(const Value& live, const Value& updated, ManagedEntry writer, std::string_view now, bool* doubtful) {
  TRY(Reconcile(live));
  ManagedEntry before;
  if (const ManagedEntry* earlier = managed_.Find(writer)) before = *earlier;
  // The writer's earlier entry takes part like any other: what it owned and now changes comes back to it below.
  auto changes = TakeOver(live, updated, nullptr, true);
  if (!changes) return Fail(changes.error().status);
  if (doubtful != nullptr) *doubtful = changes->doubtful;
  FieldSet written = options_.reset_fields.Apply(arena_, Union(arena_, changes->modified, changes->added));
  written = Difference(arena_, written, NeverOwned());
  if (written.empty()) return {};
  const ManagedEntry* previous = managed_.Find(writer);
  writer.SetFields(previous ? Union(arena_, written, previous->fields) : written);
  writer.KeepFieldsOf(before);
  writer.SetTime(now);
  managed_.Put(writer);
  return {};
}

std::expected<Value, Refusal> Ownership::Apply(const Value& live, const Value& config, ManagedEntry applier, bool force,
                                               std::string_view now) {
  if (auto fits = Reconcile(live); !fits) return Refuse(fits.error());
  ManagedEntry last;
  if (const ManagedEntry* previous = managed_.Find(applier)) last = *previous;
  applier.fields = options_.reset_fields.Apply(arena_, FieldSetOf(arena_, *options_.type, config));
  applier.time = last.time;
  managed_.Put(applier);
  Result<Value> pruned = Prune(MergeTyped(arena_, *options_.type, live, config), last, applier);
  if (!pruned) return Refuse(Because("failed to prune fields", pruned.error()));
  auto changes = TakeOver(live, *pruned, &applier, force);
  if (!changes) return std::unexpected(std::move(changes.error()));
  bool changed = !EqualValues(live, *pruned);
  if (ManagedEntry* entry = managed_.Find(applier)) {
    entry->SetFields(Difference(arena_, entry->fields, NeverOwned()));
    entry->KeepFieldsOf(last);
    if (changed) {
      entry->SetTime(now);
    } else if (last.written && last.api_version == entry->api_version && entry->fields_written) {
      entry->written = last.written;
    }
  }
  managed_.DropEmpty();
  return changed ? *pruned : Value();
}

// Removes from the merged object what the applier said the last time, does not say now, and nobody else owns.
Result<Value> Ownership::Prune(const Value& merged, const ManagedEntry& last, const ManagedEntry& applier) {
  if (last.fields.empty()) return merged;
  bool same_version = std::ranges::all_of(managed_.entries(), [&](const ManagedEntry& entry) { return entry.api_version == last.api_version; });
  if (same_version && Difference(arena_, last.fields, applier.fields).empty()) return merged;
  Result<Versioned> found = Convert(Own(merged), last.api_version);
  if (!found) return Fail(Because("failed to convert merged object to last applied version", found.error()));
  Versioned converted = *found;
  if (converted.type == nullptr) return merged;
  Versioned pruned = converted;
  pruned.object =
      RemoveItems(arena_, *converted.type, converted.object, WithNamedFields(arena_, *converted.type, last.fields));
  Result<Versioned> with_owned = AddBackOwned(converted, pruned);
  if (!with_owned) return Fail(Because("failed add back owned items", with_owned.error()));
  pruned = *with_owned;
  TRY_ASSIGN(Value kept, AddBackNotApplied(converted, pruned, last));
  TRY_ASSIGN(Versioned result, Convert({kept, converted.api_version, converted.type}, applier.api_version));
  if (result.type == nullptr) return Fail(InternalError("no type for " + std::string(applier.api_version)));
  return result.object;
}

FieldSet Ownership::Named(const Versioned& object) {
  auto [place, fresh] = named_.try_emplace(object.object.members().data());
  if (fresh) place->second = WithNamedFields(arena_, *object.type, FieldSetOf(arena_, *object.type, object.object));
  return place->second;
}

std::map<std::string_view, FieldSet> Ownership::OwnedByVersion() {
  std::map<std::string_view, FieldSet> owned;
  for (const ManagedEntry& entry : managed_.entries()) {
    FieldSet& set = owned[entry.api_version];
    set = Union(arena_, set, entry.fields);
  }
  return owned;
}

// Items that anyone owns come back, with what they need to stand in the object. Those recorded in the version at hand
// come first, as conversion to another may need them.
Result<Ownership::Versioned> Ownership::AddBackOwned(Versioned merged, Versioned pruned) {
  std::map<std::string_view, FieldSet> owned = OwnedByVersion();
  std::vector<std::string_view> versions;
  if (owned.contains(pruned.api_version)) versions.push_back(pruned.api_version);
  for (const auto& [version, fields] : owned) {
    if (version != pruned.api_version) versions.push_back(version);
  }
  for (std::string_view version : versions) {
    Result<Versioned> merged_there = Convert(merged, version), pruned_there = Convert(pruned, version);
    for (auto [which, converted] : {std::pair("merged", &merged_there), std::pair("pruned", &pruned_there)}) {
      std::string what = std::string("failed to convert ") + which + " object at version " + std::string(version);
      if (!*converted) return Fail(Because(what, converted->error()));
    }
    if (merged_there->type == nullptr || pruned_there->type == nullptr) continue;
    FieldSet keep = Union(arena_, Named(*pruned_there), WithNamedFields(arena_, *merged_there->type, owned[version]));
    FieldSet drop = Difference(arena_, Named(*merged_there), keep);
    merged = *merged_there;
    pruned = *pruned_there;
    pruned.object = RemoveItems(arena_, *merged.type, merged.object, drop);
  }
  return pruned;
}

// Items that went with a list or map around them, but that the applier never said, come back too.
Result<Value> Ownership::AddBackNotApplied(const Versioned& merged, const Versioned& pruned, const ManagedEntry& last) {
  TRY_ASSIGN(Versioned there, Convert(pruned, last.api_version));
  if (there.type == nullptr) return merged.object;
  FieldSet gone = Difference(arena_, Named(merged), Named(there));
  FieldSet drop = Intersection(arena_, gone, WithNamedFields(arena_, *merged.type, last.fields));
  return RemoveItems(arena_, *merged.type, merged.object, drop);
}

}  // namespace homeostat::patch::internal
