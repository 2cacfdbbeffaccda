// Checks that many kinds make: names, labels, selectors, numbers, choices, paths, addresses. Each adds what is wrong to the
// errors, in upstream's words.
// Source of the rules: apimachinery's api/validation and meta/v1/validation, and pkg/apis/core/validation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/names.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"

namespace homeostat::kinds {

using object::Messages;
using object::Value;
using schema::BadValue;
using schema::FieldErrors;
using schema::FieldPath;

inline constexpr std::string_view kIsNegative = "must be greater than or equal to 0";
inline constexpr std::string_view kNotPositive = "must be greater than zero";
inline constexpr std::string_view kImmutable = "field is immutable";

// With commas between them.
std::string Joined(const Messages& messages);
// An Invalid for each message. What the value looks like in them is only worked out if there is one.
template <class Shown>
void AddInvalid(FieldErrors& errors, const FieldPath& path, const Shown& value, const Messages& messages) {
  for (const std::string& message : messages) errors.Invalid(path, value, message);
}

// Names.
void CheckDns1123Label(std::string_view value, const FieldPath& path, FieldErrors& errors);
void CheckDns1123Subdomain(std::string_view value, const FieldPath& path, FieldErrors& errors);
void CheckQualifiedName(std::string_view value, const FieldPath& path, FieldErrors& errors);
// Required where a field of text is empty.
void RequireText(const Value& object, std::string_view field, const FieldPath& path, FieldErrors& errors);

// Maps of labels, and selectors of them. Faults of a map are reported at the map.
void CheckLabels(const Value& labels, const FieldPath& path, FieldErrors& errors);
void CheckAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors);
struct SelectorRules {
  bool allow_invalid_values = false;  // an object that has such values already
};
// Absent is fine.
void CheckLabelSelector(const Value& selector, const FieldPath& path, FieldErrors& errors, SelectorRules rules = {});
bool HasInvalidLabelValue(const Value& selector);

// Numbers.
void CheckNonNegative(int64_t value, const FieldPath& path, FieldErrors& errors);
void CheckPositive(int64_t value, const FieldPath& path, FieldErrors& errors);
// The port of an IntOrString: a number from 1 to 65535 or a port's name.
void CheckPortNumberOrName(const Value& port, const FieldPath& path, FieldErrors& errors);
// An IntOrString that counts or is a percentage (rolling updates, disruption budgets): 0 or more.
void CheckPositiveIntOrPercent(const Value& value, const FieldPath& path, FieldErrors& errors);
// … and, of a percentage, at most 100.
void CheckNotMoreThanHundredPercent(const Value& value, const FieldPath& path, FieldErrors& errors);

// Choices: NotSupported unless the text is among those given, which are listed in that order.
class Choices {
 public:
  Choices(std::initializer_list<std::string_view> list) : choices_(list.begin(), list.size()) {}        // NOLINT: implicit on purpose
  template <size_t kSize>
  Choices(const std::string_view (&list)[kSize]) : choices_(list) {}                                    // NOLINT
  std::span<const std::string_view> span() const { return choices_; }

 private:
  std::span<const std::string_view> choices_;
};
bool IsOneOf(std::string_view value, Choices choices);
void CheckOneOf(std::string_view value, Choices choices, const FieldPath& path, FieldErrors& errors);
// The same, but Required if there is none.
void RequireOneOf(std::string_view value, Choices choices, const FieldPath& path, FieldErrors& errors);

// Paths of files. No part may be "..".
void CheckNoBacksteps(std::string_view file, const FieldPath& path, FieldErrors& errors);
bool HasBacksteps(std::string_view file);
// Relative as well.
void CheckDescendingPath(std::string_view file, const FieldPath& path, FieldErrors& errors);
// … and not beginning with "..", which the node keeps for itself.
void CheckLocalPath(std::string_view file, const FieldPath& path, FieldErrors& errors);
// Permission bits: 0 … 0777. Absent is fine.
void CheckMode(const Value& mode, const FieldPath& path, FieldErrors& errors);

// Addresses in fields that were once checked loosely: what an old object has is left alone.
void CheckLegacyIp(std::string_view value, const FieldPath& path, FieldErrors& errors, std::span<const std::string_view> old = {});
void CheckLegacyCidr(std::string_view value, const FieldPath& path, FieldErrors& errors, std::span<const std::string_view> old = {});

// A field of the struct, by name, compared as Kubernetes compares; structs are shown as JSON of their type.
// Whether two structs have the same in a field; where a pointer leads to it, something empty is not nothing.
bool SameField(const schema::Field& field, const Value& value, const Value& old);
BadValue ShownField(const schema::Field& field, const Value& value);  // what an absent one shows is its zero in Go
void CheckImmutableField(const schema::Type& struct_type, std::string_view field, const Value& object, const Value& old,
                         const FieldPath& path, FieldErrors& errors);

// Faults that would be found, without keeping them.
template <class Check>
bool Fails(Check check) {
  FieldErrors errors;
  check(errors);
  return !errors.empty();
}

}  // namespace homeostat::kinds
