#include "cel/internal/estimate_math.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace homeostat::cel::internal {

namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

uint64_t Add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
uint64_t Multiply(uint64_t a, uint64_t b) { return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b; }
uint64_t Multiply(uint64_t a, double factor) {
  double size = static_cast<double>(a);
  if (size > 0 && factor > 0 && size > kTwoTo64 / factor) return UINT64_MAX;
  double product = std::ceil(size * factor);
  return product >= kTwoTo64 ? UINT64_MAX : static_cast<uint64_t>(product);
}

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 36> kUnitCost = {
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason", "error",
    "errored", "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
    "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat",
    "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch", "getScheme", "getHostname",
    "getHost", "getPort"};

// What does not fit becomes 2^63, as Go's conversion has it.
uint64_t CeilDivide(uint64_t a, uint64_t b) {
  double quotient = std::ceil(static_cast<double>(a) / static_cast<double>(b));
  return quotient >= kTwoTo64 ? uint64_t{1} << 63 : static_cast<uint64_t>(quotient);
}

SizedCost ReplaceCost(Size text, Size from, Size to) {
  Size count, kept;
  if (from.min == 0) {
    count.max = text.max < UINT64_MAX ? text.max + 1 : text.max;
    kept.max = text.max;
  } else if (to.max <= from.min) {
    kept.max = text.max;
  } else {
    count.max = CeilDivide(text.max, from.min);
  }
  if (from.max == 0) {
    count.min = text.min < UINT64_MAX ? text.min + 1 : text.min;
    kept.min = text.min;
  } else if (from.max <= to.min) {
    kept.min = text.min;
  } else {
    count.min = CeilDivide(text.min, from.max);
  }
  return {text.Times(2 * kTraversalFactor), count * to + kept};
}

SizedCost ContainmentCost(std::string_view overload, Size other, bool cidr) {
  constexpr Size kOctets{4, 16};
  Size cost = (kOctets + kOctets).Times(kTraversalFactor);
  if (cidr) cost = cost + kOctets.Times(kTraversalFactor) + Fixed(1);
  if (overload.ends_with("_string")) cost = cost + other.Times(kTraversalFactor);
  return {cost, std::nullopt};
}

SizedCost SelectorCost(Size selector) {
  return {Fixed(10) + selector.Times(kTraversalFactor) + selector.Times(0.5).Times(50), std::nullopt};
}

}  // namespace

Size Size::operator+(Size other) const { return {Add(min, other.min), Add(max, other.max)}; }
Size Size::operator*(Size other) const { return {Multiply(min, other.min), Multiply(max, other.max)}; }
Size Size::Times(double factor) const { return {Multiply(min, factor), Multiply(max, factor)}; }
Size Size::Union(Size other) const { return {std::min(min, other.min), std::max(max, other.max)}; }

std::optional<SizedCost> KubernetesCallCost(std::string_view function, std::string_view overload, std::optional<Size> target,
                                            std::span<const Size> args) {
  static constexpr std::string_view kTraverse[] = {"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"};
  static constexpr std::string_view kSameSize[] = {"lowerAscii", "upperAscii", "substring", "trim"};
  if (function == "check") return SizedCost{Fixed(350'000), std::nullopt};
  if (IsOneOf(function, kUnitCost) || function == "getEscapedPath" || function == "getQuery") return SizedCost{Fixed(1), std::nullopt};
  if ((function == "fieldSelector" || function == "labelSelector") && args.size() == 1) return SelectorCost(args[0]);
  if ((function == "url" || function == "jsonpatch.escapeKey") && args.size() == 1) {
    return SizedCost{args[0].Times(kTraversalFactor), args[0]};
  }
  if (IsOneOf(function, kSameSize) && target) return SizedCost{target->Times(kTraversalFactor), *target};
  if (function == "replace" && target && args.size() >= 2) return ReplaceCost(*target, args[0], args[1]);
  if ((function == "find" || function == "findAll") && target && !args.empty()) {
    return SizedCost{(*target + Fixed(1)).Times(kTraversalFactor) * args[0].Times(kRegexFactor), Size{0, target->max}};
  }
  if (function == "ip" && overload == "cidr_ip") return SizedCost{Fixed(1), std::nullopt};
  if ((IsOneOf(function, kTraverse) || function == "ip") && !args.empty()) {
    return SizedCost{args[0].Times(kTraversalFactor), std::nullopt};
  }
  if (function == "ip.isCanonical" && !args.empty()) return SizedCost{args[0].Times(2 * kTraversalFactor), std::nullopt};
  if (function == "containsIP" && !args.empty()) return ContainmentCost(overload, args[0], false);
  if (function == "containsCIDR" && !args.empty()) return ContainmentCost(overload, args[0], true);
  if (function == "validate" && !args.empty()) {
    return SizedCost{args[0].Times(kTraversalFactor).Times(128 * kRegexFactor), std::nullopt};
  }
  return std::nullopt;
}

}  // namespace homeostat::cel::internal
