// InterPodAffinity: keeps pods near to or away from others, as they or the others ask.
#include <algorithm>

#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

constexpr int64_t kMaxScore = 100;
// What a pod's required affinity for another is worth when that other one is placed later.
constexpr int64_t kHardAffinityWeight = 1;

DomainCounts CountDomains(NodeTable& table, const PodMatcher& matcher, const std::string& key) {
  DomainCounts domains;
  domains.topology = &table.TopologyOf(key);
  domains.counts.assign(domains.topology->domains, 0);
  const std::vector<int32_t>& pods = table.Counts(matcher);
  for (size_t slot = 0; slot < pods.size(); ++slot) {
    int32_t domain = domains.topology->domain_of[slot];
    if (domain >= 0) domains.counts[domain] += pods[slot];
  }
  return domains;
}

// The counts of that topology, made if there are none yet.
DomainCounts& ForTopology(std::vector<DomainCounts>& all, const Topology& topology) {
  for (DomainCounts& domains : all) {
    if (domains.topology == &topology) return domains;
  }
  DomainCounts& domains = all.emplace_back();
  domains.topology = &topology;
  domains.counts.assign(topology.domains, 0);
  return domains;
}

void AddAt(NodeTable& table, std::vector<DomainCounts>& all, const std::string& key, size_t slot, int64_t by) {
  const Topology& topology = table.TopologyOf(key);
  int32_t domain = topology.domain_of[slot];
  if (domain >= 0) ForTopology(all, topology).counts[domain] += by;
}

void AddPreferences(NodeTable& table, const std::vector<AffinityTerm>& terms, int64_t sign,
                    std::vector<DomainCounts>& all) {
  for (const AffinityTerm& term : terms) {
    DomainCounts matching = CountDomains(table, term.matcher, term.topology_key);
    DomainCounts& sums = ForTopology(all, *matching.topology);
    for (size_t domain = 0; domain < matching.counts.size(); ++domain) {
      sums.counts[domain] += sign * term.weight * matching.counts[domain];
    }
  }
}

}  // namespace

void PrefilterInterPodAffinity(Cycle& cycle) {
  NodeTable& table = *cycle.table;
  const PodInfo& pod = *cycle.pod;
  for (const auto& [uid, placed] : table.anti_affinity_pods()) {
    for (const AffinityTerm& term : placed.first->anti_affinity) {
      if (table.Matches(term.matcher, pod))
        AddAt(table, cycle.existing_anti_affinity, term.topology_key, placed.second, 1);
    }
  }
  // Only pods that fit all the terms count for any of them.
  for (const AffinityTerm& term : pod.affinity) {
    cycle.affinity.push_back(CountDomains(table, pod.all_affinity, term.topology_key));
  }
  for (const AffinityTerm& term : pod.anti_affinity) {
    cycle.anti_affinity.push_back(CountDomains(table, term.matcher, term.topology_key));
  }
  cycle.affinity_matches_self = !pod.affinity.empty() && table.Matches(pod.all_affinity, pod);
}

bool FilterInterPodAffinity(const Cycle& cycle, size_t slot, Refusal& refusal) {
  bool near = true, any = false;
  for (const DomainCounts& domains : cycle.affinity) {
    if (domains.topology->domain_of[slot] < 0) return refusal.Because("node(s) didn't match pod affinity rules");
    if (domains.At(slot) <= 0) near = false;
    any = any || std::ranges::any_of(domains.counts, [](int64_t count) { return count > 0; });
  }
  if (!near && (any || !cycle.affinity_matches_self)) return refusal.Because("node(s) didn't match pod affinity rules");
  for (const DomainCounts& domains : cycle.anti_affinity) {
    if (domains.At(slot) > 0) return refusal.Because("node(s) didn't match pod anti-affinity rules", true);
  }
  for (const DomainCounts& domains : cycle.existing_anti_affinity) {
    if (domains.At(slot) > 0) return refusal.Because("node(s) didn't satisfy existing pods anti-affinity rules", true);
  }
  return true;
}

bool ScoreInterPodAffinity(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                           std::vector<int64_t>& scores) {
  NodeTable& table = *cycle.table;
  const PodInfo& pod = *cycle.pod;
  std::vector<DomainCounts> sums;
  AddPreferences(table, pod.affinity_preferences, 1, sums);
  AddPreferences(table, pod.anti_affinity_preferences, -1, sums);
  for (const auto& [uid, placed] : table.affinity_pods()) {
    const PodInfo& other = *placed.first;
    auto add = [&](const std::vector<AffinityTerm>& terms, int64_t sign, int64_t fixed) {
      for (const AffinityTerm& term : terms) {
        if (!table.Matches(term.matcher, pod)) continue;
        AddAt(table, sums, term.topology_key, placed.second, fixed != 0 ? fixed : sign * term.weight);
      }
    };
    add(other.affinity, 1, kHardAffinityWeight);
    add(other.affinity_preferences, 1, 0);
    add(other.anti_affinity_preferences, -1, 0);
  }
  if (sums.empty()) return false;
  scores.assign(slots.size(), 0);
  for (const DomainCounts& domains : sums) {
    for (size_t i = 0; i < slots.size(); ++i) scores[i] += domains.At(slots[i]);
  }
  auto [least, most] = std::ranges::minmax(scores);
  int64_t range = most - least;
  for (int64_t& score : scores) score = range == 0 ? 0 : kMaxScore * (score - least) / range;
  return true;
}

}  // namespace homeostat::scheduler
