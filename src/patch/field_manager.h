// FieldManager: keeps metadata.managedFields true over every write of an object, and merges what is applied.
//
//   FieldManager manager({.kind = kind.gvk, .type = kind.type, .reset_fields = ResetFields(arena, kind.reset_fields,
//   "")}); TRY_ASSIGN(auto applied, manager.Apply(arena, live, config, "kubectl", force, runtime.WallNow()));
//
// One serves one kind in one version and one subresource; it is cheap to make and holds no state. Objects given are
// typed trees of that version; apply configurations are untyped, as they were parsed.
//
// Source of the rules: apimachinery util/managedfields, structured-merge-diff v6 merge.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/empty_fields.h"
#include "homeostat/schema/kind.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"
#include "patch/managed_fields.h"

namespace homeostat::patch {

// The other versions of a kind, which entries of managedFields may be recorded in. Where there are none, leave it
// empty.
struct VersionConverter {
  // The kind's type in that apiVersion; null if there is no such version (any more): entries in it are dropped. An error
  // fails the write that meets such an entry.
  std::function<Result<const schema::Type*>(std::string_view api_version)> find_type;
  // The object in that version. Both are in JSON form; the object given says its own version in apiVersion.
  std::function<Result<Value>(Arena& arena, const Value& object, std::string_view api_version)> convert;
};

struct FieldManagerOptions {
  schema::GroupVersionKind kind;
  const schema::Type* type = nullptr;
  std::string_view subresource;
  // Fields that a write through this subresource does not touch whatever it says, and that nobody comes to own by it. Those of
  // custom objects, but not of their subresources, are of their own version: entries recorded in others lose what the write has not got.
  FieldFilter reset_fields;
  VersionConverter versions;
};

class FieldManager {
 public:
  explicit FieldManager(FieldManagerOptions options) : options_(std::move(options)) {}

  struct Applied {
    // With its new managedFields. If nothing but those has changed, the live object's typed tree; else in JSON form, to
    // be conformed and defaulted: what then fails is reported after "failed to convert new object (ns/name; g/v,
    // Kind=K) to proper version: ".
    Value object;
    bool changed = false;
  };
  // Applies a configuration. live is absent if the object does not exist yet. Errors are as clients get them: 409 with
  // a cause for each conflict, 400 if it is not a configuration of this kind, 500 if it does not fit the type.
  Result<Applied> Apply(Arena& arena, const Value& live, const Value& config, std::string_view manager, bool force,
                        WallTime now) const;

  // The object as it is to be stored, after any other write: create (live is absent), update or patch. Managed fields
  // in `updated` replace those of live, unless they can't be read or come through a subresource. reset: the client
  // asked to drop them all with an empty list, which a typed tree can't show (see AsksForReset). empty: what came empty in
  // `updated`; null if nobody knows. Never fails: if the entries can't be kept, the object has none.
  Value Update(Arena& arena, const Value& live, const Value& updated, std::string_view manager, WallTime now,
               bool reset = false, const schema::EmptyFields* empty = nullptr) const;

  // "ns/name; group/version, Kind=kind": how messages name an object.
  std::string Describe(const Value& object) const;

  const FieldManagerOptions& options() const { return options_; }

 private:
  FieldManagerOptions options_;
};

// The filter of a kind's reset_fields for the object itself ("") or a subresource. Each of `rules` is a path for the
// object itself ("status", "metadata.labels"), or paths for a subresource ("status:spec,metadata.labels"), or the only
// paths that a subresource may touch ("resize:only spec.containers.*.resources", * being any item).
FieldFilter ResetFields(Arena& arena, std::span<const std::string_view> rules, std::string_view subresource);

}  // namespace homeostat::patch
