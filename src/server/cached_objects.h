// CachedObjects: reading current objects of any kind straight from the cache, for rules, admission and authorization.
#pragma once

#include "cache/cache.h"
#include "homeostat/schema/defaults.h"
#include "kinds/behaviour.h"
#include "server/resources.h"

namespace homeostat::server {

class CachedObjects : public kinds::ObjectReader {
 public:
  CachedObjects(const cache::Cache& cache, const Resources& resources) : cache_(cache), resources_(resources) {}
  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns,
                          std::string_view name) const override;
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const override;

 private:
  const cache::Cache& cache_;
  const Resources& resources_;
};

// Tells the cache how the objects of every built-in resource are decoded.
// What the store's encoding leaves out (the kind of an object within another) is filled in by the defaults, which must outlive the cache.
void SetDecoders(cache::Cache& cache, const Resources& resources, const schema::Defaults& defaults);

}  // namespace homeostat::server
