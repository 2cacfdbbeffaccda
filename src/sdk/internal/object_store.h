// ObjectStore: the objects of an informer by key, with indexes. A pure core: what an event or a list changes comes out as
// a list of changes, for the handlers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "homeostat/sdk/informer.h"

namespace homeostat::sdk {

// What an informer keeps of its objects.
class LocalStore {
 public:
  using Changes = std::vector<Change>;

  virtual ~LocalStore() = default;
  // Takes in an object as it is now. The same version again is no change; another uid under the key is two.
  virtual void Put(object::DocumentPtr object, Changes& changes) = 0;
  // Takes out what has that key. `last`: its final state, if known.
  virtual void Remove(const std::string& key, object::DocumentPtr last, Changes& changes) = 0;
  // Takes in a whole list: what is not in it is gone.
  virtual void Replace(std::vector<object::DocumentPtr> list, Changes& changes) = 0;

  virtual void AddIndex(std::string name, IndexFunction function) = 0;

  virtual object::DocumentPtr Get(std::string_view key) const = 0;
  virtual std::vector<object::DocumentPtr> List(std::string_view ns) const = 0;   // by key
  virtual std::vector<object::DocumentPtr> ByIndex(std::string_view index, std::string_view value) const = 0;  // by key
  virtual size_t size() const = 0;
};

// Whole objects.
class ObjectStore : public LocalStore {
 public:
  // managed_fields: whether metadata.managedFields are kept.
  explicit ObjectStore(bool managed_fields = true) : managed_fields_(managed_fields) {}

  void Put(object::DocumentPtr object, Changes& changes) override;
  void Remove(const std::string& key, object::DocumentPtr last, Changes& changes) override;
  void Replace(std::vector<object::DocumentPtr> list, Changes& changes) override;
  void AddIndex(std::string name, IndexFunction function) override;
  object::DocumentPtr Get(std::string_view key) const override;
  std::vector<object::DocumentPtr> List(std::string_view ns) const override;
  std::vector<object::DocumentPtr> ByIndex(std::string_view index, std::string_view value) const override;
  size_t size() const override { return objects_.size(); }

 private:
  using Objects = std::map<std::string, object::DocumentPtr, std::less<>>;
  struct KeyOrder {
    bool operator()(const Objects::value_type* a, const Objects::value_type* b) const { return a->first < b->first; }
  };
  using Entries = std::set<const Objects::value_type*, KeyOrder>;
  struct Index {
    std::string name;
    IndexFunction function;
    std::unordered_map<std::string, Entries> entries;
  };

  // What is kept of an object: in no more memory than it needs.
  object::DocumentPtr Kept(const object::Value& object) const;
  void Enter(const Objects::value_type& entry);
  void Leave(const Objects::value_type& entry);

  const bool managed_fields_;
  Objects objects_;
  std::vector<Index> indexes_;
};

}  // namespace homeostat::sdk
