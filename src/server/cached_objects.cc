#include "server/cached_objects.h"

#include <set>

#include "server/object_store.h"

namespace homeostat::server {

object::DocumentPtr CachedObjects::Get(std::string_view group, std::string_view plural, std::string_view ns,
                                       std::string_view name) const {
  const Resource* resource = resources_.FindAny(group, plural);
  if (resource == nullptr) return nullptr;
  cache::EntryPtr entry = cache_.Get(StorageKey(*resource->storage, ns, name));
  if (!entry) return nullptr;
  auto document = entry->document();
  return document ? *document : nullptr;
}

std::vector<object::DocumentPtr> CachedObjects::List(std::string_view group, std::string_view plural, std::string_view ns) const {
  std::vector<object::DocumentPtr> documents;
  const Resource* resource = resources_.FindAny(group, plural);
  if (resource == nullptr) return documents;
  for (const cache::EntryPtr& entry : cache_.List(StoragePrefix(*resource->storage, ns)).entries) {
    if (auto document = entry->document()) documents.push_back(*std::move(document));
  }
  return documents;
}

namespace {

// Whether objects of the type hold whole objects, whose kind and version protobuf does not write.
bool HoldsObjects(const schema::Type& type, bool is_root, std::set<const schema::Type*>& seen) {
  if (!seen.insert(&type).second) return false;
  if (type.element != nullptr && HoldsObjects(*type.element, false, seen)) return true;
  for (const schema::Field& field : type.fields) {
    if (field.Has(schema::kJsonOnly) && !is_root) return true;
    if (field.type != nullptr && HoldsObjects(*field.type, false, seen)) return true;
  }
  return false;
}

Result<object::DocumentPtr> WithDefaults(const schema::Defaults& defaults, const schema::Kind& kind, object::DocumentPtr decoded) {
  auto document = std::make_shared<object::Document>();
  document->arena().Keep(decoded);
  TRY_ASSIGN(object::Value root, defaults.Apply(document->arena(), *kind.type, decoded->root()));
  document->set_root(root);
  return object::DocumentPtr(std::move(document));
}

}  // namespace

void SetDecoders(cache::Cache& cache, const Resources& resources, const schema::Defaults& defaults) {
  for (const Resource* resource : resources.All()) {
    // The stored version need not be among those that are served.
    if (resource->custom || resource->storage->virtual_kind || resource->storage->storage_prefix.empty()) continue;
    std::set<const schema::Type*> seen;
    const schema::Defaults* fill = HoldsObjects(*resource->storage->type, true, seen) ? &defaults : nullptr;
    cache.SetDecoder(StoragePrefix(*resource->storage, ""),
                     [kind = resource->storage, fill](const Bytes& stored, uint64_t revision) -> Result<object::DocumentPtr> {
                       TRY_ASSIGN(object::DocumentPtr decoded, DecodeStored(*kind, stored, revision));
                       return fill == nullptr ? decoded : WithDefaults(*fill, *kind, std::move(decoded));
                     });
  }
}

}  // namespace homeostat::server
