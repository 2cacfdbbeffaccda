#include "patch/field_manager.h"

#include <algorithm>
#include <tuple>

#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/json_encoder.h"
#include "patch/internal/emptied_lists.h"
#include "patch/internal/last_applied.h"
#include "patch/internal/ownership.h"
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using internal::Conflict;
using internal::Ownership;
using internal::Refusal;

namespace {

constexpr size_t kMostUpdateEntries = 10;
constexpr std::string_view kBeforeFirstApply = "before-first-apply";

std::string_view OrUnknown(Arena& arena, std::string_view manager) {
  return manager.empty() ? std::string_view("unknown") : arena.Copy(manager);
}

// All empty if the apiVersion is none.
schema::GroupVersionKind KindOf(const Value& config) {
  schema::GroupVersion parts = schema::ParseApiVersion(config.Get("apiVersion").AsString());
  return parts.IsValid() ? schema::GroupVersionKind{parts.group, parts.version, config.Get("kind").AsString()} : schema::GroupVersionKind();
}

// A tree in which octets are text, as in JSON, and the rest is shared.
Value WithTextForOctets(Arena& arena, const Value& value) {
  if (value.IsBytes()) {
    std::string text;
    object::AppendBase64(text, value.AsString());
    return Value::String(arena, text);
  }
  auto is_same = [](const Value& a, const Value& b) {
    return a.kind() == b.kind() && a.items().data() == b.items().data() && a.members().data() == b.members().data();
  };
  std::optional<object::ListBuilder> items;
  std::optional<object::ObjectBuilder> object;
  for (size_t i = 0; i < value.size(); ++i) {
    const bool list = value.IsList();
    const Value& part = list ? value.items()[i] : value.members()[i].value;
    if (!part.IsBytes() && part.empty()) continue;
    Value text = WithTextForOctets(arena, part);
    if (is_same(text, part)) continue;
    if (list) {
      if (!items) items.emplace(arena, value);
      items->items()[i] = text;
    } else {
      if (!object) object.emplace(arena, value);
      object->members()[i].value = text;
    }
  }
  if (items) return items->Build();
  if (object) return object->Build();
  return value;
}

// What apply compares and merges: without managedFields, and with its kind said, as upstream's converted objects are.
// An object that does not exist yet counts as an empty one.
Value ComparableForm(Arena& arena, const FieldManagerOptions& options, const Value& object) {
  const schema::Type& type = *options.type;
  Value bare = object.IsAbsent() ? Value::EmptyObject() : WithoutManagedFields(arena, type, object);
  // Custom objects are what they were in JSON but for that; by its field's index a member is found without its name.
  Value form = type.structural ? WithTextForOctets(arena, bare) : schema::ToJsonForm(arena, type, bare);
  // A stored object says the version it is stored in.
  if (form.Get("apiVersion").AsString() == options.kind.ApiVersion()) return form;
  object::ObjectBuilder named(arena, form);
  named.Set("apiVersion", Value::String(arena, options.kind.ApiVersion()));
  named.Set("kind", Value::StringRef(options.kind.kind));
  return named.Build();
}

// What applying takes, put together once.
class ApplyRequest {
 public:
  ApplyRequest(Arena& arena, const FieldManager& manager, const Value& live, const Value& config, std::string_view name,
               WallTime now)
      : arena_(arena), manager_(manager), options_(manager.options()), now_(TimeText(arena, now)) {
    live_ = ComparableForm(arena, options_, live);
    config_ = internal::WithFieldIndexes(arena, *options_.type, config);
    applier_ = Entry(OrUnknown(arena, name), true);
  }

  Done CheckConfig() const {
    schema::GroupVersionKind kind = KindOf(config_);
    if (kind != options_.kind) return Fail(BadRequestError("invalid object type: " + schema::KindText(kind)));
    Value list = ManagedFieldsOf(config_);
    bool entries = list.IsList();
    for (const Value& entry : list.items()) entries = entries && entry.IsObject();
    if (entries) return Fail(BadRequestError("metadata.managedFields must be nil"));
    auto fits = CheckTyped(arena_, *options_.type, config_, Duplicates::kRefused);
    if (!fits)
      return Fail(Status(
          500, "",
          "failed to create typed patch object (" + manager_.Describe(config_) + "): " + fits.error().message()));
    fits = CheckTyped(arena_, *options_.type, live_, Duplicates::kAllowed);
    if (!fits)
      return Fail(Status(
          500, "", "failed to create typed live object (" + manager_.Describe(live_) + "): " + fits.error().message()));
    return {};
  }

  // An object whose managers nobody noted must be understood before it can get one.
  Done CheckUnmanaged(const ManagedFields& managed) const {
    if (!managed.empty() || live_.empty()) return {};
    auto fits = CheckTyped(arena_, *options_.type, live_, Duplicates::kAllowed);
    if (fits) return {};
    return Fail(Status(500, "", "failed to create manager for existing fields: failed to convert new object (" + manager_.Describe(live_) +
                                    ") to smd typed: " + fits.error().message()));
  }

  // On success the entries are in `managed`; the value is absent if the object does not change.
  std::expected<Value, Refusal> Apply(ManagedFields& managed, bool force) const {
    ManagedFields entries = managed;
    if (entries.empty()) {
      // The object was made before anyone kept entries: what it has belongs to a manager of that name.
      Ownership before(arena_, options_, {});
      auto recorded =
          before.Update(ComparableForm(arena_, options_, Value()), live_, Entry(kBeforeFirstApply, false), now_);
      if (!recorded) {
        return std::unexpected(Refusal{
            Status(500, "", "failed to create manager for existing fields: " + recorded.error().message()), {}});
      }
      entries = before.managed();
    }
    Ownership ownership(arena_, options_, std::move(entries));
    auto result = ownership.Apply(live_, config_, applier_, force, now_);
    if (result) managed = ownership.managed();
    return result;
  }

  // kubectl's server-side apply wins over its client-side apply, where nothing has changed since.
  std::expected<Value, Refusal> ApplyOverLastApplied(ManagedFields& managed, const Refusal& refusal) const {
    Result<FieldSet> allowed = internal::FieldsLastApplied(arena_, options_, live_);
    if (!allowed) return std::unexpected(refusal);
    std::vector<Conflict> left;
    for (const Conflict& conflict : refusal.conflicts) {
      if (!allowed->Has(conflict.path)) left.push_back(conflict);
    }
    if (left.empty()) return Apply(managed, true);
    Status status = internal::ConflictStatus(left);
    return std::unexpected(Refusal{std::move(status), std::move(left)});
  }

 private:
  ManagedEntry Entry(std::string_view name, bool applied) const {
    return {.manager = name,
            .applied = applied,
            .api_version = arena_.Copy(options_.kind.ApiVersion()),
            .subresource = options_.subresource,
            .time = {},
            .fields = {},
            .fields_written = {},
            .written = {}};
  }

  Arena& arena_;
  const FieldManager& manager_;
  const FieldManagerOptions& options_;
  Value live_, config_;
  std::string_view now_;
  ManagedEntry applier_;
};

}  // namespace

Result<FieldManager::Applied> FieldManager::Apply(Arena& arena, const Value& live, const Value& config,
                                                  std::string_view manager, bool force, WallTime now) const {
  Result<ManagedFields> managed = ManagedFields::Read(arena, ManagedFieldsOf(live));
  if (!managed) return Fail(Status(500, "", "failed to decode managed fields: " + managed.error().message()));
  ApplyRequest request(arena, *this, live, config, manager, now);
  TRY(request.CheckUnmanaged(*managed));
  TRY(request.CheckConfig());
  bool from_kubectl = manager == internal::kLastAppliedManager;
  auto result = request.Apply(*managed, force);
  if (!result && from_kubectl && !result.error().conflicts.empty())
    result = request.ApplyOverLastApplied(*managed, result.error());
  if (!result) return Fail(result.error().status);
  bool changed = !result->IsAbsent();
  Value object = changed ? *result : live;
  if (from_kubectl) object = internal::WithLastApplied(arena, options_, object, config);
  return Applied{WithManagedFields(arena, *options_.type, object, *managed), changed};
}

namespace {

// A client that knows nothing of managed fields, or spoils them, does not delete them.
ManagedFields EntriesBefore(Arena& arena, const FieldManagerOptions& options, const Value& live, const Value& updated,
                            bool reset) {
  Value before = ManagedFieldsOf(live);
  if (options.subresource.empty()) {
    Value sent = ManagedFieldsOf(updated);
    if (reset || AsksForReset(sent)) return {};
    if (!object::Equal(sent, before)) {
      Result<ManagedFields> read = ManagedFields::Read(arena, sent);
      // What a client wrote is written anew: it may mean the same and look different.
      if (read) for (ManagedEntry& entry : read->entries()) entry.SetFields(entry.fields);
      if (read && !read->empty()) return *std::move(read);
    }
  }
  Result<ManagedFields> kept = ManagedFields::Read(arena, before);
  return kept ? *std::move(kept) : ManagedFields();
}

}  // namespace

namespace {

// Both objects without the top-level members that they have in common, in which no field can change hands. What names
// the object stays: other code looks for it.
std::pair<Value, Value> WithoutCommon(Arena& arena, const Value& live, const Value& updated) {
  std::vector<std::string_view> common;
  for (const object::Member& member : updated.members()) {
    std::string_view name = member.name();
    if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
    if (const object::Member* other = live.Find(name); other != nullptr && object::Equal(member.value, other->value)) common.push_back(name);
  }
  if (common.empty()) return {live, updated};
  object::ObjectBuilder before(arena, live), after(arena, updated);
  for (std::string_view name : common) {
    before.Erase(name);
    after.Erase(name);
  }
  return {before.Build(), after.Build()};
}

// Whether all entries are in the version at hand: to convert, whole objects are needed.
bool OfOneVersion(const ManagedFields& managed, const FieldManagerOptions& options) {
  std::string version = options.kind.ApiVersion();
  return std::ranges::all_of(managed.entries(), [&](const ManagedEntry& entry) { return entry.api_version == version; });
}

}  // namespace

Value FieldManager::Update(Arena& arena, const Value& live, const Value& updated, std::string_view manager,
                           WallTime now, bool reset, const schema::EmptyFields* empty) const {
  const schema::Type& type = *options_.type;
  ManagedFields managed = EntriesBefore(arena, options_, live, updated, reset);
  Value bare = WithoutManagedFields(arena, type, updated);
  bool exists = !live.Path({"metadata", "uid"}).AsString().empty();
  if (managed.empty() && exists) return bare;  // no entries are kept for it until it is applied
  // A kind whose objects are decoded by its type fits it anyway; others are checked whole.
  Value from = live, to = bare;
  if (!type.structural && exists && OfOneVersion(managed, options_)) std::tie(from, to) = WithoutCommon(arena, live, bare);
  Value before = ComparableForm(arena, options_, from), after = ComparableForm(arena, options_, to);
  auto fit = [&] {
    return CheckTyped(arena, type, before, Duplicates::kAllowed) && CheckTyped(arena, type, after, Duplicates::kAllowed);
  };
  // A new object of a kind that is decoded by its type can fail in the keys of items only, which the comparison meets anyway.
  bool decoded = !type.structural && !exists && managed.empty(), doubtful = false;
  if (!decoded && !fit()) return bare;
  Ownership ownership(arena, options_, std::move(managed));
  if (empty != nullptr && !empty->empty() && exists) ownership.CountAsChanged(internal::EmptiedLists(arena, type, bare, *empty));
  ManagedEntry writer{.manager = OrUnknown(arena, manager),
                      .applied = false,
                      .api_version = arena.Copy(options_.kind.ApiVersion()),
                      .subresource = options_.subresource,
                      .time = {},
                      .fields = {},
                      .fields_written = {},
                      .written = {}};
  if (!ownership.Update(before, after, writer, TimeText(arena, now), &doubtful)) return bare;
  if (decoded && doubtful && !fit()) return bare;
  ManagedFields entries = ownership.managed();
  entries.CapUpdates(arena, kMostUpdateEntries);
  return WithManagedFields(arena, type, bare, entries);
}

std::string FieldManager::Describe(const Value& object) const {
  Value metadata = object.Get("metadata");
  return std::string(metadata.Get("namespace").AsString()) + "/" + std::string(metadata.Get("name").AsString()) + "; " +
         schema::KindText(options_.kind);
}

namespace {

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

FieldFilter ResetFields(Arena& arena, std::span<const std::string_view> rules, std::string_view subresource) {
  constexpr std::string_view kOnly = "only ";
  std::vector<Path> excluded;
  std::vector<std::vector<std::string>> included;
  for (std::string_view rule : rules) {
    size_t colon = rule.find(':');
    std::string_view of = colon == std::string_view::npos ? std::string_view() : rule.substr(0, colon);
    if (of != subresource) continue;
    std::string_view paths = colon == std::string_view::npos ? rule : rule.substr(colon + 1);
    bool only = paths.starts_with(kOnly);
    if (only) paths.remove_prefix(kOnly.size());
    for (const std::string& path : SplitAt(paths, ',')) {
      std::vector<std::string> steps = SplitAt(path, '.');
      if (only) {
        included.push_back(std::move(steps));
        continue;
      }
      Path& names = excluded.emplace_back();
      for (const std::string& step : steps) names.push_back(PathElement::Field(arena.Copy(step)));
    }
  }
  if (!included.empty()) return FieldFilter::Include(std::move(included));
  return FieldFilter::Exclude(FieldSet::Of(arena, excluded));
}

}  // namespace homeostat::patch
