// Taints of nodes, and how long pods stay with them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";

struct TaintName {
  std::string_view key, effect;
  bool operator==(const TaintName&) const = default;
};

bool HasTaint(const api::core::v1::Node& node, const TaintName& taint);
// Status of the Ready condition; empty if there is none.
std::string_view ReadyStatus(const api::core::v1::Node& node);

// What keeps new pods away, as the node's conditions and its schedulability call for it: what to add, and what to remove.
struct TaintChange {
  std::vector<TaintName> add, remove;
  bool empty() const { return add.empty() && remove.empty(); }
};
TaintChange NoScheduleChange(const api::core::v1::Node& node);
// The taints that drive pods away: as the Ready condition calls for it. `may_add`: a node may be given up now; one that has
// been already may always change its reason.
TaintChange NoExecuteChange(const api::core::v1::Node& node, bool may_add);
// The node with them added and removed. `now`: their timeAdded.
object::DocumentPtr WithTaints(const object::DocumentPtr& node, const TaintChange& change, std::string_view now);

// How long a pod stays with these taints of effect NoExecute.
struct Stay {
  bool forever = false;
  Duration time{};       // zero: not at all
};
Stay StayOf(const api::core::v1::Pod& pod, const std::vector<api::core::v1::Taint>& taints);
std::vector<api::core::v1::Taint> NoExecuteTaints(const api::core::v1::Node& node);

}  // namespace homeostat::controllers
