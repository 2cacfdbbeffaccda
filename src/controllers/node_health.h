// When a node counts as lost, and how fast the pods of lost nodes may be given up. Pure.
//
// A node is believed to live while its Lease or the heartbeat of its Ready condition goes on. That is measured from when the
// change was seen here, on our own monotonic clock: the clocks of nodes may be wrong.
//
// Zones, by how many of their nodes are ready:
//
//   none is                              | full disruption     | at the normal rate; but if that is so in every zone, it is
//                                        |                     | we who are cut off, and nobody is given up
//   more than two aren't, and at least   | partial disruption  | at a lower rate in large zones, not at all in small ones
//   the threshold's share                |                     |
//   otherwise                            | normal              | at the normal rate
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "homeostat/base/runtime.h"

namespace homeostat::controllers {

// What a node shows of itself.
struct NodeSigns {
  bool has_ready = false;          // it has a Ready condition
  std::string heartbeat;           // of that condition
  std::string lease_renewed;       // renewTime of its Lease; empty without one
  bool operator==(const NodeSigns&) const = default;
};

class NodeHealth {
 public:
  // Takes in the signs as they are now, and tells for how long there has been nothing new. `age`: since the node was made,
  // which counts for one that has never shown anything.
  Duration Observe(const std::string& node, const NodeSigns& signs, Duration age, MonotonicTime now);
  void Forget(const std::string& node) { nodes_.erase(node); }
  // All count as just seen.
  void Reset(MonotonicTime now);

 private:
  struct Entry {
    NodeSigns signs;
    MonotonicTime changed;
  };
  std::unordered_map<std::string, Entry> nodes_;
};

struct EvictionPace {
  double rate = 0.1;               // nodes a second
  double reduced_rate = 0.01;
  size_t large_zone = 50;          // more nodes than this
  double unhealthy_share = 0.55;
};

enum class ZoneState { kNormal, kPartialDisruption, kFullDisruption };
struct ZoneCount {
  size_t ready = 0, not_ready = 0;
};
ZoneState JudgeZone(const ZoneCount& count, double unhealthy_share);

// Tells when the next node of a zone may be given up.
class EvictionPacer {
 public:
  explicit EvictionPacer(EvictionPace pace = {}) : pace_(pace) {}
  enum class Turn { kNone, kAllLost, kRegained };
  // Takes in how many nodes of each zone are ready now. kAllLost, kRegained: since then no zone has a ready node, or one has
  // again.
  Turn Update(const std::map<std::string, ZoneCount>& zones);
  bool all_lost() const { return all_lost_; }
  // Whether one may be given up now; if so it is counted.
  bool Take(const std::string& zone, MonotonicTime now);

 private:
  struct Zone {
    double rate = 0;
    double tokens = 1;
    std::optional<MonotonicTime> at;
  };
  double RateOf(const ZoneCount& count) const;

  EvictionPace pace_;
  std::map<std::string, Zone> zones_;
  bool all_lost_ = false;
};

}  // namespace homeostat::controllers
