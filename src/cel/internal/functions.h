// What an expression can call: functions, their overloads, and the code behind them.
//
// Names, overload ids and signatures are those of cel-go 0.26 and Kubernetes 1.36 (costs and messages depend on them).
// The table is made once and never changes; everything here may be used from any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace homeostat::cel::internal {

// What functions may use while they run.
struct CallContext {
  object::Arena& arena;
};

// Arguments in order, the receiver first. Errors are returned as error values.
using Implementation = Value (*)(CallContext& context, std::span<const Value> args);

// What the first argument of a function without overloads of its own code must be able to do.
enum class Trait : uint8_t {
  kNone, kAdder, kComparer, kDivider, kModder, kMultiplier, kNegator, kSubtractor, kSizer, kMatcher, kContainer, kIndexer, kLister
};
bool HasTrait(const Value& value, Trait trait);
// Whether the original would hand a call it cannot serve to the value: it then says "no such overload" without a name.
bool IsReceiver(const Value& value);

// Functions that not every environment has.
enum class Library : uint8_t { kBase, kJsonPatch, kExtended };

struct Overload {
  std::string_view id;
  bool member = false;
  bool non_strict = false;
  Library library = Library::kBase;
  std::vector<Type> args;
  Type result;
  std::vector<std::string> type_params;
  Implementation code = nullptr;  // nullptr: the function's
};

struct Function {
  std::string_view name;
  std::vector<Overload> overloads;
  // Code for all overloads, which looks at its arguments itself.
  Implementation code = nullptr;
  Trait trait = Trait::kNone;
  bool unguarded = false;  // overloads' code checks its arguments itself
};

// nullptr if there is none.
const Function* FindFunction(std::string_view name);

// Whether a value may be given where that type is declared; of lists and maps the first entry is looked at.
bool IsAssignableAtRunTime(const Type& type, const Value& value);
// "no such overload: f(int, string)"
Value NoSuchOverload(CallContext& context, std::string_view function, std::span<const Value> args);
inline Value NoSuchOverload() { return Value::Error("no such overload"); }

// Code by overload id or, with the function's name in front of "()", for all its overloads. Each library has such a list.
struct Binding {
  std::string_view id;
  Implementation code;
  Trait trait = Trait::kNone;
};
std::span<const Binding> OperatorBindings();
std::span<const Binding> ConversionBindings();
std::span<const Binding> TimeBindings();
std::span<const Binding> StringBindings();
std::span<const Binding> ListBindings();
std::span<const Binding> OptionalBindings();
std::span<const Binding> RegexBindings();
std::span<const Binding> UrlBindings();
std::span<const Binding> NetworkBindings();
std::span<const Binding> QuantityBindings();
std::span<const Binding> SemverBindings();
std::span<const Binding> FormatBindings();
std::span<const Binding> AuthorizerBindings();

// The lines of the table: "function overload-id [.](types) -> type".
std::string_view FunctionTable();

}  // namespace homeostat::cel::internal
