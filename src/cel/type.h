// Type: a type of the expression language, as declared, checked, and printed in messages.
//
// Types are immutable handles that share their representation; copying is cheap and safe between threads.
// Source of names and rules: cel-go's common/types and checker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace homeostat::cel {

enum class TypeKind : uint8_t {
  kUnspecified, kError, kDyn, kAny, kBool, kBytes, kDouble, kDuration, kInt, kList, kMap, kNull, kOpaque, kString,
  kStruct, kTimestamp, kType, kTypeParam, kUint
};

class Type {
 public:
  // No type at all; prints as "".
  Type() = default;

  static const Type& Error();
  static const Type& Dyn();
  static const Type& Any();
  static const Type& Bool();
  static const Type& Bytes();
  static const Type& Double();
  static const Type& Duration();
  static const Type& Int();
  static const Type& Null();
  static const Type& String();
  static const Type& Timestamp();
  static const Type& Uint();
  // The type of types, with or without saying which.
  static const Type& TypeType();
  static Type TypeOf(Type parameter);
  static Type List(Type element);
  static Type Map(Type key, Type value);
  static Type Optional(Type element);
  // A type that only its library knows: net.IP.
  static Type Opaque(std::string_view name, std::vector<Type> parameters = {});
  // A type with fields that a TypeProvider knows, or a library's with functions only.
  static Type Struct(std::string_view name);
  static Type Param(std::string_view name);
  // T or null: google.protobuf.Int64Value and the like.
  static Type Nullable(const Type& type);

  TypeKind kind() const { return rep_ ? rep_->kind : TypeKind::kUnspecified; }
  // The name at run time: google.protobuf.Timestamp, list, optional_type.
  std::string_view name() const { return rep_ ? std::string_view(rep_->name) : std::string_view(); }
  const std::vector<Type>& parameters() const;
  bool nullable() const { return rep_ && rep_->nullable; }
  bool IsDyn() const { return kind() == TypeKind::kDyn || kind() == TypeKind::kAny; }
  bool IsError() const { return kind() == TypeKind::kError; }
  bool IsDynOrError() const { return IsDyn() || IsError(); }
  bool IsOptional() const { return kind() == TypeKind::kOpaque && name() == "optional_type"; }
  explicit operator bool() const { return rep_ != nullptr; }

  // Same kind, name and parameters.
  bool Is(const Type& other) const;
  // Whether a value of the other type can be given where this one is wanted; no type parameters are bound.
  bool IsAssignable(const Type& from) const;
  // As messages print it: list(string), timestamp, wrapper(int).
  std::string ToString() const;
  // The name, wrapper(…) around it if null is allowed, too.
  std::string DeclaredName() const;

 private:
  struct Rep {
    TypeKind kind = TypeKind::kUnspecified;
    bool nullable = false;
    std::string name;
    std::vector<Type> parameters;
  };
  static Type Make(TypeKind kind, std::string_view name, std::vector<Type> parameters = {}, bool nullable = false);

  std::shared_ptr<const Rep> rep_;
};

// (int, string) -> bool, with the receiver in front if is_member: string.(int) -> bool. A result of no type is left out.
std::string FormatSignature(const Type& result, const std::vector<Type>& arguments, bool is_member);

// Reads "list(string)", "map(K, V)", "net.IP", …: how the tables of functions are written. A name of one capital letter
// is a type parameter; a name that starts with "kubernetes." a struct; another unknown name is opaque.
Type ParseType(std::string_view text);

}  // namespace homeostat::cel
