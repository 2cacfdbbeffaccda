// The plan of a program: its tree in the form that is evaluated, and costs counted.
//
// The shape is that of cel-go's interpreter, since what an evaluation costs depends on it: names and selections that hang
// together are one attribute with qualifiers; constants are folded; and each step's value lies on a stack, from which a
// call takes what it was given. A call that does not find its arguments there is not charged, as in the original.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cel/decl_type.h"
#include "cel/internal/functions.h"
#include "cel/program.h"

namespace re2 {
class RE2;
}

namespace homeostat::cel::internal {

struct Attribute;

enum class NodeKind : uint8_t {
  kConst, kAttribute, kAnd, kOr, kEqual, kNotEqual, kCall, kOptionalOr, kOptionalOrValue, kList, kMap, kStruct, kFold,
  kSetMembership
};

// How the cost of a call is reckoned.
enum class CostRule : uint8_t {
  kUnit, kCheck, kSelector, kTraversal, kFirst, kFirstTwice, kResultTwice, kFind, kCidrOrIp, kContainsIp, kContainsIpString,
  kContainsCidr, kContainsCidrString, kValidate, kEquals, kNotEquals, kFirstOnly, kSecondSize, kCompare, kSum, kMatches, kContains,
  kListOutput, kFlatten, kSelfCompareFirst, kSelfCompareSecond, kSets, kSetsTwice
};

struct Node {
  NodeKind kind = NodeKind::kConst;
  bool optional_index = false;  // an attribute that is an index with ?
  bool test_only = false;       // has(…)
  bool var_args = false;        // arguments behind one in error are not evaluated
  CostRule cost_rule = CostRule::kUnit;
  int32_t id = 0;
  Value constant;                     // kConst
  Attribute* attribute = nullptr;     // kAttribute
  std::vector<const Node*> args;      // operands, items, keys and values in turn, field values; of a fold as in the tree
  std::vector<bool> optional;         // of items, entries, fields; empty if none is
  const Function* function = nullptr;  // kCall
  const Overload* overload = nullptr;  // kCall, if there can be only one
  std::string_view name;              // of a struct's type; of a fold's variable
  std::string_view name2;             // of a fold's second variable
  std::string_view accumulator;
  std::vector<std::string_view> fields;
  std::shared_ptr<const re2::RE2> pattern;  // of a call with a constant one
  const ArrayMap* members = nullptr;        // kSetMembership
  std::shared_ptr<const DeclType> type;     // kStruct
};

struct Qualifier {
  // A constant; an attribute whose value is the key (`attribute`).
  bool constant = true;
  bool optional = false;
  bool test_only = false;
  // The cost tracker takes an attribute of its own (not a variable) for one more attribute that was read.
  bool counts_as_attribute = false;
  int32_t id = 0;
  Value key;
  Attribute* attribute = nullptr;
};

struct Attribute {
  enum class Kind : uint8_t { kAbsolute, kRelative, kConditional };
  Kind kind = Kind::kAbsolute;
  int32_t id = 0;
  std::string_view name;            // kAbsolute
  const Node* operand = nullptr;    // kRelative; the condition of kConditional
  Attribute* if_true = nullptr;
  Attribute* if_false = nullptr;
  std::vector<Qualifier*> qualifiers;

  // The id that its value has on the stack.
  int32_t Id() const {
    if (kind == Kind::kConditional) return if_true->Id() == if_false->Id() ? if_true->Id() : id;
    return qualifiers.empty() ? id : qualifiers.back()->id;
  }
};

inline int32_t IdOf(const Node& node) {
  return node.kind == NodeKind::kAttribute && !node.test_only ? node.attribute->Id() : node.id;
}

}  // namespace homeostat::cel::internal

namespace homeostat::cel {

struct Program::Plan {
  object::Arena arena;
  std::shared_ptr<const object::Arena> literals;  // of the tree
  std::deque<internal::Node> nodes;
  std::deque<internal::Attribute> attributes;
  std::deque<internal::Qualifier> qualifiers;
  std::deque<std::string> names;
  const internal::Node* root = nullptr;
  Type result_type;
};

}  // namespace homeostat::cel
