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

class ObjectStore {
 public:
  using Changes = std::vector<Change>;

  // managed_fields: whether metadata.managedFields are kept.
  explicit ObjectStore(bool managed_fields = true) : managed_fields_(managed_fields) {}

  // Takes in an object as it is now. The same version again is no change; another uid under the key is two.
  void Put(object::DocumentPtr object, Changes& changes);
  // Takes out what has that key. `last`: its final state, if known.
  void Remove(const std::string& key, object::DocumentPtr last, Changes& changes);
  // Takes in a whole list: what is not in it is gone.
  void Replace(std::vector<object::DocumentPtr> list, Changes& changes);

  void AddIndex(std::string name, IndexFunction function);

  object::DocumentPtr Get(std::string_view key) const;
  std::vector<object::DocumentPtr> List(std::string_view ns) const;   // by key
  std::vector<object::DocumentPtr> ByIndex(std::string_view index, std::string_view value) const;  // by key
  size_t size() const { return objects_.size(); }

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
