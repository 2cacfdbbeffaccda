// PodControl: makes and removes pods for owners that keep a number of them, and knows what it has not seen of that yet. Events
// about the owner tell what was done. What an informer shows may be late; see expectations.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/expectations.h"
#include "controllers/finalizers.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct PodChanges {
  object::DocumentPtr owner;
  std::string key;                          // of the owner
  std::vector<object::DocumentPtr> create;  // in this order
  std::vector<object::DocumentPtr> remove;
  std::string drop_finalizer;               // taken off each pod before it is removed, if it has it
  bool empty() const { return create.empty() && remove.empty(); }
};

struct PodOutcome {
  int created = 0;
  std::vector<object::DocumentPtr> removed; // gone, or on their way
  std::optional<Status> fault;              // the first
};

// One for the owners of a kind. Loop only; everything given must outlive it, and it the tasks it gave.
class PodControl {
 public:
  PodControl(Runtime& runtime, sdk::Client client, sdk::Informer& pods, sdk::EventRecorder& events, const schema::Kind& owner_kind);

  // From now on it sees what becomes of the owners' pods. To be called before the controller watches them: what was awaited has been
  // seen before the owner is looked at.
  void Follow(const sdk::Informer& owners);
  // Whether informers show what was written for the key. Asks the server where an answer was lost or nothing was seen for long.
  Task<Result<bool>> IsUpToDate(std::string key);
  // All pods made and removed so far have been seen to come and go. (IsUpToDate may be true without.)
  bool Satisfied(const std::string& key) const { return expectations_.Satisfied(key); }
  // Makes pods in batches that double in size, and stops at the first batch with a failure; then removes.
  Task<PodOutcome> Apply(PodChanges changes);
  // What the informer shows of the key's pods may be of before a write that is not known of: the server is asked first.
  void Doubt(const std::string& key) { own_writes_.Doubt(key, pods_); }
  void Forget(const std::string& key);
  OwnWrites& own_writes() { return own_writes_; }

 private:
  void PodChanged(const std::string& key, const sdk::Change& change);
  Task<void> Create(PodChanges& changes, PodOutcome& outcome);
  Task<Result<void>> CreateOne(object::DocumentPtr owner, std::string key, object::DocumentPtr pod);
  Task<void> Remove(PodChanges& changes, PodOutcome& outcome);
  Task<Result<void>> RemoveOne(object::DocumentPtr owner, std::string key, object::DocumentPtr pod, std::string finalizer);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& pods_;
  sdk::EventRecorder& events_;
  const schema::Kind& owner_kind_;
  Expectations expectations_;
  OwnWrites own_writes_;
};

}  // namespace homeostat::controllers
