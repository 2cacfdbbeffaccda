#include "cel/type.h"

namespace homeostat::cel {

namespace {

constexpr std::string_view kDurationName = "google.protobuf.Duration";
constexpr std::string_view kTimestampName = "google.protobuf.Timestamp";

bool IsExactRep(const Type& a, const Type& b) {
  if (a.kind() != b.kind() || a.parameters().size() != b.parameters().size() || a.name() != b.name()) return false;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (!a.parameters()[i].Is(b.parameters()[i])) return false;
  }
  return true;
}

}  // namespace

Type Type::Make(TypeKind kind, std::string_view name, std::vector<Type> parameters, bool nullable) {
  auto rep = std::make_shared<Rep>();
  rep->kind = kind;
  rep->nullable = nullable;
  rep->name = name;
  rep->parameters = std::move(parameters);
  Type type;
  type.rep_ = std::move(rep);
  return type;
}

const Type& Type::Error() { static const Type type = Make(TypeKind::kError, "error"); return type; }
const Type& Type::Dyn() { static const Type type = Make(TypeKind::kDyn, "dyn"); return type; }
const Type& Type::Any() { static const Type type = Make(TypeKind::kAny, "google.protobuf.Any"); return type; }
const Type& Type::Bool() { static const Type type = Make(TypeKind::kBool, "bool"); return type; }
const Type& Type::Bytes() { static const Type type = Make(TypeKind::kBytes, "bytes"); return type; }
const Type& Type::Double() { static const Type type = Make(TypeKind::kDouble, "double"); return type; }
const Type& Type::Duration() { static const Type type = Make(TypeKind::kDuration, kDurationName); return type; }
const Type& Type::Int() { static const Type type = Make(TypeKind::kInt, "int"); return type; }
const Type& Type::Null() { static const Type type = Make(TypeKind::kNull, "null_type"); return type; }
const Type& Type::String() { static const Type type = Make(TypeKind::kString, "string"); return type; }
const Type& Type::Timestamp() { static const Type type = Make(TypeKind::kTimestamp, kTimestampName); return type; }
const Type& Type::Uint() { static const Type type = Make(TypeKind::kUint, "uint"); return type; }
const Type& Type::TypeType() { static const Type type = Make(TypeKind::kType, "type"); return type; }

Type Type::TypeOf(Type parameter) { return Make(TypeKind::kType, "type", {std::move(parameter)}); }
Type Type::List(Type element) { return Make(TypeKind::kList, "list", {std::move(element)}); }
Type Type::Map(Type key, Type value) { return Make(TypeKind::kMap, "map", {std::move(key), std::move(value)}); }
Type Type::Optional(Type element) { return Make(TypeKind::kOpaque, "optional_type", {std::move(element)}); }
Type Type::Opaque(std::string_view name, std::vector<Type> parameters) {
  return Make(TypeKind::kOpaque, name, std::move(parameters));
}
Type Type::Struct(std::string_view name) { return Make(TypeKind::kStruct, name); }
Type Type::Param(std::string_view name) { return Make(TypeKind::kTypeParam, name); }
Type Type::Nullable(const Type& type) { return Make(type.kind(), type.name(), type.parameters(), true); }

const std::vector<Type>& Type::parameters() const {
  static const std::vector<Type> none;
  return rep_ ? rep_->parameters : none;
}

bool Type::Is(const Type& other) const {
  if (!rep_) return false;
  return rep_ == other.rep_ || IsExactRep(*this, other);
}

bool Type::IsAssignable(const Type& from) const {
  if (!rep_) return false;
  if (rep_ == from.rep_ || IsDyn()) return true;
  if (nullable() && from.kind() == TypeKind::kNull) return true;
  if (kind() != from.kind() || name() != from.name() || parameters().size() != from.parameters().size()) return false;
  for (size_t i = 0; i < parameters().size(); ++i) {
    if (!parameters()[i].IsAssignable(from.parameters()[i])) return false;
  }
  return true;
}

std::string Type::DeclaredName() const {
  if (nullable()) return "wrapper(" + std::string(name()) + ")";
  return std::string(name());
}

std::string Type::ToString() const {
  switch (kind()) {
    case TypeKind::kAny: return "any";
    case TypeKind::kDuration: return "duration";
    case TypeKind::kError: return "!error!";
    case TypeKind::kNull: return "null";
    case TypeKind::kTimestamp: return "timestamp";
    case TypeKind::kTypeParam: return std::string(name());
    case TypeKind::kUnspecified: return "";
    case TypeKind::kOpaque:
      if (name() == "function") {
        return FormatSignature(parameters()[0], {parameters().begin() + 1, parameters().end()}, false);
      }
      break;
    default: break;
  }
  if (parameters().empty()) return DeclaredName();
  std::string text(name());
  char separator = '(';
  for (const Type& parameter : parameters()) {
    text += separator;
    if (separator == ',') text += ' ';
    text += parameter.ToString();
    separator = ',';
  }
  return text + ")";
}

std::string FormatSignature(const Type& result, const std::vector<Type>& arguments, bool is_member) {
  std::string text;
  size_t first = 0;
  if (is_member && !arguments.empty()) {
    text = arguments[0].ToString() + ".";
    first = 1;
  }
  text += "(";
  for (size_t i = first; i < arguments.size(); ++i) {
    if (i > first) text += ", ";
    text += arguments[i].ToString();
  }
  text += ")";
  if (std::string printed = result.ToString(); !printed.empty()) text += " -> " + printed;
  return text;
}

namespace {

Type TypeByName(std::string_view name, std::vector<Type> parameters) {
  if (name == "list") return Type::List(parameters.empty() ? Type::Dyn() : std::move(parameters[0]));
  if (name == "map") {
    return parameters.size() == 2 ? Type::Map(parameters[0], parameters[1]) : Type::Map(Type::Dyn(), Type::Dyn());
  }
  if (name == "type") return parameters.empty() ? Type::TypeType() : Type::TypeOf(std::move(parameters[0]));
  if (name == "wrapper" && parameters.size() == 1) return Type::Nullable(parameters[0]);
  for (const Type* type : {&Type::Dyn(), &Type::Any(), &Type::Bool(), &Type::Bytes(), &Type::Double(), &Type::Duration(),
                           &Type::Int(), &Type::Null(), &Type::String(), &Type::Timestamp(), &Type::Uint()}) {
    if (name == type->name() || name == type->ToString()) return *type;
  }
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return Type::Param(name);
  if (name.starts_with("kubernetes.")) return Type::Struct(name);
  return Type::Opaque(name, std::move(parameters));
}

Type ParseTypeAt(std::string_view text, size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
  size_t begin = at;
  while (at < text.size() && text[at] != '(' && text[at] != ')' && text[at] != ',') ++at;
  std::string_view name = text.substr(begin, at - begin);
  std::vector<Type> parameters;
  if (at < text.size() && text[at] == '(') {
    do {
      ++at;
      parameters.push_back(ParseTypeAt(text, at));
    } while (at < text.size() && text[at] == ',');
    if (at < text.size()) ++at;
  }
  return TypeByName(name, std::move(parameters));
}

}  // namespace

Type ParseType(std::string_view text) {
  size_t at = 0;
  return ParseTypeAt(text, at);
}

}  // namespace homeostat::cel
