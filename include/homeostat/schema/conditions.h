// Conditions: what the schema of a custom resource asks of values beyond their shape: types, limits, formats, patterns,
// and the junctors over further conditions. Compiled from an OpenAPI v3 schema (structural.h), read-only afterwards.
//
// The order of checks, what is counted as a match, and the words are those of kube-openapi's validator, which upstream
// uses for custom resources: clients match the texts, and the best of several alternatives depends on the counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// A compiled regular expression. Thread-safe.
class Pattern;

struct PropertyCondition {
  std::string_view name;
  const Condition* condition;
};

// Bits of Condition::kinds.
enum KindBit : uint8_t {
  kBooleanKind = 1u << 0,
  kIntegerKind = 1u << 1,
  kNumberKind = 1u << 2,
  kStringKind = 1u << 3,
  kArrayKind = 1u << 4,
  kObjectKind = 1u << 5,
  kUnknownKind = 1u << 6,  // a type that OpenAPI does not have: nothing is of it
};

struct Condition {
  uint8_t kinds = 0;              // accepted; 0: all
  std::string_view kind_text;     // as messages name them: "integer", "integer,string"
  bool nullable = false;
  std::string_view format;        // one that is checked, as it was written; empty for none
  bool format_of_texts = false;   // strings must be of it
  const Pattern* pattern = nullptr;
  Constraints limits;             // its enum_values are unused; pattern and format are as they were written
  bool caps_length = false, caps_items = false, caps_properties = false;  // the most may be less than nothing: then no value fits
  std::span<const object::Value> enums;
  std::span<const std::string_view> required;
  std::span<const PropertyCondition> properties;  // by name
  const Condition* additional = nullptr;          // of members that are no properties
  bool forbids_additional = false;
  const Condition* items = nullptr;
  std::span<const Condition* const> all_of, any_of, one_of;
  const Condition* none_of = nullptr;             // "not"
  std::span<const object::Value> rules;           // x-kubernetes-validations
  object::Value schema;                           // what it was compiled from

  const Condition* FindProperty(std::string_view name) const;
};

// Adds the faults of the value and of all below it. `path` is put before the names of fields ("status"; root for none);
// messages name fields from the value's own root. If `old` is present, faults of parts that did not change are
// forgiven: `shape` then says which items of lists belong together.
void CheckConditions(const Condition& condition, const object::Value& value, const FieldPath& path, FieldErrors& errors,
                     const Type* shape = nullptr, const object::Value& old = {});

// Whether a fault of that reason keeps rules (x-kubernetes-validations) from being evaluated.
bool BlocksRules(std::string_view reason);

// Why a pattern is none, in the words of Go's regexp; empty if it is one.
std::string PatternFault(std::string_view pattern);

// Whether strings of the format are checked ("date-time", "email" …), and numbers of the type ("integer", "number").
bool IsKnownFormat(std::string_view type, std::string_view format);
// Whether the text is of a known format; true for formats that are not known.
bool FitsFormat(std::string_view format, std::string_view text);

}  // namespace homeostat::schema
