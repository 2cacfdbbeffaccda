#include "homeostat/object/jsonpath.h"

#include <algorithm>

#include "object/go_value.h"
#include "object/internal/jsonpath_step.h"

namespace homeostat::object {
namespace {

using Step = JsonPath::Step;
using Steps = std::vector<Step>;
using Values = std::vector<Value>;

// Anywhere-below within anywhere-below multiplies: no path may lead to more places than this.
constexpr size_t kMostResults = 100'000;

std::unexpected<Status> Wrong(const std::string& text) { return Fail(BadRequestError(text)); }

bool IsBasic(const Value& value) { return value.IsBool() || value.IsNumber() || value.IsString(); }

Result<bool> IsEqual(const Value& a, const Value& b) {
  if (!IsBasic(a) || !IsBasic(b)) return Wrong("invalid type for comparison");
  if (a.kind() != b.kind()) return Wrong("incompatible types for comparison");
  return Compare(a, b) == 0;
}

Result<bool> IsLess(const Value& a, const Value& b) {
  if (!IsBasic(a) || !IsBasic(b)) return Wrong("invalid type for comparison");
  if (a.kind() != b.kind()) return Wrong("incompatible types for comparison");
  if (a.IsBool()) return Wrong("invalid type for comparison");
  return Compare(a, b) < 0;
}

Result<bool> Not(Result<bool> holds) {
  if (holds) holds = !*holds;
  return holds;
}

Result<bool> Holds(std::string_view comparison, const Value& a, const Value& b) {
  if (comparison == "==") return IsEqual(a, b);
  if (comparison == "!=") return Not(IsEqual(a, b));
  if (comparison == "<") return IsLess(a, b);
  if (comparison == ">") return IsLess(b, a);
  if (comparison == "<=") return Not(IsLess(b, a));
  if (comparison == ">=") return Not(IsLess(a, b));
  return Wrong("unrecognized filter operator " + std::string(comparison));
}

void AppendChildren(const Value& value, Values& out) {
  for (const Value& item : value.items()) out.push_back(item);
  for (const Member& member : value.members()) out.push_back(member.value);
}

Result<Values> Walk(const Steps& steps, Values values);

Done TakeSlice(const Step& step, const Value& list, Values& out) {
  if (!list) return {};
  if (!list.IsList()) return Wrong(std::string(GoTypeOf(list)) + " is not array or slice");
  int64_t size = list.size();
  int64_t first = step.first.value_or(0);
  int64_t last = step.one_item ? first + 1 : step.last.value_or(size);
  if (first < 0) first += size;
  // [-1] means up to the end: its derived end is zero, as -1 + 1.
  if (last < 0 || (last == 0 && step.one_item)) last += size;
  if (first == last) return {};
  auto outside = [&](int64_t index) {
    return Wrong("array index out of bounds: index " + std::to_string(index) + ", length " + std::to_string(size));
  };
  if (first >= size || first < 0) return outside(first);
  if (last > size || last < 0) return outside(last - 1);
  if (first > last) {
    return Wrong("starting index " + std::to_string(first) + " is greater than ending index " + std::to_string(last));
  }
  int64_t stride = step.stride.value_or(1);
  if (stride <= 0) return Wrong("step must be > 0");
  for (int64_t i = first; i < last; i += std::min(stride, size)) out.push_back(list.At(static_cast<size_t>(i)));
  return {};
}

// In the order of the text, without recursion.
Done TakeBelow(const Value& value, Values& out) {
  Values open = {value};
  while (!open.empty()) {
    Value at = open.back();
    open.pop_back();
    if (at.empty() && (!at.IsString() || at.AsString().empty())) continue;
    if (out.size() >= kMostResults) return Wrong("path leads to too many places");
    out.push_back(at);
    size_t before = open.size();
    AppendChildren(at, open);
    std::reverse(open.begin() + static_cast<ptrdiff_t>(before), open.end());
  }
  return {};
}

Result<bool> Passes(const Step& step, const Value& item) {
  Result<Values> left = Walk(step.paths[0], {item});
  if (step.text == "exists") return left && !left->empty();
  if (!left) return Fail(left.error());
  if (left->empty()) return false;
  TRY_ASSIGN(Values right, Walk(step.paths[1], {item}));
  if (left->size() > 1 || right.size() > 1) return Wrong("can only compare one element at a time");
  return right.empty() ? Result<bool>(false) : Holds(step.text, left->front(), right.front());
}

Done TakeFiltered(const Step& step, const Value& list, Values& out) {
  if (!list.IsList()) return Wrong(std::string(GoTypeOf(list)) + " is not array or slice and cannot be filtered");
  for (const Value& item : list.items()) {
    TRY_ASSIGN(bool passes, Passes(step, item));
    if (passes) out.push_back(item);
  }
  return {};
}

Done TakeStep(const Step& step, const Value& value, Values& out) {
  switch (step.kind) {
    case Step::Kind::kField:
      if (const Member* member = value.Find(step.text)) out.push_back(member->value);
      return {};
    case Step::Kind::kSlice:
      return TakeSlice(step, value, out);
    case Step::Kind::kWildcard:
      AppendChildren(value, out);
      return {};
    case Step::Kind::kRecursive:
      return TakeBelow(value, out);
    case Step::Kind::kFilter:
      return TakeFiltered(step, value, out);
    case Step::Kind::kConstant:
      out.push_back(step.constant.IsAbsent() ? Value::StringRef(step.text) : step.constant);
      return {};
    case Step::Kind::kUnknown:
    case Step::Kind::kUnion:
      break;
  }
  return {};
}

Result<Values> Walk(const Steps& steps, Values values) {
  for (const Step& step : steps) {
    Values next;
    if (step.kind == Step::Kind::kUnknown) return Wrong("unrecognized identifier " + step.text);
    if (step.kind == Step::Kind::kUnion) {
      for (const Steps& path : step.paths) {
        TRY_ASSIGN(Values found, Walk(path, values));
        next.insert(next.end(), found.begin(), found.end());
      }
    } else {
      for (const Value& value : values) {
        TRY(TakeStep(step, value, next));
        if (next.size() > kMostResults) return Wrong("path leads to too many places");
      }
    }
    values = std::move(next);
  }
  return values;
}

}  // namespace

Result<JsonPath> JsonPath::Parse(std::string_view path) {
  bool braces = path.size() >= 2 && path.starts_with('{') && path.ends_with('}');
  std::string text(braces ? path.substr(1, path.size() - 2) : path);
  // People leave out the first dot, and a word at the beginning means nothing else.
  char first = text.empty() ? '\0' : text[0];
  bool word = first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  if (word && !braces) text.insert(0, ".");
  TRY_ASSIGN(Steps steps, internal::ParseJsonPathSteps(text));
  return JsonPath(std::make_shared<const Steps>(std::move(steps)));
}

Result<std::vector<Value>> JsonPath::Evaluate(const Value& root) const { return Walk(*steps_, {root}); }

bool JsonPath::IsSimple() const {
  return !steps_->empty() &&
         std::all_of(steps_->begin(), steps_->end(), [](const Step& step) { return step.kind == Step::Kind::kField; });
}

std::vector<std::string> JsonPath::Names() const {
  std::vector<std::string> names;
  for (const Step& step : *steps_) names.push_back(step.text);
  return names;
}

Result<std::vector<Value>> EvaluateJsonPath(std::string_view path, const Value& root) {
  TRY_ASSIGN(JsonPath parsed, JsonPath::Parse(path));
  return parsed.Evaluate(root);
}

}  // namespace homeostat::object
