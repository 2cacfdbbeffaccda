// Bounds of sizes and costs, and the rules of Kubernetes' functions that need no more than the sizes of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace homeostat::cel::internal {

inline constexpr double kTraversalFactor = 0.1;
inline constexpr double kRegexFactor = 0.25;

// At least and at most; sums and products stop at the largest number.
struct Size {
  uint64_t min = 0;
  uint64_t max = 0;

  Size operator+(Size other) const;
  Size operator*(Size other) const;
  Size Times(double factor) const;  // rounded up
  Size Union(Size other) const;
};
inline constexpr Size kUnknownSize{0, UINT64_MAX};
inline constexpr Size Fixed(uint64_t size) { return {size, size}; }

struct SizedCost {
  Size cost;
  std::optional<Size> result;
};
// nullopt: the function has no such rule. target: the receiver's size, if there is one.
std::optional<SizedCost> KubernetesCallCost(std::string_view function, std::string_view overload, std::optional<Size> target,
                                            std::span<const Size> args);

}  // namespace homeostat::cel::internal
