// Conditions of a status, as all kinds have them: one of a type, whose transition time changes only with its status.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "homeostat/base/runtime.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

// RFC 3339, as status fields hold times.
inline std::string TimeText(WallTime time) { return object::FormatTime(object::Timestamp::FromClock(time)); }

struct Condition {
  std::string type, status, reason, message;
  std::string last_update_time, last_transition_time;   // kinds without the first leave it empty
  std::string last_probe_time;                          // of the few kinds that have one
  bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

template <class List>
Conditions ReadConditions(const List& list) {
  Conditions conditions;
  for (auto item : list) {
    Condition condition{std::string(item.type()), std::string(item.status()), std::string(item.reason()), std::string(item.message()), {},
                        std::string(item.last_transition_time())};
    if constexpr (requires { item.last_update_time(); }) condition.last_update_time = item.last_update_time();
    if constexpr (requires { item.last_probe_time(); }) condition.last_probe_time = item.last_probe_time();
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

template <class StatusBuilder>
void WriteConditions(StatusBuilder& status, const Conditions& conditions) {
  status.clear_conditions();
  for (const Condition& condition : conditions) {
    auto item = status.add_conditions();
    item.set_type(condition.type).set_status(condition.status).set_reason(condition.reason).set_message(condition.message);
    item.set_last_transition_time(condition.last_transition_time);
    if constexpr (requires { item.set_last_update_time(condition.last_update_time); }) {
      item.set_last_update_time(condition.last_update_time);
    }
    if constexpr (requires { item.set_last_probe_time(condition.last_probe_time); }) item.set_last_probe_time(condition.last_probe_time);
  }
}

inline const Condition* FindCondition(const Conditions& conditions, std::string_view type) {
  auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

inline bool RemoveCondition(Conditions& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const Condition& condition) { return condition.type == type; }) > 0;
}

// Puts the condition in place of the one of its type, at the end. One with the same status and reason stays as it is, message
// and all, as in upstream's workload controllers. Says whether anything changed.
inline bool SetCondition(Conditions& conditions, Condition next) {
  const Condition* current = FindCondition(conditions, next.type);
  if (current != nullptr && current->status == next.status && current->reason == next.reason) return false;
  if (current != nullptr && current->status == next.status) next.last_transition_time = current->last_transition_time;
  RemoveCondition(conditions, next.type);
  conditions.push_back(std::move(next));
  return true;
}

}  // namespace homeostat::controllers
