// What type parameters stand for while a tree is checked, and whether types go together.
//
// Source of the rules: cel-go's checker/types.go.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cel/type.h"

namespace homeostat::cel::internal {

class TypeBindings {
 public:
  // A parameter that nothing is known of yet.
  Type NewVariable() { return Type::Param("_var" + std::to_string(next_++)); }

  // Whether a value of type `a` can stand where `b` is wanted; binds parameters of both if so, none if not.
  bool IsAssignable(const Type& a, const Type& b);
  bool IsAssignable(const std::vector<Type>& a, const std::vector<Type>& b);

  // With what parameters stand for; those that are free become dyn if asked.
  Type Substitute(const Type& type, bool free_to_dyn) const;

 private:
  bool Assignable(const Type& a, const Type& b);
  bool AssignableList(const std::vector<Type>& a, const std::vector<Type>& b);
  // valid, and whether the parameter already stood for something.
  struct Bound {
    bool valid;
    bool had_binding;
  };
  Bound Bind(const Type& type, const Type& parameter);
  bool NotReferencedIn(const Type& parameter, const Type& within) const;
  const Type* Find(const Type& type) const;
  void Set(const Type& parameter, const Type& type);
  void RollBack(size_t mark);

  std::unordered_map<std::string, Type> bindings_;
  std::vector<std::pair<std::string, Type>> trail_;  // what stood there before
  int next_ = 0;
};

// The one of two types, one of which is assignable to the other, that says less.
const Type& MostGeneral(const Type& a, const Type& b);

// A type with type parameters replaced by name.
Type Instantiate(const Type& type, const std::unordered_map<std::string, Type>& parameters);

}  // namespace homeostat::cel::internal
