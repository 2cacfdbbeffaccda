#include "scheduler/resources.h"

#include <algorithm>

#include "homeostat/object/quantity.h"

namespace homeostat::scheduler {
namespace {

using api::core::v1::Container;
using api::core::v1::Pod;

constexpr int64_t kDefaultMilliCpu = 100;
constexpr int64_t kDefaultMemory = 200 * 1024 * 1024;

auto Place(auto& others, std::string_view name) {
  return std::ranges::lower_bound(others, name, {}, [](const auto& entry) { return std::string_view(entry.first); });
}

Resources ContainerRequests(const Pod& pod, const Container& container) {
  Resources requests = ParseResources(container.resources().requests());
  for (const auto& status : pod.status().container_statuses()) {
    if (status.name() == container.name()) requests.RaiseTo(ParseResources(status.allocated_resources()));
  }
  return requests;
}

void FillDefaults(Resources& requests) {
  if (requests.milli_cpu == 0) requests.milli_cpu = kDefaultMilliCpu;
  if (requests.memory == 0) requests.memory = kDefaultMemory;
}

Resources Sum(const Pod& pod, bool non_zero) {
  auto of = [&](const Container& container) {
    Resources requests = ContainerRequests(pod, container);
    if (non_zero) FillDefaults(requests);
    return requests;
  };
  Resources total;
  for (Container container : pod.spec().containers()) total.Add(of(container));
  Resources sidecars, peak;
  for (Container container : pod.spec().init_containers()) {
    Resources requests = of(container);
    if (container.restart_policy() == "Always") {
      sidecars.Add(requests);
      peak.RaiseTo(sidecars);
    } else {
      requests.Add(sidecars);
      peak.RaiseTo(requests);
    }
  }
  total.Add(sidecars);
  total.RaiseTo(peak);
  return total;
}

// Pod-level requests stand for the resources they name.
void Override(Resources& total, const schema::MapView<std::string_view>& list) {
  Resources pod_level = ParseResources(list);
  if (list.contains("cpu")) total.milli_cpu = pod_level.milli_cpu;
  if (list.contains("memory")) total.memory = pod_level.memory;
  for (const auto& [name, value] : pod_level.others) total.SetOther(name, value);
}

}  // namespace

void Resources::Add(const Resources& more) {
  milli_cpu += more.milli_cpu;
  memory += more.memory;
  ephemeral_storage += more.ephemeral_storage;
  for (const auto& [name, value] : more.others) SetOther(name, Other(name) + value);
}

void Resources::Subtract(const Resources& less) {
  milli_cpu -= less.milli_cpu;
  memory -= less.memory;
  ephemeral_storage -= less.ephemeral_storage;
  for (const auto& [name, value] : less.others) SetOther(name, Other(name) - value);
}

void Resources::RaiseTo(const Resources& least) {
  milli_cpu = std::max(milli_cpu, least.milli_cpu);
  memory = std::max(memory, least.memory);
  ephemeral_storage = std::max(ephemeral_storage, least.ephemeral_storage);
  for (const auto& [name, value] : least.others) SetOther(name, std::max(Other(name), value));
}

int64_t Resources::Other(std::string_view name) const {
  auto at = Place(others, name);
  return at != others.end() && at->first == name ? at->second : 0;
}

void Resources::SetOther(std::string_view name, int64_t value) {
  auto at = Place(others, name);
  if (at != others.end() && at->first == name) {
    at->second = value;
  } else {
    others.emplace(at, std::string(name), value);
  }
}

bool Resources::empty() const {
  return milli_cpu == 0 && memory == 0 && ephemeral_storage == 0 &&
         std::ranges::all_of(others, [](const auto& entry) { return entry.second == 0; });
}

Resources ParseResources(const schema::MapView<std::string_view>& list) {
  Resources resources;
  for (const auto& [name, text] : list) {
    if (name == "pods") continue;
    auto quantity = object::Quantity::Parse(text);
    if (!quantity) continue;
    if (name == "cpu") {
      resources.milli_cpu = quantity->MilliValue();
    } else if (name == "memory") {
      resources.memory = quantity->Value();
    } else if (name == "ephemeral-storage") {
      resources.ephemeral_storage = quantity->Value();
    } else {
      resources.SetOther(name, quantity->Value());
    }
  }
  return resources;
}

PodRequests RequestsOf(const Pod& pod) {
  PodRequests requests{Sum(pod, false), Sum(pod, true)};
  Override(requests.exact, pod.spec().resources().requests());
  Override(requests.non_zero, pod.spec().resources().requests());
  Resources overhead = ParseResources(pod.spec().overhead());
  requests.exact.Add(overhead);
  requests.non_zero.Add(overhead);
  return requests;
}

}  // namespace homeostat::scheduler
