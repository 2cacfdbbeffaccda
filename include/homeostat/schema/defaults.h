// Defaults: what an object gets that its writer left out.
//
// At each struct, from the root down: fields that are absent get the table's default (an absent struct that is marked
// to start empty becomes {} first); then the hook of the type, if there is one, adds what depends on other fields; then
// the same within its fields, also within structs that are absent but are no pointers. So what an outer type sets, its
// inner types see.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Conditional defaults of one type: gives the value with what is missing added (see the generated builders), or the
// value itself. It is given a typed struct, never null or absent, whose own unconditional defaults are there already.
using DefaultHook = object::Value (*)(object::Arena& arena, const object::Value& value);

struct DefaultHookEntry {
  std::string_view type_name;  // the definition's name, e.g. io.k8s.api.core.v1.Container
  DefaultHook hook;
};

// Applies defaults. Learns a type when it first sees it, with all types below, and keeps their defaults parsed: it must
// not outlive the types it was used with, so custom resources have one of their own for each compiled definition.
// Apply may be called from any thread.
class Defaults {
 public:
  // The entries are copied; two for one type both run, in order.
  explicit Defaults(std::span<const DefaultHookEntry> hooks = {});
  ~Defaults();
  Defaults(const Defaults&) = delete;
  Defaults& operator=(const Defaults&) = delete;

  // The typed tree with defaults. Shares what did not change, and the parsed defaults themselves, which live in this
  // Defaults: its memory is kept by the arena, so the tree may outlive it. InternalError if a default in a table is no
  // JSON or doesn't fit its field.
  Result<object::Value> Apply(object::Arena& arena, const Type& type, const object::Value& value) const;

 private:
  class Plans;
  std::shared_ptr<Plans> plans_;
};

}  // namespace homeostat::schema
