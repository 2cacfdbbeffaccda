// Label selectors and field selectors: reading, matching, canonical writing.
//
// Source of the rules: apimachinery's labels and fields packages and meta/v1 LabelSelector; messages are theirs. Values of
// these classes are immutable after they are made; read them from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

enum class SelectorOperator {
  kIn,
  kNotIn,
  kEquals,
  kDoubleEquals,
  kNotEquals,
  kExists,
  kDoesNotExist,
  kGreaterThan,
  kLessThan
};

// One condition on labels.
struct LabelRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;

  // Checks key, operator and values; BadRequest with upstream's text.
  static Result<LabelRequirement> Make(std::string key, SelectorOperator op, std::vector<std::string> values);

  // value: what the label has, nullopt if there is no such label.
  bool Matches(std::optional<std::string_view> value) const;
  std::string ToString() const;
  bool operator==(const LabelRequirement&) const = default;
};

// A conjunction of requirements, sorted by key.
class LabelSelector {
 public:
  // Matches everything.
  LabelSelector() = default;
  static LabelSelector Everything() { return {}; }
  static LabelSelector Nothing();

  // "app=web,tier in (a,b),!old". BadRequest with upstream's text.
  static Result<LabelSelector> Parse(std::string_view text);
  // meta/v1 LabelSelector {matchLabels, matchExpressions}. Absent or null selects nothing, an empty one everything.
  static Result<LabelSelector> FromLabelSelector(const Value& selector);
  // A map of labels that must all be there, such as a Service's or a ReplicationController's selector, unchecked.
  // Absent or empty selects everything.
  static LabelSelector FromMap(const Value& labels);
  static LabelSelector FromRequirements(std::vector<LabelRequirement> requirements);

  // labels: an object of strings such as metadata.labels; absent means none.
  bool Matches(const Value& labels) const;
  // The same for labels that are kept in another form.
  bool Matches(const std::function<std::optional<std::string_view>(std::string_view key)>& look_up) const;

  bool IsEverything() const { return !nothing_ && requirements_.empty(); }
  bool IsNothing() const { return nothing_; }
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }
  // The one value that the label must have, if the selector demands one: for look-ups in an index.
  std::optional<std::string_view> RequiresExactMatch(std::string_view key) const;
  // Everything and Nothing are both "".
  std::string ToString() const;
  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<LabelRequirement> requirements_;
  bool nothing_ = false;
};

// One condition on a field: it has, or does not have, exactly that text.
struct FieldRequirement {
  std::string field;
  std::string value;
  bool equals = true;
  bool operator==(const FieldRequirement&) const = default;
};

// A conjunction, in the order of its terms' texts.
class FieldSelector {
 public:
  FieldSelector() = default;
  // "metadata.name=web,status.phase!=Running", with \, \= and \\ in values. BadRequest with upstream's text.
  static Result<FieldSelector> Parse(std::string_view text);
  static FieldSelector FromRequirements(std::vector<FieldRequirement> requirements);

  // Gives each requirement to the function, which may rename, refuse or (with both texts empty) drop it: how a resource
  // says which fields it knows.
  using Transform = std::function<Done(FieldRequirement& requirement)>;
  Result<FieldSelector> Transformed(const Transform& transform) const;

  // look_up gives a field's text, "" if it is not there.
  bool Matches(const std::function<std::string_view(std::string_view field)>& look_up) const;
  // Fields taken as paths of names from the root: strings as they are, integers and booleans as JSON writes them.
  bool Matches(const Value& root) const;

  bool IsEverything() const { return requirements_.empty(); }
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }
  std::optional<std::string_view> RequiresExactMatch(std::string_view field) const;
  std::string ToString() const;
  bool operator==(const FieldSelector&) const = default;

 private:
  std::vector<FieldRequirement> requirements_;
};

// A value as it must stand in a field selector.
std::string EscapeFieldValue(std::string_view value);

}  // namespace homeostat::object
