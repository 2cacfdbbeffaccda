// SchedulingQueue: pods that wait for a node. Pure; one thread.
//
//   state          enters                                        leaves
//   gated          Add with scheduling gates                     Update without gates → active
//   active         Add, Update, back-off over, event             Pop → in flight
//   in flight      Pop                                           Done; Failed → unschedulable; Retry → back-off
//   back-off       Retry; event before the time is over          time over → active (1 s, doubled each attempt, 10 s at
//   most) unschedulable  Failed                                        event that may help, or five minutes → active or
//   back-off
//
// Order in active: priority, then the time of the first Add.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "homeostat/base/runtime.h"
#include "scheduler/plugins.h"

namespace homeostat::scheduler {

// What happened in the cluster; each may help pods that certain plugins refused (PluginsHelpedBy).
enum class ClusterEvent : uint8_t {
  kNodeAdded,
  kNodeUpdated,
  kPodPlaced,      // a pod got a node, or one that has a node changed
  kPodRemoved,     // a pod left its node
  kVolumeChanged,  // claims, volumes, storage classes
  kNamespaceChanged,
};
PluginSet PluginsHelpedBy(ClusterEvent event);

enum class QueueState : uint8_t { kAbsent, kGated, kActive, kInFlight, kBackoff, kUnschedulable };

class SchedulingQueue {
 public:
  void Add(PodInfoPtr pod, MonotonicTime now);
  // The pod changed. Changes of spec or labels of an unschedulable pod let it try again.
  void Update(PodInfoPtr pod, MonotonicTime now);
  void Remove(std::string_view uid);

  // The next pod to place; it is in flight afterwards.
  PodInfoPtr Pop(MonotonicTime now);
  void Done(std::string_view uid);
  // No node for it: waits for an event that helps one of these plugins.
  void Failed(std::string_view uid, PluginSet plugins, MonotonicTime now);
  // Something went wrong on the way: tries again after the back-off.
  void Retry(std::string_view uid, MonotonicTime now);

  // Lets unschedulable pods try again which the event may help. `worth_it` may veto for pods that were refused only
  // by plugins which look at one node at a time.
  void Notify(ClusterEvent event, MonotonicTime now, const std::function<bool(const PodInfo&)>& worth_it = {});
  // When Pop or a five minute wait may next have something; nullopt: not before something is added.
  std::optional<MonotonicTime> NextDue() const;

  QueueState StateOf(std::string_view uid) const;
  PodInfoPtr Get(std::string_view uid) const;
  size_t active() const { return active_.size(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    PodInfoPtr pod;
    QueueState state = QueueState::kAbsent;
    uint64_t order = 0;
    int attempts = 0;
    PluginSet refused_by = 0;
    MonotonicTime tried, due;        // last attempt's end; end of back-off or of the five minutes
    bool changed_in_flight = false;  // an event or an update came while it was in flight
  };
  using ActiveKey = std::tuple<int64_t, uint64_t, std::string>;  // -priority, order, uid
  ActiveKey KeyOf(const Entry& entry) const {
    return {-static_cast<int64_t>(entry.pod->priority), entry.order, entry.pod->uid};
  }
  static Duration BackoffOf(const Entry& entry);
  void Leave(Entry& entry);
  void Enter(Entry& entry, QueueState state);
  // To active or, if that is not over yet, back-off.
  void TryAgain(Entry& entry, MonotonicTime now);
  void FlushDue(MonotonicTime now);
  Entry* Find(std::string_view uid);

  std::unordered_map<std::string, Entry> entries_;
  std::set<ActiveKey> active_;
  std::set<std::pair<MonotonicTime, std::string>> waiting_;   // back-off and unschedulable, by due time
  std::map<PluginSet, std::set<std::string>> unschedulable_;  // by who refused them, so that most events cost nothing
  uint64_t next_order_ = 0;
};

}  // namespace homeostat::scheduler
