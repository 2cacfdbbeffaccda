#include "controllers/trigger_times.h"

#include <utility>

namespace homeostat::controllers {

using api::core::v1::Pod;
using api::core::v1::Service;

namespace {

// Times of one form and zone, without fractions: they compare as texts.
void TakeEarlier(std::string& least, std::string_view time) {
  if (least.empty() || time < least) least = time;
}

std::string_view ReadinessChange(const Pod& pod) {
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "Ready") return condition.last_transition_time();
  }
  return {};
}

}  // namespace

std::string TriggerTimes::Next(const std::string& key, const Service& service, const std::vector<object::DocumentPtr>& pods) {
  auto [entry, first] = services_.try_emplace(key);
  Known now{std::string(service.metadata().creation_timestamp()), {}};
  const Known& before = entry->second;
  std::string least;
  for (const object::DocumentPtr& document : pods) {
    Pod pod(document->root());
    std::string_view time = ReadinessChange(pod);
    if (time.empty()) continue;
    auto known = before.pods.find(pod.metadata().name());
    if (known == before.pods.end() || time > known->second) TakeEarlier(least, time);
    now.pods.emplace(pod.metadata().name(), time);
  }
  if (now.created > before.created) TakeEarlier(least, now.created);
  if (first) least = now.created;
  entry->second = std::move(now);
  return least;
}

}  // namespace homeostat::controllers
