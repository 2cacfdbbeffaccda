// Ownership: what a write does to the entries of managedFields, and what an apply does to the object by them.
#pragma once

#include <expected>
#include <map>
#include <string_view>

#include "patch/field_manager.h"
#include "patch/internal/conflicts.h"
#include "patch/typed_merge.h"

namespace homeostat::patch::internal {

// One write under way. Objects are in JSON form of the options' version, have passed CheckTyped and have no
// managedFields.
class Ownership {
 public:
  Ownership(Arena& arena, const FieldManagerOptions& options, ManagedFields managed)
      : arena_(arena), options_(options), managed_(std::move(managed)) {}

  // Fields of an update that count as changed, in the options' version, though the two objects look the same there.
  void CountAsChanged(FieldSet fields) { counted_ = fields; }

  // After a write that was no apply: who loses what was changed, and what the writer gets.
  // doubtful, if given: see Comparison.
  Done Update(const Value& live, const Value& updated, ManagedEntry writer, std::string_view now, bool* doubtful = nullptr);

  // The object with the configuration merged in and without what the applier no longer says and nobody else owns.
  // Absent if that is what there was.
  std::expected<Value, Refusal> Apply(const Value& live, const Value& config, ManagedEntry applier, bool force,
                                      std::string_view now);

  // The same of a new object that has these fields, of which nobody else has any.
  void Create(const FieldSet& fields, ManagedEntry writer, std::string_view now);

  const ManagedFields& managed() const { return managed_; }

 private:
  struct Versioned {
    Value object;
    std::string_view api_version;
    const schema::Type* type = nullptr;  // null: there is no such version
  };

  Versioned Own(const Value& object) const;
  // The object in another version. If there is none such, the object stays and the result's type is null.
  Result<Versioned> Convert(const Versioned& object, std::string_view api_version);
  // Null: there is no such version.
  Result<const schema::Type*> FindType(std::string_view api_version) const;

  // Entries as the types have it by now. The live object must fit every version that there is an entry in.
  Done Reconcile(const Value& live);
  Result<const Comparison*> CompareIn(std::string_view api_version, const Value& live, const Value& updated);
  // writer: whose entry is left alone; null for nobody's.
  std::expected<Comparison, Refusal> TakeOver(const Value& live, const Value& updated, const ManagedEntry* writer,
                                              bool force);
  void Lose(const std::vector<std::pair<ManagedEntry, FieldSet>>& losses);

  Result<Value> Prune(const Value& merged, const ManagedEntry& last, const ManagedEntry& applier);
  Result<Versioned> AddBackOwned(Versioned merged, Versioned pruned);
  Result<Value> AddBackNotApplied(const Versioned& merged, const Versioned& pruned, const ManagedEntry& last);
  // The fields of the object, with those on the way to them.
  FieldSet Named(const Versioned& object);
  std::map<std::string_view, FieldSet> OwnedByVersion();

  Arena& arena_;
  const FieldManagerOptions& options_;
  FieldSet counted_;
  ManagedFields managed_;
  std::map<std::string_view, Comparison> comparisons_;  // by version, of this write
  std::map<const object::Member*, FieldSet> named_;     // what Named has found, by the object's memory
};

}  // namespace homeostat::patch::internal
