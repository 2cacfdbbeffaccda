#include "scheduler/queue.h"

#include <algorithm>
#include <vector>

namespace homeostat::scheduler {
namespace {

constexpr Duration kFirstBackoff = std::chrono::seconds(1), kLongestBackoff = std::chrono::seconds(10);
constexpr Duration kLongestUnschedulable = std::chrono::minutes(5);

// Plugins whose answer depends on other nodes' pods, so that looking at the changed node alone proves nothing.
constexpr PluginSet kLookElsewhere = kPodTopologySpread | kInterPodAffinity | kVolumeBinding | kVolumeZone | kVolumeRestrictions;

bool ChangedForScheduling(const PodInfo& before, const PodInfo& after) {
  return !object::Equal(before.labels, after.labels) ||
         !object::Equal(before.pod().spec().Raw(), after.pod().spec().Raw());
}

}  // namespace

PluginSet PluginsHelpedBy(ClusterEvent event) {
  switch (event) {
    case ClusterEvent::kNodeAdded:
    case ClusterEvent::kNodeUpdated:
      return ~PluginSet{0};
    case ClusterEvent::kPodPlaced:
      return kPodTopologySpread | kInterPodAffinity;
    case ClusterEvent::kPodRemoved:
      return kNodeResourcesFit | kNodePorts | kPodTopologySpread | kInterPodAffinity | kVolumeRestrictions;
    case ClusterEvent::kVolumeChanged:
      return kVolumeBinding | kVolumeZone | kVolumeRestrictions;
    case ClusterEvent::kNamespaceChanged:
      return kInterPodAffinity;
  }
  return ~PluginSet{0};
}

SchedulingQueue::Entry* SchedulingQueue::Find(std::string_view uid) {
  auto at = entries_.find(std::string(uid));
  return at == entries_.end() ? nullptr : &at->second;
}

Duration SchedulingQueue::BackoffOf(const Entry& entry) {
  Duration wait = kFirstBackoff;
  for (int i = 1; i < entry.attempts && wait < kLongestBackoff; ++i) wait *= 2;
  return std::min(wait, kLongestBackoff);
}

void SchedulingQueue::Leave(Entry& entry) {
  switch (entry.state) {
    case QueueState::kActive:
      active_.erase(KeyOf(entry));
      break;
    case QueueState::kUnschedulable: {
      auto group = unschedulable_.find(entry.refused_by);
      group->second.erase(entry.pod->uid);
      if (group->second.empty()) unschedulable_.erase(group);
      [[fallthrough]];
    }
    case QueueState::kBackoff:
      waiting_.erase({entry.due, entry.pod->uid});
      break;
    default:
      break;
  }
  entry.state = QueueState::kAbsent;
}

void SchedulingQueue::Enter(Entry& entry, QueueState state) {
  entry.state = state;
  switch (state) {
    case QueueState::kActive:
      active_.insert(KeyOf(entry));
      break;
    case QueueState::kUnschedulable:
      unschedulable_[entry.refused_by].insert(entry.pod->uid);
      [[fallthrough]];
    case QueueState::kBackoff:
      waiting_.insert({entry.due, entry.pod->uid});
      break;
    default:
      break;
  }
}

void SchedulingQueue::TryAgain(Entry& entry, MonotonicTime now) {
  Leave(entry);
  entry.due = entry.tried + BackoffOf(entry);
  bool waits = entry.attempts > 0 && entry.due > now;
  Enter(entry, waits ? QueueState::kBackoff : QueueState::kActive);
}

void SchedulingQueue::Add(PodInfoPtr pod, MonotonicTime now) {
  if (Find(pod->uid) != nullptr) return Update(std::move(pod), now);
  Entry entry;
  entry.order = next_order_++;
  bool gated = pod->gated;
  std::string uid = pod->uid;
  entry.pod = std::move(pod);
  Entry& added = entries_.emplace(std::move(uid), std::move(entry)).first->second;
  Enter(added, gated ? QueueState::kGated : QueueState::kActive);
}

void SchedulingQueue::Update(PodInfoPtr pod, MonotonicTime now) {
  Entry* entry = Find(pod->uid);
  if (entry == nullptr) return Add(std::move(pod), now);
  bool changed = ChangedForScheduling(*entry->pod, *pod);
  QueueState state = entry->state;
  if (state == QueueState::kInFlight) {
    entry->pod = std::move(pod);
    entry->changed_in_flight = entry->changed_in_flight || changed;
    return;
  }
  Leave(*entry);
  entry->pod = std::move(pod);
  if (entry->pod->gated) return Enter(*entry, QueueState::kGated);
  if (state == QueueState::kGated) return Enter(*entry, QueueState::kActive);
  Enter(*entry, state);
  if (state == QueueState::kUnschedulable && changed) TryAgain(*entry, now);
}

void SchedulingQueue::Remove(std::string_view uid) {
  auto at = entries_.find(std::string(uid));
  if (at == entries_.end()) return;
  Leave(at->second);
  entries_.erase(at);
}

void SchedulingQueue::FlushDue(MonotonicTime now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    Entry* entry = Find(waiting_.begin()->second);
    Leave(*entry);
    Enter(*entry, QueueState::kActive);
  }
}

PodInfoPtr SchedulingQueue::Pop(MonotonicTime now) {
  FlushDue(now);
  if (active_.empty()) return nullptr;
  Entry& entry = *Find(std::get<2>(*active_.begin()));
  Leave(entry);
  Enter(entry, QueueState::kInFlight);
  ++entry.attempts;
  entry.changed_in_flight = false;
  return entry.pod;
}

void SchedulingQueue::Done(std::string_view uid) { Remove(uid); }

void SchedulingQueue::Failed(std::string_view uid, PluginSet plugins, MonotonicTime now) {
  Entry* entry = Find(uid);
  if (entry == nullptr || entry->state != QueueState::kInFlight) return;
  entry->tried = now;
  entry->refused_by = plugins;
  if (entry->changed_in_flight) return TryAgain(*entry, now);
  entry->due = now + kLongestUnschedulable;
  Enter(*entry, QueueState::kUnschedulable);
}

void SchedulingQueue::Retry(std::string_view uid, MonotonicTime now) {
  Entry* entry = Find(uid);
  if (entry == nullptr || entry->state != QueueState::kInFlight) return;
  entry->tried = now;
  entry->refused_by = 0;
  TryAgain(*entry, now);
}

void SchedulingQueue::Notify(ClusterEvent event, MonotonicTime now,
                             const std::function<bool(const PodInfo&)>& worth_it) {
  PluginSet helped = PluginsHelpedBy(event);
  std::vector<Entry*> moved;
  for (const auto& [refused_by, uids] : unschedulable_) {
    if ((refused_by & helped) == 0 && refused_by != 0) continue;
    bool decided_by_node = refused_by != 0 && (refused_by & kLookElsewhere) == 0;
    for (const std::string& uid : uids) {
      Entry* entry = Find(uid);
      if (!decided_by_node || !worth_it || worth_it(*entry->pod)) moved.push_back(entry);
    }
  }
  for (Entry* entry : moved) TryAgain(*entry, now);
}

std::optional<MonotonicTime> SchedulingQueue::NextDue() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

QueueState SchedulingQueue::StateOf(std::string_view uid) const {
  auto at = entries_.find(std::string(uid));
  return at == entries_.end() ? QueueState::kAbsent : at->second.state;
}

PodInfoPtr SchedulingQueue::Get(std::string_view uid) const {
  auto at = entries_.find(std::string(uid));
  return at == entries_.end() ? nullptr : at->second.pod;
}

}  // namespace homeostat::scheduler
