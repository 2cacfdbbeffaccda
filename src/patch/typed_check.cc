#include <algorithm>

#include "object/go_value.h"
#include "patch/internal/structure.h"
#include "patch/typed_merge.h"

namespace homeostat::patch {

using object::GoNumbers;
using internal::ItemElement;
using internal::Scalar;
using internal::Structure;
using object::Member;

namespace {

// A pointer to upstream's wrapper of a value, as %v and %#v print it.
std::string Wrapped(const Value& value) { return "&{" + object::GoText(value, GoNumbers::kIntegers) + "}"; }
std::string WrappedSyntax(const Value& value) {
  return "&value.valueUnstructured{Value:" + object::GoSyntax(value, GoNumbers::kIntegers) + "}";
}

class Checker {
 public:
  Checker(Arena& arena, Duplicates duplicates) : arena_(arena), duplicates_(duplicates) {}

  // A step on the way to the value, to be printed only if there is an error.
  struct Step {
    const Step* parent;
    const PathElement* element;
  };

  void Check(const Structure& structure, const Value& value, const Step* at) {
    switch (internal::MainPart(structure.PartsFor(value))) {
      case internal::kMapPart:
        return CheckMap(structure, value, at);
      case internal::kListPart:
        return CheckList(structure, value, at);
      case internal::kScalarPart:
        return CheckScalar(structure, value, at);
    }
  }

  Done Finish() const {
    if (errors_.empty()) return {};
    if (errors_.size() == 1) return Fail(Status(500, "", errors_[0]));
    std::string text = "errors:";
    for (const std::string& error : errors_) text += "\n  " + error;
    return Fail(Status(500, "", text));
  }

 private:
  void CheckScalar(const Structure& structure, const Value& value, const Step* at) {
    if (!value) return;
    switch (structure.scalar()) {
      case Scalar::kNumeric:
        if (!value.IsNumber())
          Report(at, "expected numeric (int or float), got " +
                         std::string(object::GoTypeOf(value, GoNumbers::kIntegers)));
        return;
      case Scalar::kString:
        if (!value.IsString() && !value.IsBytes()) Report(at, "expected string, got " + WrappedSyntax(value));
        return;
      case Scalar::kBoolean:
        if (!value.IsBool()) Report(at, "expected boolean, got " + Wrapped(value));
        return;
      default:
        if (value.IsList() || value.IsObject()) Report(at, "expected any scalar, got " + Wrapped(value));
    }
  }

  void CheckMap(const Structure& structure, const Value& value, const Step* at) {
    if (!value) return;
    if (!value.IsObject()) return Report(at, "expected map, got " + Wrapped(value));
    for (const Member& member : value.members()) {
      PathElement element = PathElement::Field(member.name());
      Step step{at, &element};
      Structure child = structure.MapChild(member).structure;
      // Upstream looks no further into a map with a field it does not know.
      if (!child.declared()) return Report(&step, "field not declared in schema");
      Check(child, member.value, &step);
    }
  }

  void CheckList(const Structure& structure, const Value& value, const Step* at) {
    if (!value) return;
    if (!value.IsList()) return Report(at, "expected list, got " + Wrapped(value));
    Structure child = structure.ListElement();
    std::vector<PathElement> seen;
    for (size_t i = 0; i < value.size(); ++i) {
      PathElement element = PathElement::Index(static_cast<int64_t>(i));
      if (!structure.list_atomic()) {
        auto made = ItemElement(arena_, structure, value.items()[i]);
        if (!made) {
          Report(at, "element " + std::to_string(i) + ": " + made.error());
          break;
        }
        element = *made;
        if (duplicates_ == Duplicates::kRefused) seen.push_back(element);
      }
      Step step{at, &element};
      Check(child, value.items()[i], &step);
    }
    ReportDuplicates(seen, at);
  }

  void ReportDuplicates(const std::vector<PathElement>& seen, const Step* at) {
    if (seen.size() < 2) return;
    std::vector<size_t> order(seen.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return seen[a] < seen[b]; });
    std::vector<size_t> repeated;
    for (size_t i = 1; i < order.size(); ++i) {
      if (seen[order[i]] == seen[order[i - 1]]) repeated.push_back(order[i]);
    }
    std::sort(repeated.begin(), repeated.end());
    for (size_t index : repeated) Report(at, "duplicate entries for key " + seen[index].String());
  }

  void Report(const Step* at, const std::string& message) {
    std::string path;
    for (; at != nullptr; at = at->parent) path.insert(0, at->element->String());
    errors_.push_back(path.empty() ? message : path + ": " + message);
  }

  Arena& arena_;
  Duplicates duplicates_;
  std::vector<std::string> errors_;
};

}  // namespace

Done CheckTyped(Arena& arena, const schema::Type& type, const Value& value, Duplicates duplicates) {
  Checker checker(arena, duplicates);
  checker.Check(Structure(type), value, nullptr);
  return checker.Finish();
}

}  // namespace homeostat::patch
