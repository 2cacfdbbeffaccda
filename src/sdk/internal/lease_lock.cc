#include "sdk/internal/lease_lock.h"

namespace homeostat::sdk {

LeaseLock::Decision LeaseLock::Decide(const std::optional<LeaseRecord>& current, MonotonicTime now, const std::string& timestamp) {
  auto seconds = static_cast<int32_t>(std::chrono::duration_cast<std::chrono::seconds>(lease_duration_).count());
  Decision decision;
  decision.next = {identity_, seconds, timestamp, timestamp, 0};
  if (!current) {
    observed_ = {};
    decision.action = Action::kCreate;
    return decision;
  }
  if (*current != observed_) {
    observed_ = *current;
    observed_at_ = now;
  }
  if (current->holder == identity_) {
    decision.action = Action::kUpdate;
    decision.next.acquire_time = current->acquire_time;
    decision.next.transitions = current->transitions;
    return decision;
  }
  bool alive = !current->holder.empty() && now - observed_at_ < std::chrono::seconds(current->duration_seconds);
  decision.action = alive ? Action::kWait : Action::kUpdate;
  decision.next.transitions = current->transitions + 1;
  return decision;
}

LeaseRecord LeaseLock::GivenBack(const LeaseRecord& current, const std::string& timestamp) const {
  LeaseRecord next = current;
  next.holder.clear();
  next.duration_seconds = 1;
  next.acquire_time = next.renew_time = timestamp;
  return next;
}

}  // namespace homeostat::sdk
