#include "cel/internal/estimator.h"

#include <cmath>
#include <unordered_map>

#include "cel/internal/estimate_math.h"
#include "cel/internal/source.h"

namespace homeostat::cel::internal {

namespace {

using Path = std::vector<std::string>;

// What is known of the sizes of a list's or map's entries.
struct EntrySize {
  TypeKind container = TypeKind::kUnspecified;
  Size key, value;
};
std::optional<EntrySize> UnionOf(const std::optional<EntrySize>& a, const std::optional<EntrySize>& b) {
  if (!a || !b) return std::nullopt;
  return EntrySize{a->container, a->key.Union(b->key), a->value.Union(b->value)};
}

struct Local {
  Path path;
  std::optional<Size> size;
  std::optional<EntrySize> entry;
};

class Estimator {
 public:
  Estimator(const Ast& ast, const CheckedTypes& types, const Environment& environment) : types_(types), env_(environment) {
    size_t size = static_cast<size_t>(ast.id_limit) + 1;
    paths_.resize(size);
    sizes_.resize(size);
    entries_.resize(size);
  }

  Size Cost(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kIdent: return Ident(expr);
      case ExprKind::kSelect: return Select(expr);
      case ExprKind::kCall: return Call(expr);
      case ExprKind::kList: return CreateList(expr);
      case ExprKind::kMap: return CreateMap(expr);
      case ExprKind::kStruct: {
        Size sum;
        for (const ExprPtr& value : expr.args) sum = sum + Cost(*value);
        return sum + Fixed(40);
      }
      case ExprKind::kComprehension: return IsBind(expr) ? Bind(expr) : Comprehension(expr);
      default: return {};
    }
  }

 private:
  // A node as the rules for calls see it: an argument, or the items of one.
  struct Node {
    Path path;
    Type type;
    const Expr* expr = nullptr;
    std::optional<Size> derived;
  };
  struct CallEstimate {
    Size cost;
    std::optional<Size> result;
  };

  const Type& TypeOf(const Expr& expr) const { return types_.TypeOf(expr); }
  std::optional<Size>& SizeSlot(const Expr& expr) { return sizes_[static_cast<size_t>(expr.id)]; }
  std::optional<EntrySize>& EntrySlot(const Expr& expr) { return entries_[static_cast<size_t>(expr.id)]; }
  Path& PathSlot(const Expr& expr) { return paths_[static_cast<size_t>(expr.id)]; }

  const Local* FindLocal(const std::string& name) const {
    auto found = locals_.find(name);
    return found == locals_.end() || found->second.empty() ? nullptr : &found->second.back();
  }

  Path PathOf(const Expr& expr) {
    if (expr.kind == ExprKind::kIdent) {
      if (const Local* local = FindLocal(expr.name)) return local->path;
    }
    return PathSlot(expr);
  }
  Path Below(const Expr& expr, std::string_view step) {
    Path path = PathOf(expr);
    path.emplace_back(step);
    return path;
  }

  // What a schema says of the place; nullopt if it says nothing.
  std::optional<Size> SizeAt(const Path& path) const {
    if (path.empty()) return std::nullopt;
    // Where there is a self, upstream looks every path up from it, whatever the path begins with.
    DeclTypePtr root = env_.FindVariableDecl("self");
    if (!root) root = env_.FindVariableDecl(path[0]);
    const DeclType* type = root.get();
    for (size_t i = 1; i < path.size() && type != nullptr; ++i) {
      if (path[i] == "@items" || path[i] == "@values") {
        type = type->element().get();
      } else if (path[i] == "@keys") {
        if (type->shape() != DeclType::Shape::kMap) return std::nullopt;
        return Size{0, static_cast<uint64_t>(type->max_key_length())};
      } else {
        const DeclType::Field* field = type->FindField(path[i]);
        type = field ? field->type.get() : type->named_entries() ? type->element().get() : nullptr;
      }
    }
    if (type == nullptr) return std::nullopt;
    return Size{0, static_cast<uint64_t>(type->max_elements())};
  }

  std::optional<Size> ComputeSize(const Expr& expr) {
    if (SizeSlot(expr)) return SizeSlot(expr);
    switch (expr.kind) {
      case ExprKind::kLiteral:
        if (expr.literal.IsString()) return Fixed(CountCodePoints(expr.literal.text()));
        return Fixed(expr.literal.IsBytes() ? expr.literal.text().size() : 1);
      case ExprKind::kList: return Fixed(expr.args.size());
      case ExprKind::kMap: return Fixed(expr.args.size() / 2);
      default: break;
    }
    if (auto size = SizeAt(PathOf(expr))) {
      SizeSlot(expr) = size;
      return size;
    }
    if (IsScalar(TypeOf(expr))) return Fixed(1);
    if (expr.kind == ExprKind::kIdent) {
      if (const Local* local = FindLocal(expr.name); local && local->size) return local->size;
    }
    return std::nullopt;
  }
  Size SizeOf(const Expr& expr) { return ComputeSize(expr).value_or(kUnknownSize); }
  static Size DerivedSize(const Node& node) { return node.derived.value_or(kUnknownSize); }
  // As Kubernetes' rules look at a node.
  Size SizeOf(const Node& node) const {
    if (node.derived) return *node.derived;
    return SizeAt(node.path).value_or(kUnknownSize);
  }

  std::optional<EntrySize> ComputeEntrySize(const Expr& expr) {
    if (EntrySlot(expr)) return EntrySlot(expr);
    if (expr.kind == ExprKind::kIdent) {
      if (const Local* local = FindLocal(expr.name); local && local->entry) return local->entry;
    }
    return std::nullopt;
  }

  static bool IsScalar(const Type& type) {
    switch (type.kind()) {
      case TypeKind::kBool: case TypeKind::kDouble: case TypeKind::kDuration: case TypeKind::kInt: case TypeKind::kTimestamp:
      case TypeKind::kUint: return true;
      default: return type.IsOptional() && IsScalar(type.parameters()[0]);
    }
  }

  Node NodeOf(const Expr& expr) {
    Node node{PathOf(expr), TypeOf(expr), &expr, ComputeSize(expr)};
    if (!node.path.empty() && (node.path[0] == kAccumulator || node.path[0] == "__result__")) node.path.clear();
    return node;
  }
  static std::optional<Node> ItemsOf(const Node& list) {
    if (list.type.parameters().empty()) return std::nullopt;
    Node items;
    items.type = list.type.parameters()[0];
    if (!list.path.empty()) {
      items.path = list.path;
      items.path.emplace_back("@items");
    }
    return items;
  }

  Size Ident(const Expr& expr) {
    const Local* local = FindLocal(expr.name);
    PathSlot(expr) = local ? local->path : Path{expr.name};
    return Fixed(1);
  }

  Size Select(const Expr& expr) {
    Size sum = Cost(*expr.args[0]);
    if (expr.test_only) return sum;
    switch (TypeOf(*expr.args[0]).kind()) {
      case TypeKind::kMap: case TypeKind::kStruct: case TypeKind::kTypeParam: sum = sum + Fixed(1); break;
      default: break;
    }
    PathSlot(expr) = Below(*expr.args[0], expr.name);
    return sum;
  }

  Size CreateList(const Expr& expr) {
    Size sum, item{expr.args.empty() ? 0 : UINT64_MAX, 0};
    for (const ExprPtr& arg : expr.args) {
      sum = sum + Cost(*arg);
      item = item.Union(SizeOf(*arg));
    }
    EntrySlot(expr) = EntrySize{TypeKind::kList, Fixed(1), item};
    return sum + Fixed(10);
  }

  Size CreateMap(const Expr& expr) {
    uint64_t least = expr.args.empty() ? 0 : UINT64_MAX;
    Size sum, key{least, 0}, value{least, 0};
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      sum = sum + Cost(*expr.args[i]) + Cost(*expr.args[i + 1]);
      key = key.Union(SizeOf(*expr.args[i]));
      value = value.Union(SizeOf(*expr.args[i + 1]));
    }
    EntrySlot(expr) = EntrySize{TypeKind::kMap, key, value};
    return sum + Fixed(30);
  }

  void PushIteration(const std::string& name, const Expr& range, bool key, bool two) {
    auto entry = ComputeEntrySize(range);
    TypeKind container = entry ? entry->container : TypeOf(range).kind();
    bool list = container == TypeKind::kList;
    Local local;
    bool use_key = two ? key : !list;
    if (entry) local.size = use_key ? entry->key : entry->value;
    std::string_view step = use_key ? (list ? "@indices" : "@keys") : (list ? "@items" : "@values");
    local.path = Below(range, step);
    locals_[name].push_back(std::move(local));
  }
  void PushLocal(const std::string& name, const Expr& expr) {
    Local local{PathOf(expr), ComputeSize(expr), ComputeEntrySize(expr)};
    locals_[name].push_back(std::move(local));
  }

  static bool IsBind(const Expr& expr) {
    const Expr& range = *expr.args[kIterRange];
    const Expr& condition = *expr.args[kLoopCondition];
    return range.kind == ExprKind::kList && range.args.empty() && condition.kind == ExprKind::kLiteral &&
           condition.literal.IsFalse() && expr.accu_var != "__result__";
  }

  Size Bind(const Expr& expr) {
    Size sum = Cost(*expr.args[kIterRange]) + Cost(*expr.args[kAccuInit]);
    PushLocal(expr.accu_var, *expr.args[kAccuInit]);
    sum = sum + Cost(*expr.args[kLoopResult]);
    locals_[expr.accu_var].pop_back();
    CopySizes(expr, *expr.args[kLoopResult]);
    return sum;
  }

  void CopySizes(const Expr& to, const Expr& from) {
    if (auto size = ComputeSize(from)) SizeSlot(to) = size;
    if (auto entry = ComputeEntrySize(from)) EntrySlot(to) = entry;
  }

  Size Comprehension(const Expr& expr) {
    const Expr& range = *expr.args[kIterRange];
    const Expr& init = *expr.args[kAccuInit];
    Size sum = Cost(range) + Cost(init);
    PushLocal(expr.accu_var, init);
    bool two = !expr.iter_var2.empty();
    PushIteration(expr.name, range, true, two);
    if (two) PushIteration(expr.iter_var2, range, false, true);
    Size loop = Cost(*expr.args[kLoopCondition]);
    Size step = Cost(*expr.args[kLoopStep]);
    locals_[expr.name].pop_back();
    if (two) locals_[expr.iter_var2].pop_back();
    sum = sum + Cost(*expr.args[kLoopResult]);
    locals_[expr.accu_var].pop_back();
    Size count = SizeOf(range);
    sum = sum + count * (step + loop);
    if (init.kind == ExprKind::kLiteral) {
      if (auto size = ComputeSize(init)) SizeSlot(expr) = size;
    } else if (init.kind == ExprKind::kList || init.kind == ExprKind::kMap) {
      SizeSlot(expr) = count;
      if (auto entry = ComputeEntrySize(*expr.args[kLoopStep])) EntrySlot(expr) = entry;
    }
    return sum;
  }

  Size Call(const Expr& expr) {
    size_t first = expr.member ? 1 : 0;
    if (expr.name == "dyn" && !expr.member) {
      Size cost = Cost(*expr.args[0]) + Fixed(1);
      CopySizes(expr, *expr.args[0]);
      return cost;
    }
    std::vector<Node> args;
    std::vector<Size> costs;
    for (size_t i = first; i < expr.args.size(); ++i) {
      costs.push_back(Cost(*expr.args[i]));
      args.push_back(NodeOf(*expr.args[i]));
    }
    Size sum;
    std::optional<Node> target;
    if (expr.member) {
      sum = Cost(*expr.args[0]);
      target = NodeOf(*expr.args[0]);
    }
    Size call{UINT64_MAX, 0};
    std::optional<Size> result;
    for (const Overload* overload : types_.overloads[static_cast<size_t>(expr.id)]) {
      CallEstimate estimate = FunctionCost(expr, overload->id, target ? &*target : nullptr, args, costs);
      call = call.Union(estimate.cost);
      if (estimate.result) result = result ? result->Union(*estimate.result) : *estimate.result;
      if (overload->id == "index_list" || overload->id == "index_map") {
        auto entry = ComputeEntrySize(*expr.args[0]);
        result = entry ? std::optional<Size>(entry->value) : std::nullopt;
        PathSlot(expr) = Below(*expr.args[0], overload->id == "index_list" ? "@items" : "@values");
      }
      if (!result) result = ComputeSize(expr);
    }
    if (result) SizeSlot(expr) = result;
    return sum + call;
  }

  CallEstimate FunctionCost(const Expr& expr, std::string_view overload, const Node* target, const std::vector<Node>& args,
                            const std::vector<Size>& costs) {
    Size arg_costs;
    for (const Size& cost : costs) arg_costs = arg_costs + cost;
    auto estimate = LibraryCost(overload, target, args);
    if (!estimate) estimate = KubernetesCost(expr.name, overload, target, args);
    if (!estimate) estimate = StandardCost(overload, target, args);
    if (estimate) return {estimate->cost + arg_costs, estimate->result};
    if (overload == "logical_or" || overload == "logical_and") return {{costs[0].min, (costs[0] + costs[1]).max}, std::nullopt};
    if (overload == "conditional") {
      Size size = DerivedSize(args[1]).Union(DerivedSize(args[2]));
      if (auto entry = UnionOf(ComputeEntrySize(*args[1].expr), ComputeEntrySize(*args[2].expr))) EntrySlot(expr) = entry;
      return {costs[0] + costs[1].Union(costs[2]), size};
    }
    if ((overload == "add_string" || overload == "add_bytes" || overload == "add_list") && args.size() == 2) {
      Size size = DerivedSize(args[0]) + DerivedSize(args[1]);
      if (auto entry = UnionOf(ComputeEntrySize(*args[0].expr), ComputeEntrySize(*args[1].expr))) EntrySlot(expr) = entry;
      return {(overload == "add_list" ? Fixed(1) : size.Times(kTraversalFactor)) + arg_costs, size};
    }
    return {Fixed(1) + arg_costs, std::nullopt};
  }

  // Functions of lists and sets of cel-go's extensions.
  std::optional<CallEstimate> LibraryCost(std::string_view overload, const Node* target, const std::vector<Node>& args) {
    auto allocating = [](double factor, Size size) { return CallEstimate{size.Times(factor) + Fixed(1) + Fixed(10), size}; };
    auto literal = [](const Node& node, uint64_t fallback) {
      if (node.expr->kind != ExprKind::kLiteral || !node.expr->literal.IsInt()) return fallback;
      return node.expr->literal.AsInt() < 0 ? uint64_t{0} : static_cast<uint64_t>(node.expr->literal.AsInt());
    };
    if (overload == "list_slice" && target && args.size() == 2) {
      return allocating(1, Fixed(literal(args[1], SizeOf(*target).max) - literal(args[0], 0)));
    }
    if (overload == "lists_range" && args.size() == 1) return allocating(1, Fixed(literal(args[0], UINT64_MAX)));
    if (overload == "list_reverse" && target) return allocating(1, SizeOf(*target));
    if ((overload == "list_flatten" || overload == "list_flatten_int") && target) {
      uint64_t depth = args.size() == 1 ? literal(args[0], UINT64_MAX) : 1;
      return allocating(static_cast<double>(depth), SizeOf(*target));
    }
    if (overload == "list_distinct" && target) return allocating(2, SizeOf(*target) * SizeOf(*target));
    bool sort = overload.ends_with("_sort"), sort_by = overload.ends_with("_sortByAssociatedKeys");
    if ((sort || sort_by) && target) {
      Size size = SizeOf(sort ? *target : args[0]);
      bool text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
      return allocating(text ? 2.0 + kTraversalFactor : 2.0, size * size);
    }
    if (overload.starts_with("list_sets_") && args.size() == 2) {
      double factor = overload == "list_sets_equivalent_list" ? 2 : 1;
      return CallEstimate{(SizeOf(args[0]) * SizeOf(args[1])).Times(factor) + Fixed(1), std::nullopt};
    }
    return std::nullopt;
  }

  std::optional<CallEstimate> StandardCost(std::string_view overload, const Node* target, const std::vector<Node>& args) {
    auto of = [](Size cost, std::optional<Size> result = std::nullopt) { return CallEstimate{cost, result}; };
    if (overload == "string_format" && target) return of(DerivedSize(*target).Times(kTraversalFactor));
    if (args.size() == 1 && !target) {
      Size size = DerivedSize(args[0]);
      if (overload == "string_to_bytes") return of(size.Times(kTraversalFactor), Size{size.min, size.max * 4});
      if (overload == "bytes_to_string") return of(size.Times(kTraversalFactor), Size{size.min / 4, size.max});
      if (overload == "strings_quote") return of(size.Times(kTraversalFactor), Size{size.min + 2, size.max * 2 + 2});
    }
    if ((overload == "starts_with_string" || overload == "ends_with_string") && args.size() == 1) {
      return of(DerivedSize(args[0]).Times(kTraversalFactor));
    }
    if (overload == "in_list" && args.size() == 2) return of(DerivedSize(args[1]).Times(1));
    if (overload == "matches_string" && target && args.size() == 1) {
      return of((DerivedSize(*target) + Fixed(1)).Times(kTraversalFactor) * DerivedSize(args[0]).Times(kRegexFactor));
    }
    if (overload == "contains_string" && target && args.size() == 1) {
      return of(DerivedSize(*target).Times(kTraversalFactor) * DerivedSize(args[0]).Times(kTraversalFactor));
    }
    if (IsComparison(overload)) {
      uint64_t max = std::min(DerivedSize(args[0]).max, DerivedSize(args[1]).max);
      return of(Size{max > 0 ? uint64_t{1} : 0, max}.Times(kTraversalFactor));
    }
    return std::nullopt;
  }

  static bool IsComparison(std::string_view overload) {
    if (overload == "equals" || overload == "not_equals") return true;
    for (std::string_view front : {"less_", "less_equals_", "greater_", "greater_equals_"}) {
      if (overload.starts_with(front) && (overload.substr(front.size()) == "string" || overload.substr(front.size()) == "bytes")) {
        return true;
      }
    }
    return false;
  }

  std::optional<CallEstimate> KubernetesCost(std::string_view function, std::string_view overload, const Node* target,
                                             const std::vector<Node>& args) {
    std::vector<Size> sizes;
    for (const Node& arg : args) sizes.push_back(SizeOf(arg));
    auto estimate = KubernetesCallCost(function, overload, target ? std::optional<Size>(SizeOf(*target)) : std::nullopt, sizes);
    if (estimate) return CallEstimate{estimate->cost, estimate->result};
    if (target && (function == "isSorted" || function == "sum" || function == "max" || function == "min" ||
                   function == "indexOf" || function == "lastIndexOf")) {
      auto items = ItemsOf(*target);
      if (!items) return CallEstimate{SizeOf(*target).Times(kTraversalFactor), std::nullopt};
      Size each = Fixed(1);
      if (items->type.kind() == TypeKind::kString || items->type.kind() == TypeKind::kBytes) {
        each = each + SizeOf(*items).Times(kTraversalFactor);
      }
      return CallEstimate{SizeOf(*target) * each, std::nullopt};
    }
    if (target && function == "split") {
      Size size = SizeOf(*target);
      uint64_t max = size.max;
      if (args.size() > 1 && args[1].expr->kind == ExprKind::kLiteral && args[1].expr->literal.IsInt()) {
        max = static_cast<uint64_t>(args[1].expr->literal.AsInt());
      }
      return CallEstimate{size.Times(2 * kTraversalFactor), Size{0, max}};
    }
    if (target && function == "join") {
      Size list = SizeOf(*target), size;
      if (auto items = ItemsOf(*target)) size = list * SizeOf(*items);
      if (!args.empty()) size = size + sizes[0] * Size{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
      return CallEstimate{size.Times(kTraversalFactor), size};
    }
    if (function == "_==_" && args.size() == 2 && args[0].type.Is(args[1].type)) return OpaqueEquality(args[0].type, args[1]);
    return std::nullopt;
  }

  static std::optional<CallEstimate> OpaqueEquality(const Type& type, const Node& right) {
    std::string_view name = type.name();
    if (type.kind() == TypeKind::kOpaque && (name == "net.IP" || name == "net.CIDR")) return CallEstimate{Fixed(1), std::nullopt};
    if (type.kind() != TypeKind::kStruct || !name.starts_with("kubernetes.")) return std::nullopt;
    if (name == "kubernetes.NamedFormat") return CallEstimate{Size{1, 64}.Times(kTraversalFactor), std::nullopt};
    if (name == "kubernetes.URL") {
      return CallEstimate{Size{1, right.derived ? right.derived->max : 1}.Times(kTraversalFactor), std::nullopt};
    }
    return CallEstimate{Fixed(1), std::nullopt};
  }

  const CheckedTypes& types_;
  const Environment& env_;
  std::vector<Path> paths_;
  std::vector<std::optional<Size>> sizes_;
  std::vector<std::optional<EntrySize>> entries_;
  std::unordered_map<std::string, std::vector<Local>> locals_;
};

}  // namespace

CostEstimate EstimateCost(const Ast& ast, const CheckedTypes& types, const Environment& environment) {
  Size cost = Estimator(ast, types, environment).Cost(*ast.root);
  return {cost.min, cost.max};
}

}  // namespace homeostat::cel::internal
