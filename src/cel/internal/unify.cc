#include "cel/internal/unify.h"

namespace homeostat::cel::internal {

namespace {

bool IsEqualOrLessSpecific(const Type& a, const Type& b) {
  if (a.IsDyn() || a.kind() == TypeKind::kTypeParam) return true;
  if (b.IsDyn() || b.kind() == TypeKind::kTypeParam) return false;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case TypeKind::kOpaque:
      if (a.name() != b.name() || a.parameters().size() != b.parameters().size()) return false;
      [[fallthrough]];
    case TypeKind::kList: case TypeKind::kMap:
      for (size_t i = 0; i < a.parameters().size(); ++i) {
        if (!IsEqualOrLessSpecific(a.parameters()[i], b.parameters()[i])) return false;
      }
      return true;
    case TypeKind::kType: return true;
    default: return a.Is(b);
  }
}

bool IsNullable(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kOpaque: case TypeKind::kStruct: case TypeKind::kAny: case TypeKind::kDuration: case TypeKind::kTimestamp:
      return true;
    default: return type.nullable() || type.kind() == TypeKind::kNull || type.IsDyn();
  }
}

Type Rebuild(const Type& type, std::vector<Type> parameters) {
  switch (type.kind()) {
    case TypeKind::kOpaque: return Type::Opaque(type.name(), std::move(parameters));
    case TypeKind::kList: return Type::List(std::move(parameters[0]));
    case TypeKind::kMap: return Type::Map(std::move(parameters[0]), std::move(parameters[1]));
    case TypeKind::kType: return Type::TypeOf(std::move(parameters[0]));
    default: return type;
  }
}

}  // namespace

const Type& MostGeneral(const Type& a, const Type& b) { return IsEqualOrLessSpecific(a, b) ? a : b; }

Type Instantiate(const Type& type, const std::unordered_map<std::string, Type>& parameters) {
  if (type.kind() == TypeKind::kTypeParam) {
    auto found = parameters.find(std::string(type.name()));
    return found == parameters.end() ? type : found->second;
  }
  if (type.parameters().empty()) return type;
  std::vector<Type> rebuilt;
  for (const Type& parameter : type.parameters()) rebuilt.push_back(Instantiate(parameter, parameters));
  return Rebuild(type, std::move(rebuilt));
}

const Type* TypeBindings::Find(const Type& type) const {
  if (type.kind() != TypeKind::kTypeParam) return nullptr;
  auto found = bindings_.find(std::string(type.name()));
  return found == bindings_.end() || !found->second ? nullptr : &found->second;
}

void TypeBindings::Set(const Type& parameter, const Type& type) {
  Type& slot = bindings_[std::string(parameter.name())];
  trail_.emplace_back(parameter.name(), slot);
  slot = type;
}

void TypeBindings::RollBack(size_t mark) {
  while (trail_.size() > mark) {
    bindings_[trail_.back().first] = trail_.back().second;
    trail_.pop_back();
  }
}

bool TypeBindings::IsAssignable(const Type& to, const Type& from) {
  size_t mark = trail_.size();
  if (Assignable(to, from)) return true;
  RollBack(mark);
  return false;
}

bool TypeBindings::IsAssignable(const std::vector<Type>& to, const std::vector<Type>& from) {
  size_t mark = trail_.size();
  if (AssignableList(to, from)) return true;
  RollBack(mark);
  return false;
}

bool TypeBindings::AssignableList(const std::vector<Type>& to, const std::vector<Type>& from) {
  if (to.size() != from.size()) return false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!Assignable(to[i], from[i])) return false;
  }
  return true;
}

bool TypeBindings::Assignable(const Type& a, const Type& b) {
  if (b.kind() == TypeKind::kTypeParam) {
    Bound bound = Bind(a, b);
    if (bound.valid) return true;
    if (bound.had_binding) return false;
  }
  if (a.kind() == TypeKind::kTypeParam) return Bind(b, a).valid;
  if (a.IsDynOrError() || b.IsDynOrError()) return true;
  if (a.kind() == TypeKind::kNull) return IsNullable(b);
  if (b.kind() == TypeKind::kNull) return IsNullable(a);
  switch (a.kind()) {
    case TypeKind::kBool: case TypeKind::kBytes: case TypeKind::kDouble: case TypeKind::kInt: case TypeKind::kString:
    case TypeKind::kUint: case TypeKind::kDuration: case TypeKind::kTimestamp: case TypeKind::kStruct:
      return b.IsAssignable(a);
    case TypeKind::kType: return b.kind() == TypeKind::kType;
    case TypeKind::kOpaque: case TypeKind::kList: case TypeKind::kMap:
      return a.kind() == b.kind() && a.name() == b.name() && AssignableList(a.parameters(), b.parameters());
    default: return false;
  }
}

TypeBindings::Bound TypeBindings::Bind(const Type& type, const Type& parameter) {
  if (type.kind() == TypeKind::kTypeParam && type.Is(parameter)) return {true, true};
  if (const Type* found = Find(parameter)) {
    Type bound = *found;
    if (type.kind() == bound.kind() && type.Is(bound)) return {true, true};
    if (!Assignable(type, bound)) return {false, true};
    Type general = MostGeneral(type, bound);
    if (NotReferencedIn(parameter, general)) Set(parameter, general);
    return {true, true};
  }
  if (!NotReferencedIn(parameter, type)) return {false, false};
  Set(parameter, type);
  return {true, false};
}

bool TypeBindings::NotReferencedIn(const Type& parameter, const Type& within) const {
  if (parameter.Is(within)) return false;
  if (within.kind() == TypeKind::kTypeParam) {
    const Type* bound = Find(within);
    return bound == nullptr || NotReferencedIn(parameter, *bound);
  }
  for (const Type& inner : within.parameters()) {
    if (!NotReferencedIn(parameter, inner)) return false;
  }
  return true;
}

Type TypeBindings::Substitute(const Type& type, bool free_to_dyn) const {
  if (const Type* bound = Find(type)) return Substitute(*bound, free_to_dyn);
  if (type.kind() == TypeKind::kTypeParam) return free_to_dyn ? Type::Dyn() : type;
  if (type.parameters().empty()) return type;
  std::vector<Type> parameters;
  for (const Type& parameter : type.parameters()) parameters.push_back(Substitute(parameter, free_to_dyn));
  return Rebuild(type, std::move(parameters));
}

}  // namespace homeostat::cel::internal
