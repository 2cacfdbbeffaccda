#include "controllers/node_health.h"

#include <algorithm>

namespace homeostat::controllers {

Duration NodeHealth::Observe(const std::string& node, const NodeSigns& signs, Duration age, MonotonicTime now) {
  auto [found, added] = nodes_.try_emplace(node, Entry{signs, now});
  Entry& entry = found->second;
  if (added && !signs.has_ready && signs.lease_renewed.empty()) entry.changed = now - age;
  if (!added && entry.signs != signs) entry = {signs, now};
  return now - entry.changed;
}

void NodeHealth::Reset(MonotonicTime now) {
  for (auto& [name, entry] : nodes_) entry.changed = now;
}

ZoneState JudgeZone(const ZoneCount& count, double unhealthy_share) {
  if (count.ready == 0 && count.not_ready > 0) return ZoneState::kFullDisruption;
  double share = static_cast<double>(count.not_ready) / static_cast<double>(std::max<size_t>(1, count.ready + count.not_ready));
  return count.not_ready > 2 && share >= unhealthy_share ? ZoneState::kPartialDisruption : ZoneState::kNormal;
}

double EvictionPacer::RateOf(const ZoneCount& count) const {
  if (JudgeZone(count, pace_.unhealthy_share) != ZoneState::kPartialDisruption) return pace_.rate;
  return count.ready + count.not_ready > pace_.large_zone ? pace_.reduced_rate : 0;
}

EvictionPacer::Turn EvictionPacer::Update(const std::map<std::string, ZoneCount>& zones) {
  std::erase_if(zones_, [&](const auto& zone) { return !zones.contains(zone.first); });
  bool all_lost = !zones.empty();
  for (const auto& [name, count] : zones) {
    all_lost &= JudgeZone(count, pace_.unhealthy_share) == ZoneState::kFullDisruption;
    zones_[name].rate = RateOf(count);
  }
  if (all_lost == all_lost_) return Turn::kNone;
  all_lost_ = all_lost;
  return all_lost ? Turn::kAllLost : Turn::kRegained;
}

bool EvictionPacer::Take(const std::string& name, MonotonicTime now) {
  auto found = zones_.find(name);
  if (found == zones_.end() || all_lost_) return false;
  Zone& zone = found->second;
  if (zone.at) zone.tokens = std::min(1.0, zone.tokens + std::chrono::duration<double>(now - *zone.at).count() * zone.rate);
  zone.at = now;
  if (zone.tokens < 1 || zone.rate <= 0) return false;
  zone.tokens -= 1;
  return true;
}

}  // namespace homeostat::controllers
