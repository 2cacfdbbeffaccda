// Resources: how much of each resource a pod asks for or a node has, in whole numbers that are cheap to compare.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/api/core/v1.h"

namespace homeostat::scheduler {

// cpu in thousandths, all else in units (bytes). Extended resources and huge pages are kept sorted by name.
struct Resources {
  int64_t milli_cpu = 0, memory = 0, ephemeral_storage = 0;
  std::vector<std::pair<std::string, int64_t>> others;

  void Add(const Resources& more);
  void Subtract(const Resources& less);
  void RaiseTo(const Resources& least);  // the greater of both, for each resource
  int64_t Other(std::string_view name) const;
  void SetOther(std::string_view name, int64_t value);
  bool empty() const;
  bool operator==(const Resources&) const = default;
};

// A ResourceList of the API. "pods" is left out; text that is no quantity counts as nothing.
Resources ParseResources(const schema::MapView<std::string_view>& list);

struct PodRequests {
  Resources exact;
  // As LeastAllocated counts: containers that ask for no cpu or memory count as 100m and 200Mi.
  Resources non_zero;
};

// What a pod occupies: its containers and sidecars together, or an init container's peak if that is greater, and the
// overhead of its runtime class. Pod-level requests take the place of the sum. While a container is being resized the
// greater of asked and allocated counts. Source: component-helpers' resource.PodRequests.
PodRequests RequestsOf(const api::core::v1::Pod& pod);

}  // namespace homeostat::scheduler
