#include "server/cached_objects.h"

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

void SetDecoders(cache::Cache& cache, const Resources& resources) {
  for (const Resource* resource : resources.All()) {
    // The stored version need not be among those that are served.
    if (resource->custom || resource->storage->virtual_kind || resource->storage->storage_prefix.empty()) continue;
    cache.SetDecoder(StoragePrefix(*resource->storage, ""),
                     [kind = resource->storage](const Bytes& stored, uint64_t revision) {
                       return DecodeStored(*kind, stored, revision);
                     });
  }
}

}  // namespace homeostat::server
