// LeaseLock: who may lead, decided from what a Lease says and how long it has said it. A pure core; the shell reads and
// writes the Lease.
//
//   the Lease is…                              | and so                         | Decide says
//   -------------------------------------------|--------------------------------|------------
//   not there                                  | nobody leads                   | create
//   held by us                                 |                                | update (renew)
//   held by nobody                             | it was given back              | update (take over)
//   held by another, changed within its time   | they lead                      | wait
//   held by another, unchanged for longer      | they are gone                  | update (take over)
//
// "Unchanged" is measured from when we first saw it as it is, on our own monotonic clock.
#pragma once

#include <optional>
#include <string>

#include "homeostat/base/runtime.h"

namespace homeostat::sdk {

// What of a Lease matters.
struct LeaseRecord {
  std::string holder;                 // empty: given back
  int32_t duration_seconds = 0;
  std::string acquire_time, renew_time;
  int32_t transitions = 0;
  bool operator==(const LeaseRecord&) const = default;
};

class LeaseLock {
 public:
  enum class Action { kCreate, kUpdate, kWait };
  struct Decision {
    Action action = Action::kWait;
    LeaseRecord next;                 // to be written
  };

  LeaseLock(std::string identity, Duration lease_duration) : identity_(std::move(identity)), lease_duration_(lease_duration) {}

  // `current`: what the Lease says now, nullopt if there is none. `timestamp`: now, as the Lease holds it.
  Decision Decide(const std::optional<LeaseRecord>& current, MonotonicTime now, const std::string& timestamp);
  // The Lease with us no longer in it.
  LeaseRecord GivenBack(const LeaseRecord& current, const std::string& timestamp) const;
  // Who holds it, as last seen.
  const std::string& holder() const { return observed_.holder; }

 private:
  std::string identity_;
  Duration lease_duration_;
  LeaseRecord observed_;
  MonotonicTime observed_at_;
};

}  // namespace homeostat::sdk
