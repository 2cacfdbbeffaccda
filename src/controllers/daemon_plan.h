// The pure rules of DaemonSets: which nodes shall have a pod, which pods shall go, how an update rolls, what the status says.
// Source: upstream's daemon controller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controllers/pods.h"
#include "homeostat/api/apps/v1_builders.h"
#include "sdk/node_selector.h"

namespace homeostat::controllers {

// Where pods of a DaemonSet may be: by node name, selector, affinity and taints.
class DaemonPlacement {
 public:
  explicit DaemonPlacement(const api::apps::v1::DaemonSet& set);
  struct Verdict {
    bool run = false;    // a pod shall be there
    bool stay = false;   // one that is there may stay
    bool operator==(const Verdict&) const = default;
  };
  Verdict Judge(const api::core::v1::Node& node) const;

 private:
  bool Tolerates(const api::core::v1::Node& node, bool no_schedule) const;

  std::string node_name_;
  object::LabelSelector selector_;
  std::optional<sdk::NodeSelector> affinity_;
  std::vector<sdk::Toleration> tolerations_;
};

// The pod of the template for that node: it tolerates what daemons tolerate and may run nowhere else. `hash`: of the revision.
object::DocumentPtr DaemonPod(const api::apps::v1::DaemonSet& set, std::string_view node, std::string_view hash);
// The node a daemon pod is on or is meant for; empty if it does not say.
std::string TargetNode(const api::core::v1::Pod& pod);

// A DaemonSet with its nodes and pods at one moment. Documents live as long as it.
struct DaemonView {
  object::DocumentPtr set;
  std::string hash;                                                      // of the current revision
  WallTime now;
  std::vector<object::DocumentPtr> nodes;
  std::map<std::string, std::vector<object::DocumentPtr>> pods;          // by node; without those that ended and are being deleted
  std::map<std::string, DaemonPlacement::Verdict> verdicts;              // by node

  api::apps::v1::DaemonSet Set() const { return api::apps::v1::DaemonSet(set->root()); }
  const std::vector<object::DocumentPtr>& PodsOn(const std::string& node) const;
  bool ShouldRun(const std::string& node) const;
};
DaemonView MakeDaemonView(object::DocumentPtr set, std::string hash, std::vector<object::DocumentPtr> nodes,
                          const std::vector<object::DocumentPtr>& pods, WallTime now);

struct DaemonChanges {
  std::vector<std::string> create_on;                                    // nodes
  std::vector<object::DocumentPtr> remove;
  // To be removed as well, in their own time or with an event.
  std::vector<std::pair<std::string, object::DocumentPtr>> failed;       // with their nodes
  std::vector<object::DocumentPtr> succeeded;
};
// One pod, or while an update surges two, on each node that shall have one; none elsewhere.
DaemonChanges PlaceDaemons(const DaemonView& view);
// The next step of a rolling update.
DaemonChanges RollDaemons(const DaemonView& view);

struct DaemonCounts {
  int32_t desired = 0, current = 0, misscheduled = 0, ready = 0, updated = 0, available = 0;
  bool operator==(const DaemonCounts&) const = default;
};
DaemonCounts CountDaemons(const DaemonView& view);
// The set with that status; the same document if it has it. `observed`: its newest generation has been acted on.
object::DocumentPtr WithDaemonStatus(const object::DocumentPtr& set, const DaemonCounts& counts, bool observed);

}  // namespace homeostat::controllers
