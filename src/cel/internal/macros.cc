#include "cel/internal/macros.h"

namespace homeostat::cel::internal {

namespace {

constexpr std::string_view kUnused = "#unused";

bool IsAccumulatorName(std::string_view name) { return name == kAccumulator || name == "__result__"; }

class Expander {
 public:
  Expander(TreeBuilder& build, ExprPtr& target, std::vector<ExprPtr>& args, MacroError& error)
      : build_(build), target_(target), args_(args), error_(error) {}

  ExprPtr Has() {
    if (args_[0]->kind != ExprKind::kSelect) return Fail(*args_[0], "invalid argument to has() macro");
    return build_.Select(std::move(args_[0]->args[0]), args_[0]->name, true);
  }

  // all, exists, exists_one: the loop's variables are the first one or two arguments.
  ExprPtr Quantifier(std::string_view function, bool two) {
    if (!Variables(two, "argument must be a simple name")) return nullptr;
    ExprPtr predicate = std::move(args_[two ? 2 : 1]);
    if (function == "all") {
      ExprPtr init = build_.Literal(Value::Bool(true));
      ExprPtr condition = build_.Call("@not_strictly_false", build_.Accumulator());
      ExprPtr step = build_.Call("_&&_", build_.Accumulator(), std::move(predicate));
      return Loop(std::move(init), std::move(condition), std::move(step), build_.Accumulator());
    }
    if (function == "exists") {
      ExprPtr init = build_.Literal(Value::Bool(false));
      ExprPtr condition = build_.Call("@not_strictly_false", build_.Call("!_", build_.Accumulator()));
      ExprPtr step = build_.Call("_||_", build_.Accumulator(), std::move(predicate));
      return Loop(std::move(init), std::move(condition), std::move(step), build_.Accumulator());
    }
    ExprPtr init = build_.Literal(Value::Int(0));
    ExprPtr condition = build_.Literal(Value::Bool(true));
    ExprPtr more = build_.Call("_+_", build_.Accumulator(), build_.Literal(Value::Int(1)));
    ExprPtr step = build_.Call("_?_:_", std::move(predicate), std::move(more), build_.Accumulator());
    ExprPtr result = build_.Call("_==_", build_.Accumulator(), build_.Literal(Value::Int(1)));
    return Loop(std::move(init), std::move(condition), std::move(step), std::move(result));
  }

  // map, transformList: with or without a filter in front of the transformation.
  ExprPtr MapToList(bool two) {
    if (!Variables(two, two ? "argument must be a simple name" : "argument is not an identifier")) return nullptr;
    size_t first = two ? 2 : 1;
    bool filtered = args_.size() > first + 1;
    ExprPtr step = build_.Call("_+_", build_.Accumulator(), build_.List(std::move(args_.back())));
    return Collect(build_.List(), filtered ? std::move(args_[first]) : nullptr, std::move(step));
  }

  ExprPtr Filter() {
    if (!Variables(false, "argument is not an identifier")) return nullptr;
    ExprPtr step = build_.Call("_+_", build_.Accumulator(), build_.List(std::move(args_[0])));
    return Collect(build_.List(), std::move(args_[1]), std::move(step));
  }

  // transformMap keeps the keys, transformMapEntry's transformation gives a map of its own.
  ExprPtr MapToMap(bool entries) {
    if (!Variables(true, "argument must be a simple name")) return nullptr;
    ExprPtr filter = args_.size() == 4 ? std::move(args_[2]) : nullptr;
    ExprPtr step = entries ? build_.Call("cel.@mapInsert", build_.Accumulator(), std::move(args_.back()))
                           : build_.Call("cel.@mapInsert", build_.Accumulator(), build_.Ident(variable_), std::move(args_.back()));
    return Collect(build_.New(ExprKind::kMap), std::move(filter), std::move(step));
  }

  ExprPtr OptMap(bool flat) {
    std::string_view function = flat ? "optFlatMap" : "optMap";
    if (args_[0]->kind != ExprKind::kIdent) {
      return Fail(*args_[0], std::string(function) + "() variable name must be a simple identifier");
    }
    ExprPtr value = build_.MemberCall("value", build_.Copy(*target_));
    ExprPtr mapped = Bind(args_[0]->name, std::move(value), std::move(args_[1]));
    if (!flat) mapped = build_.Call("optional.of", std::move(mapped));
    ExprPtr present = build_.MemberCall("hasValue", std::move(target_));
    return build_.Call("_?_:_", std::move(present), std::move(mapped), build_.Call("optional.none"));
  }

  ExprPtr SortBy() {
    static constexpr std::string_view kInput = "@__sortBy_input__";
    switch (target_->kind) {
      case ExprKind::kList: case ExprKind::kSelect: case ExprKind::kIdent: case ExprKind::kComprehension: case ExprKind::kCall:
        break;
      default:
        return Fail(*target_, "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
    }
    ExprPtr input = std::move(target_);
    target_ = build_.Ident(kInput);
    ExprPtr keys = MapToList(false);
    if (!keys) return nullptr;
    return Bind(kInput, std::move(input), build_.MemberCall("@sortByAssociatedKeys", build_.Ident(kInput), std::move(keys)));
  }

  // cel.bind(name, value, expression)
  ExprPtr BindMacro() {
    if (args_[0]->kind != ExprKind::kIdent) return Fail(*args_[0], "cel.bind() variable names must be simple identifiers");
    return Bind(args_[0]->name, std::move(args_[1]), std::move(args_[2]));
  }

 private:
  ExprPtr Fail(const Expr& at, std::string message) {
    error_ = {at.offset, std::move(message)};
    return nullptr;
  }

  bool Variables(bool two, std::string_view complaint) {
    for (int i = 0; i <= (two ? 1 : 0); ++i) {
      if (args_[i]->kind != ExprKind::kIdent) return Fail(*args_[i], std::string(complaint)) != nullptr;
    }
    variable_ = args_[0]->name;
    if (two) {
      variable2_ = args_[1]->name;
      if (variable_ == variable2_) return Fail(*args_[1], "duplicate variable name: " + variable_) != nullptr;
    }
    for (int i = 0; i <= (two ? 1 : 0); ++i) {
      if (IsAccumulatorName(args_[i]->name)) {
        return Fail(*args_[i], "iteration variable overwrites accumulator variable") != nullptr;
      }
    }
    return true;
  }

  ExprPtr Loop(ExprPtr init, ExprPtr condition, ExprPtr step, ExprPtr result) {
    return build_.Comprehension(std::move(target_), variable_, variable2_, kAccumulator, std::move(init), std::move(condition),
                                std::move(step), std::move(result));
  }

  ExprPtr Collect(ExprPtr init, ExprPtr filter, ExprPtr step) {
    if (filter) step = build_.Call("_?_:_", std::move(filter), std::move(step), build_.Accumulator());
    return Loop(std::move(init), build_.Literal(Value::Bool(true)), std::move(step), build_.Accumulator());
  }

  // A loop over nothing, whose accumulator is the name.
  ExprPtr Bind(std::string_view name, ExprPtr value, ExprPtr result) {
    return build_.Comprehension(build_.List(), kUnused, "", name, std::move(value), build_.Literal(Value::Bool(false)),
                                build_.Ident(name), std::move(result));
  }

  TreeBuilder& build_;
  ExprPtr& target_;
  std::vector<ExprPtr>& args_;
  MacroError& error_;
  std::string variable_;
  std::string variable2_;
};

}  // namespace

bool IsMacro(const ParserOptions& options, std::string_view function, size_t arguments, bool has_target) {
  if (!has_target) return function == "has" && arguments == 1;
  if (function == "all" || function == "exists" || function == "exists_one") {
    return arguments == 2 || (options.two_variable && arguments == 3);
  }
  if (function == "map") return arguments == 2 || arguments == 3;
  if (function == "filter") return arguments == 2;
  if (function == "optMap" || function == "optFlatMap") return options.optional_macros && arguments == 2;
  if (function == "sortBy") return options.sort_by && arguments == 2;
  if (function == "existsOne") return options.two_variable && arguments == 3;
  if (function == "transformList" || function == "transformMap" || function == "transformMapEntry") {
    return options.two_variable && (arguments == 3 || arguments == 4);
  }
  return function == "bind" && options.bind && arguments == 3;
}

ExprPtr ExpandMacro(TreeBuilder& build, std::string_view function, ExprPtr& target, std::vector<ExprPtr>& args,
                    MacroError& error) {
  Expander expand(build, target, args, error);
  if (function == "has") return expand.Has();
  if (function == "all" || function == "exists" || function == "exists_one" || function == "existsOne") {
    return expand.Quantifier(function, args.size() == 3);
  }
  if (function == "map") return expand.MapToList(false);
  if (function == "filter") return expand.Filter();
  if (function == "transformList") return expand.MapToList(true);
  if (function == "transformMap") return expand.MapToMap(false);
  if (function == "transformMapEntry") return expand.MapToMap(true);
  if (function == "optMap") return expand.OptMap(false);
  if (function == "optFlatMap") return expand.OptMap(true);
  if (function == "sortBy") return expand.SortBy();
  if (target->kind == ExprKind::kIdent && target->name == "cel") return expand.BindMacro();
  return nullptr;
}

}  // namespace homeostat::cel::internal
