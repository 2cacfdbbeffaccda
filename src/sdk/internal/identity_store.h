// The objects of an informer that keeps only what tells a change from a repetition: of each its key, uid and version, in one
// small block.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <memory>

#include "sdk/internal/object_store.h"

namespace homeostat::sdk {

// What it hands out of objects that were seen before are objects of metadata alone: namespace, name, uid and resourceVersion.
class IdentityStore : public LocalStore {
 public:
  void Put(object::DocumentPtr object, Changes& changes) override;
  void Remove(const std::string& key, object::DocumentPtr last, Changes& changes) override;
  void Replace(std::vector<object::DocumentPtr> list, Changes& changes) override;
  // There are none: an index needs the objects.
  void AddIndex(std::string, IndexFunction) override {}
  std::vector<object::DocumentPtr> ByIndex(std::string_view, std::string_view) const override { return {}; }

  object::DocumentPtr Get(std::string_view key) const override;
  std::vector<object::DocumentPtr> List(std::string_view ns) const override;
  size_t size() const override { return identities_.size(); }

 private:
  // Key, packed uid and version, one after the other, behind their sizes.
  class Identity {
   public:
    Identity(std::string_view key, std::string_view uid, std::string_view version);
    std::string_view key() const { return {texts(), sizes().key}; }
    std::string_view uid() const { return {texts() + sizes().key, sizes().uid}; }
    std::string_view version() const { return {texts() + sizes().key + sizes().uid, sizes().version}; }

   private:
    struct Sizes {
      uint16_t key, uid, version;
    };
    Sizes sizes() const;
    const char* texts() const { return block_.get() + sizeof(Sizes); }
    std::unique_ptr<char[]> block_;
  };
  struct Hash {
    using is_transparent = void;
    static std::string_view KeyOf(std::string_view key) { return key; }
    static std::string_view KeyOf(const Identity& identity) { return identity.key(); }
    template <class T>
    size_t operator()(const T& value) const { return absl::Hash<std::string_view>()(KeyOf(value)); }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const { return Hash::KeyOf(a) == Hash::KeyOf(b); }
  };

  static object::DocumentPtr Show(const Identity& identity);

  absl::flat_hash_set<Identity, Hash, Equal> identities_;
};

}  // namespace homeostat::sdk
