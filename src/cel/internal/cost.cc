// What evaluation costs: the stack of values that calls find their arguments on, and the price of each call.
#include <cmath>
#include <unordered_map>

#include "cel/internal/evaluator.h"
#include "cel/internal/named_format.h"
#include "cel/internal/source.h"

namespace homeostat::cel::internal {

namespace {

constexpr double kTraversal = 0.1;      // a unit for ten characters
constexpr double kRegexLength = 0.25;   // a unit for four characters of a pattern
constexpr uint64_t kListCreate = 10;
constexpr uint64_t kMapCreate = 30;
constexpr uint64_t kStructCreate = 40;
constexpr uint64_t kAuthorizationCheck = 350'000;

uint64_t Ceil(double value) { return static_cast<uint64_t>(std::ceil(value)); }

// What size() would count; 1 for what has no size.
uint64_t SizeOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString: return CountCodePoints(value.text());
    case ValueKind::kBytes: return value.text().size();
    case ValueKind::kList: return value.list().size();
    case ValueKind::kMap: return value.map().size();
    case ValueKind::kOpaque: return value.opaque().Size().value_or(1);
    default: return 1;
  }
}

// cel-go's own rules look into optionals, Kubernetes' do not.
uint64_t InnerSizeOf(const Value& value) {
  if (value.IsOptional() && value.optional() != nullptr) return InnerSizeOf(*value.optional());
  return SizeOf(value);
}

uint64_t Length(const Value& value, double factor = kTraversal) { return Ceil(static_cast<double>(SizeOf(value)) * factor); }
uint64_t InnerLength(const Value& value, double factor = kTraversal) {
  return Ceil(static_cast<double>(InnerSizeOf(value)) * factor);
}

// Every leaf counts 1, texts a tenth of their bytes.
uint64_t TraversalCost(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString: case ValueKind::kBytes:
      return static_cast<uint64_t>(static_cast<double>(value.text().size()) * kTraversal);
    case ValueKind::kList: {
      uint64_t cost = 0;
      for (uint64_t i = 0; i < value.list().size(); ++i) cost += TraversalCost(value.list().At(i));
      return cost;
    }
    case ValueKind::kMap: {
      uint64_t cost = 0;
      for (uint64_t i = 0; i < value.map().size(); ++i) {
        cost += TraversalCost(value.map().KeyAt(i)) + TraversalCost(value.map().ValueAt(i));
      }
      return cost;
    }
    default: return 1;
  }
}

// As Go converts: what is below zero wraps around, what is too large becomes 2^63.
uint64_t ToUint(double value) {
  if (value < 0) return static_cast<uint64_t>(static_cast<int64_t>(std::max(value, -9223372036854775808.0)));
  return value >= 18446744073709551616.0 ? uint64_t{1} << 63 : static_cast<uint64_t>(value);
}

uint64_t AllocatingListCost(double factor, uint64_t size) {
  return ToUint(static_cast<double>(size) * factor) + 1 + kListCreate;
}

uint64_t SelfCompareCost(const Value& list) {
  uint64_t size = InnerSizeOf(list);
  double factor = 2.0;
  if (size == 0 || !list.IsList()) return AllocatingListCost(factor, 0);
  Value first = list.list().At(0);
  if (first.IsString() || first.IsBytes()) factor += kTraversal;
  return AllocatingListCost(factor, size * size);
}

uint64_t SelectorCost(const Value& selector) {
  uint64_t length = SizeOf(selector);
  uint64_t requirements = Ceil(static_cast<double>(length) * 0.5);
  return kListCreate + Ceil(static_cast<double>(length) * kTraversal) +
         Ceil(static_cast<double>(requirements) * static_cast<double>(kListCreate + kStructCreate));
}

uint64_t RegexCost(uint64_t length, uint64_t pattern) {
  return Ceil((1.0 + static_cast<double>(length)) * kTraversal) * Ceil(static_cast<double>(pattern) * kRegexLength);
}

uint64_t ComparisonCost(std::span<const Value> args) {
  return Ceil(static_cast<double>(std::min(InnerSizeOf(args[0]), InnerSizeOf(args[1]))) * kTraversal);
}

CostRule RuleByFunction(std::string_view function, std::string_view overload, bool& found) {
  static const std::unordered_map<std::string_view, CostRule> rules = [] {
    std::unordered_map<std::string_view, CostRule> made = {
        {"check", CostRule::kCheck}, {"fieldSelector", CostRule::kSelector}, {"labelSelector", CostRule::kSelector},
        {"url", CostRule::kFirst}, {"lowerAscii", CostRule::kFirst}, {"upperAscii", CostRule::kFirst},
        {"substring", CostRule::kFirst}, {"trim", CostRule::kFirst}, {"jsonpatch.escapeKey", CostRule::kFirst},
        {"replace", CostRule::kFirstTwice}, {"split", CostRule::kFirstTwice}, {"join", CostRule::kResultTwice},
        {"find", CostRule::kFind}, {"findAll", CostRule::kFind}, {"cidr", CostRule::kFirst}, {"isIP", CostRule::kFirst},
        {"isCIDR", CostRule::kFirst}, {"ip", CostRule::kCidrOrIp}, {"ip.isCanonical", CostRule::kFirstTwice},
        {"quantity", CostRule::kFirst}, {"isQuantity", CostRule::kFirst}, {"semver", CostRule::kFirst},
        {"isSemver", CostRule::kFirst}, {"validate", CostRule::kValidate}, {"_==_", CostRule::kEquals}};
    for (std::string_view name : {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"}) made[name] = CostRule::kTraversal;
    for (std::string_view name :
         {"serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason", "error",
          "errored", "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
          "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat",
          "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch", "getScheme", "getHostname",
          "getHost", "getPort", "getEscapedPath", "getQuery"}) {
      made[name] = CostRule::kUnit;
    }
    return made;
  }();
  if (function == "containsIP") {
    found = true;
    return overload == "cidr_contains_ip_string" ? CostRule::kContainsIpString : CostRule::kContainsIp;
  }
  if (function == "containsCIDR") {
    found = true;
    return overload == "cidr_contains_cidr_string" ? CostRule::kContainsCidrString : CostRule::kContainsCidr;
  }
  auto rule = rules.find(function);
  found = rule != rules.end();
  if (!found) return CostRule::kUnit;
  if (rule->second == CostRule::kCidrOrIp) return overload == "cidr_ip" ? CostRule::kUnit : CostRule::kFirst;
  return rule->second;
}

CostRule RuleByOverload(std::string_view overload) {
  static const std::unordered_map<std::string_view, CostRule> rules = {
      {"list_slice", CostRule::kListOutput}, {"lists_range", CostRule::kListOutput}, {"list_reverse", CostRule::kListOutput},
      {"list_flatten", CostRule::kFlatten}, {"list_flatten_int", CostRule::kFlatten},
      {"list_distinct", CostRule::kSelfCompareFirst}, {"list_sets_contains_list", CostRule::kSets},
      {"list_sets_intersects_list", CostRule::kSets}, {"list_sets_equivalent_list", CostRule::kSetsTwice}, {"starts_with_string", CostRule::kFirstOnly},
      {"ends_with_string", CostRule::kFirstOnly}, {"string_to_bytes", CostRule::kFirstOnly},
      {"bytes_to_string", CostRule::kFirstOnly}, {"strings_quote", CostRule::kFirstOnly},
      {"string_format", CostRule::kFirstOnly}, {"in_list", CostRule::kSecondSize}, {"equals", CostRule::kCompare},
      {"not_equals", CostRule::kCompare}, {"add_string", CostRule::kSum}, {"add_bytes", CostRule::kSum},
      {"matches_string", CostRule::kMatches}, {"contains_string", CostRule::kContains}};
  if (auto rule = rules.find(overload); rule != rules.end()) return rule->second;
  if (overload.ends_with("_sort")) return CostRule::kSelfCompareFirst;
  if (overload.ends_with("_sortByAssociatedKeys")) return CostRule::kSelfCompareSecond;
  for (std::string_view front : {"less_", "less_equals_", "greater_", "greater_equals_"}) {
    if (overload.starts_with(front) && (overload.substr(front.size()) == "string" || overload.substr(front.size()) == "bytes")) {
      return CostRule::kCompare;
    }
  }
  return CostRule::kUnit;
}

}  // namespace

CostRule CostRuleFor(std::string_view function, std::string_view overload) {
  // Rules for overloads of lists come first, then Kubernetes' rules for functions, then cel-go's for overloads.
  CostRule by_overload = RuleByOverload(overload);
  switch (by_overload) {
    case CostRule::kListOutput: case CostRule::kFlatten: case CostRule::kSelfCompareFirst: case CostRule::kSelfCompareSecond:
    case CostRule::kSets: case CostRule::kSetsTwice: return by_overload;
    default: break;
  }
  bool found = false;
  CostRule by_function = RuleByFunction(function, overload, found);
  return found ? by_function : by_overload;
}

uint64_t CallCost(const Node& node, std::span<const Value> args, const Value& result) {
  switch (node.cost_rule) {
    case CostRule::kUnit: return 1;
    case CostRule::kCheck: return kAuthorizationCheck;
    case CostRule::kSelector: return args.size() >= 2 ? SelectorCost(args[1]) : 1;
    case CostRule::kTraversal: return TraversalCost(args[0]);
    case CostRule::kFirst: case CostRule::kCidrOrIp: return Length(args[0]);
    case CostRule::kFirstTwice: return Length(args[0], 2 * kTraversal);
    case CostRule::kResultTwice: return Length(result, 2 * kTraversal);
    case CostRule::kFind: return RegexCost(SizeOf(args[0]), SizeOf(args[1]));
    case CostRule::kContainsIp: return Length(args[0], 2 * kTraversal);
    case CostRule::kContainsIpString: return Length(args[0], 2 * kTraversal) + Length(args[1]);
    case CostRule::kContainsCidr: return Length(args[0], 2 * kTraversal) + Length(args[0]) + 1;
    case CostRule::kContainsCidrString: return Length(args[0], 2 * kTraversal) + Length(args[0]) + 1 + Length(args[1]);
    case CostRule::kValidate: return RegexCost(SizeOf(args[1]), FormatRegexSize(args[0]));
    case CostRule::kEquals: return args[0].IsOpaque() && args[0].opaque().UnitCostEquality() ? 1 : ComparisonCost(args);
    case CostRule::kNotEquals: case CostRule::kCompare: return ComparisonCost(args);
    case CostRule::kFirstOnly: return InnerLength(args[0]);
    case CostRule::kSecondSize: return InnerSizeOf(args[1]);
    case CostRule::kSum: return Ceil(static_cast<double>(InnerSizeOf(args[0]) + InnerSizeOf(args[1])) * kTraversal);
    case CostRule::kMatches: return RegexCost(InnerSizeOf(args[0]), InnerSizeOf(args[1]));
    case CostRule::kContains: return InnerLength(args[0]) * InnerLength(args[1]);
    case CostRule::kListOutput: return AllocatingListCost(1, InnerSizeOf(result));
    case CostRule::kFlatten: {
      double depth = args.size() == 2 && args[1].IsInt() ? static_cast<double>(args[1].AsInt()) : 1.0;
      return AllocatingListCost(depth, InnerSizeOf(args[0]));
    }
    case CostRule::kSets: return 1 + SizeOf(args[0]) * SizeOf(args[1]);
    case CostRule::kSetsTwice: return 1 + SizeOf(args[0]) * SizeOf(args[1]) * 2;
    case CostRule::kSelfCompareFirst: return SelfCompareCost(args[0]);
    case CostRule::kSelfCompareSecond: return SelfCompareCost(args[1]);
  }
  return 1;
}

void Evaluator::Charge(uint64_t cost) {
  cost_ = cost_ + cost < cost_ ? UINT64_MAX : cost_ + cost;
}

void Evaluator::ObserveQualifier(const Qualifier& qualifier, const Value& value) {
  if (stopped()) return;
  if (qualifier.counts_as_attribute) Drop(qualifier.attribute->Id());
  Charge(1);
  Push(qualifier.id, value);
}

void Evaluator::ObserveCall(const Node& node, const Value& result) {
  Value few[4];
  std::vector<Value> many;
  std::span<Value> args(few, node.args.size());
  if (node.args.size() > 4) {
    many.resize(node.args.size());
    args = many;
  }
  for (size_t n = args.size(); n-- > 0;) {
    int32_t id = IdOf(*node.args[n]);
    size_t i = stack_.size();
    while (i > 0 && stack_[i - 1].id != id) --i;
    if (i == 0) return;
    args[n] = stack_[i - 1].value;
    stack_.resize(i - 1);
  }
  // cel-go's rules for these functions take it for granted that arguments are no errors.
  bool compares = node.cost_rule == CostRule::kSelfCompareFirst || node.cost_rule == CostRule::kSelfCompareSecond;
  if (compares && !args[node.cost_rule == CostRule::kSelfCompareFirst ? 0 : 1].IsList()) {
    broken_ = "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add";
    return;
  }
  if (node.cost_rule == CostRule::kFlatten && args.size() == 2 && !args[1].IsInt()) {
    broken_ = "internal error: interface conversion: ref.Val is *types.Err, not types.Int";
    return;
  }
  Charge(CallCost(node, args, result));
}

void Evaluator::Observe(const Node& node, const Value& value) {
  switch (node.kind) {
    case NodeKind::kAttribute:
      if (node.attribute->kind == Attribute::Kind::kConditional && !node.test_only) {
        Drop(node.attribute->if_false->Id());
        Drop(node.attribute->if_true->Id());
        Drop(IdOf(*node.attribute->operand));
      } else if (node.attribute->kind == Attribute::Kind::kConditional) {
        Drop(node.attribute->if_false->Id());
        Drop(node.attribute->if_true->Id());
        Drop(IdOf(*node.attribute->operand));
        if (cost_ > 0) --cost_;
      } else {
        Drop(node.attribute->Id());
        if (!node.test_only) Charge(1);
      }
      break;
    case NodeKind::kAnd: case NodeKind::kOr:
      for (const Node* term : node.args) Drop(IdOf(*term));
      break;
    case NodeKind::kFold: Drop(IdOf(*node.args[0])); break;
    case NodeKind::kEqual: case NodeKind::kNotEqual: case NodeKind::kCall: ObserveCall(node, value); break;
    case NodeKind::kList: case NodeKind::kMap: case NodeKind::kStruct: {
      for (size_t i = node.args.size(); i-- > 0;) {
        int32_t id = IdOf(*node.args[i]);
        size_t at = stack_.size();
        while (at > 0 && stack_[at - 1].id != id) --at;
        if (at == 0) break;
        stack_.resize(at - 1);
      }
      Charge(node.kind == NodeKind::kList ? kListCreate : node.kind == NodeKind::kMap ? kMapCreate : kStructCreate);
      break;
    }
    default: break;
  }
  Push(IdOf(node), value);
}

}  // namespace homeostat::cel::internal
