// Definition: one CustomResourceDefinition as the server serves it: a schema::Kind for each of its versions. Names, columns
// and subresources are read at once; the schemas are compiled when the first request, or the first stored object, needs
// them, so that a thousand definitions that nobody uses cost little.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/structural.h"
#include "server/resources.h"

namespace homeostat::server {

// Immutable but for the types of its kinds, which appear once. Kept by the resources made of it, and through them by the
// requests and watches that began while it was current.
class Definition : public KindOwner, public std::enable_shared_from_this<Definition> {
 public:
  // Reads a stored definition; runtime: of the calls to its webhook. Null if it has no accepted names or no storage version yet, so that nothing can be served.
  static std::shared_ptr<const Definition> Read(Runtime& runtime, cache::EntryPtr entry);

  void Load() const override;
  const schema::Defaults& defaults() const override { return defaults_; }
  const schema::Kind* KindIn(std::string_view version) const override;
  std::string_view fingerprint() const override { return fingerprint_; }

  // It is served no more: watches of its kinds end, and nothing is kept for their readers. Loop only.
  void Withdraw() const;

  const std::string& group() const { return group_; }
  const std::string& plural() const { return plural_; }
  // "/registry/GROUP/PLURAL/", below which its instances are stored.
  std::string storage_prefix() const { return "/registry/" + storage_prefix_ + "/"; }
  bool terminating() const { return terminating_; }
  // One for each served version, the storage version being the same object in all of them.
  std::vector<Resource> Resources() const;
  // Of the storage version, served or not: what its instances are removed through.
  Resource StorageResource() const;
  // The tree of stored bytes, whichever version they were stored in, in the storage version; as it was stored if a webhook
  // converts.
  Result<object::DocumentPtr> Decode(const Bytes& stored, uint64_t revision) const;
  // True if another stored state of it means the same to clients, so that this one can stay.
  bool SameAs(const Definition& other) const { return fingerprint_ == other.fingerprint_; }
  // The schema of a version as it stands in the definition, with the document that keeps it; absent if there is none.
  object::OwnedValue SchemaOf(std::string_view version) const;

  Definition() = default;

 private:
  struct Version {
    std::string name, openapi_name, hash;
    bool served = false, storage = false;
    mutable schema::Kind kind;
    std::vector<schema::Subresource> subresources;
    std::vector<schema::Column> columns;
    std::vector<std::string_view> selectable, reset_fields;
    std::string deprecation;
    mutable std::shared_ptr<const schema::StructuralSchema> schema;
    mutable std::unique_ptr<const schema::ObjectRules> rules;
    // The type of lists, which only documents show.
    std::string list_name, list_text;
    mutable schema::Type list, items;
    mutable std::array<schema::Field, 4> list_fields;
  };

  // A copy of a text that lives as long as this.
  std::string_view Keep(std::string_view text) { return texts_.emplace_back(text); }
  void ReadNames(const object::Value& spec, const object::Value& names);
  void ReadVersion(const object::Value& spec, const object::Value& version);
  void ReadSubresources(Version& version, const object::Value& subresources);
  void ReadColumns(Version& version, const object::Value& columns);
  void SetRules(Version& version);
  void ReadConversion(Runtime& runtime, const object::Value& conversion);
  static void MakeListType(const Version& version);
  const Version* FindVersion(std::string_view name) const;
  Resource ResourceOf(const Version& version) const;

  // Its own tree, decoded anew: it is asked for seldom. An entry would keep the cache, whose decoders keep definitions.
  object::DocumentPtr Document() const;
  static object::OwnedValue SchemaIn(const object::DocumentPtr& document, std::string_view version);

  Bytes stored_;
  uint64_t revision_ = 0;
  std::list<std::string> texts_;
  std::list<Version> versions_;
  const Version* storage_ = nullptr;
  std::string group_, plural_, uid_, fingerprint_, storage_prefix_;
  std::string_view singular_, kind_, list_kind_;
  std::vector<std::string_view> short_names_, categories_;
  bool namespaced_ = true, terminating_ = false, preserve_unknown_fields_ = false;
  std::shared_ptr<Conversion> conversion_;  // null unless a webhook converts
  schema::Defaults defaults_;
  mutable std::once_flag loaded_;
};

}  // namespace homeostat::server
