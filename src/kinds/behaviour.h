// Behaviour: what a schema can't say of a kind, as a handful of functions that the generic verbs call at fixed places.
//
// The order of a create: decode → defaults → managed fields → admission (changing) → may_write → prepare_create → metadata filled →
// validate_create → warnings → admission (validating) → store. Of an update: the same with prepare_update, after the generic rules
// (status or spec kept from the old object, generation) have been applied. A behaviour never decodes, patches, merges,
// encodes or stores: those are done before and after it. Objects are typed trees of the kind's storage version.
//
// Every hook may be null: the generic rule alone then holds. Hooks are pure but for what RuleContext hands them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/kind.h"
#include "kinds/allocation.h"
#include "kinds/rights.h"
#include "kinds/user.h"

namespace homeostat::kinds {

class AuditAnnotations;

// Reading other objects, as rules sometimes must (a PriorityClass, the namespace's quotas). What is read is current.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  // Null if there is none.
  virtual object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns,
                                  std::string_view name) const = 0;
  virtual std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const = 0;
};

// One write under way.
struct RuleContext {
  object::Arena& arena;            // new values go here
  const schema::Kind& kind;        // storage version
  std::string_view subresource;    // "" for the object itself
  std::string_view ns;
  const User& user;
  Runtime& runtime;                // clock and randomness
  const ObjectReader& objects;
  bool dry_run = false;
  std::vector<std::string>* warnings = nullptr;
  Claims* claims = nullptr;        // set for kinds that allocate
  const Rights* rights = nullptr;  // set for writes of clients
  std::string_view request_name = {};  // in the URL; "" for a POST to a collection
  std::string_view verb = {};          // the request's: create, update, patch
  // What came empty in the object as it was decoded; null: nobody knows.
  const schema::EmptyFields* empty_fields = nullptr;
  // The checks of metadata that upstream's kind makes among its own (metadata_checks.h); they are made after validate_update, unless
  // that calls CheckRestOfMetadata.
  std::function<void(schema::FieldErrors&)> rest_of_metadata;
  const schema::Kind* requested = nullptr;  // as the client named it: another version or group (events.k8s.io); null: as stored
  MonotonicTime deadline = MonotonicTime::max();  // when the request is given up
  AuditAnnotations* annotations = nullptr;        // null: there is no audit log
};

// Whether a list, map or byte string that is not there in the typed object came as an empty one.
inline bool CameEmpty(const RuleContext& context, std::string_view path) {
  return context.empty_fields != nullptr && context.empty_fields->Has(path);
}

inline void CheckRestOfMetadata(RuleContext& context, schema::FieldErrors& errors) {
  if (auto rest = std::exchange(context.rest_of_metadata, nullptr)) rest(errors);
}

using object::Value;
using schema::FieldErrors;

// How long an object may take to go; nullopt: it is removed at once.
struct GracefulDeletion {
  int64_t grace_period_seconds = 0;
};

struct Completion {
  std::string_view reason, message;
};

// Kinds that are marked for deletion in a way of their own: the first request sets the time and nothing else, no period and no
// generation. Those that follow are as for other kinds.
enum class FirstDeletion : uint8_t {
  kLikeOthers,
  kMarks,             // without a look at what shall become of dependents
  kMarksAndCollects,  // with one; and as long as the object is held by what is its own, further requests change nothing
};

struct Behaviour {
  std::string_view group, kind;

  // Messages of what is wrong with a name (upstream's wording, e.g. names.h); prefix: the name is a generateName. Null: DNS subdomain.
  std::vector<std::string> (*validate_name)(std::string_view name, bool prefix) = nullptr;

  // Upstream makes up no names for it: a generateName becomes the name as it is.
  bool names_as_given = false;

  // Kinds that hold what the cluster has only once (allocation.h): gives the object with what it lacked, before everything else.
  // old is absent on create. An error ends the write. Not called for subresources.
  Result<Value> (*allocate)(RuleContext&, Claims&, Value object, Value old) = nullptr;
  // Names everything that a stored object holds, so that it is known at the start and given back at the end.
  void (*holds)(Value object, const std::function<void(std::string_view pool, std::string_view thing)>& held) = nullptr;

  // Whether the writer may write an object that says this; called after admission that changes, before everything else. old is
  // absent on create.
  Result<void> (*may_write)(RuleContext&, Value object, Value old) = nullptr;
  Value (*prepare_create)(RuleContext&, Value object) = nullptr;
  // subresource tells which write it is.
  Value (*prepare_update)(RuleContext&, Value object, Value old) = nullptr;
  void (*validate_create)(RuleContext&, Value object, FieldErrors&) = nullptr;
  void (*validate_update)(RuleContext&, Value object, Value old, FieldErrors&) = nullptr;
  // Texts for Warning headers; old is absent on create.
  void (*warn)(RuleContext&, Value object, Value old) = nullptr;

  // graceful_deletion kinds: the period to grant, given what the client asked for (nullopt: nothing).
  std::optional<GracefulDeletion> (*graceful)(RuleContext&, Value object, std::optional<int64_t> requested) = nullptr;

  // Why a client may not delete the object of that name, whether there is one or not; "" if it may. Collections are not asked.
  std::string_view (*undeletable)(std::string_view name) = nullptr;

  // Said to a client whose deletion leaves dependents only because the kind's default is to; "" for nothing.
  std::string_view warning_of_orphans = {};

  // True when something of the kind's own, beside metadata.finalizers, holds a deleted object (a namespace's spec.finalizers).
  bool (*held)(Value object) = nullptr;
  FirstDeletion first_deletion = FirstDeletion::kLikeOthers;
  // What else changes with a first deletion of its own.
  Value (*mark_deleting)(RuleContext&, Value object) = nullptr;

  // The metadata that tables and partial objects show, where upstream keeps some of it elsewhere; null: all of it.
  Value (*shown_metadata)(object::Arena&, Value metadata) = nullptr;

  // The cell of a table column that names a computed `cell`; "age" is computed for every kind without asking.
  Value (*cell)(object::Arena&, std::string_view cell, Value object, WallTime now) = nullptr;

  // Set for an object that is done, as pods may be: what a table says of its row, beside the cells.
  std::optional<Completion> (*completed)(Value object) = nullptr;

  // The value of a selectable field where a path does not say it; nullopt: the path does.
  std::optional<std::string> (*selectable)(Value object, std::string_view field) = nullptr;

  // For kinds with several versions: from one version's tree to another's (of other_type), in either direction.
  Value (*convert)(object::Arena&, Value object, const schema::Kind& from, const schema::Kind& to) = nullptr;

  // A deletion whose preconditions fail is refused in the words of the store; otherwise in those that all kinds share.
  bool store_words_preconditions = false;

  // What a client is told of a field that a list can't be selected by; null: the words that most kinds have.
  std::string (*unselectable)(std::string_view label) = nullptr;

  // What an object that says nothing shows all the same, as that of a bookmark; null: nothing.
  Value (*shown_when_empty)(object::Arena&, Value object) = nullptr;
  // Upstream reads it from the store, for want of a cache.
  bool uncached = false;

  // Upstream has no printer for what /status answers.
  bool no_table_of_status = false;

  // An empty list or map in place of none is a change that raises the generation.
  bool empty_raises_generation = false;
  std::string_view filled_by_defaults = {};  // the path that is never empty, however it came
};

// The behaviour of a kind, or one with no hooks.
const Behaviour& FindBehaviour(std::string_view group, std::string_view kind);

}  // namespace homeostat::kinds
