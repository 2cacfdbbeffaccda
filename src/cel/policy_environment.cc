#include "cel/policy_environment.h"

#include <algorithm>

namespace homeostat::cel {
namespace {

using Fields = std::vector<DeclType::Field>;

DeclType::Field FieldOf(std::string_view name, DeclTypePtr type) { return {std::string(name), std::string(name), std::move(type)}; }

Fields TextFields(std::initializer_list<std::string_view> names) {
  Fields fields;
  for (std::string_view name : names) fields.push_back(FieldOf(name, DeclType::Of(Type::String())));
  return fields;
}

DeclTypePtr RequestType() {
  DeclTypePtr text = DeclType::Of(Type::String());
  DeclTypePtr kind = DeclType::Object("kubernetes.GroupVersionKind", TextFields({"group", "version", "kind"}));
  DeclTypePtr resource = DeclType::Object("kubernetes.GroupVersionResource", TextFields({"group", "version", "resource"}));
  Fields user = TextFields({"username", "uid"});
  user.push_back(FieldOf("groups", DeclType::List(text)));
  user.push_back(FieldOf("extra", DeclType::Map(DeclType::List(text))));
  Fields fields = TextFields({"subResource", "requestSubResource", "name", "namespace", "operation"});
  fields.push_back(FieldOf("kind", kind));
  fields.push_back(FieldOf("requestKind", kind));
  fields.push_back(FieldOf("resource", resource));
  fields.push_back(FieldOf("requestResource", resource));
  fields.push_back(FieldOf("userInfo", DeclType::Object("kubernetes.UserInfo", std::move(user))));
  fields.push_back(FieldOf("dryRun", DeclType::Of(Type::Bool())));
  fields.push_back(FieldOf("options", DeclType::Of(Type::Dyn())));
  return DeclType::Object("kubernetes.AdmissionRequest", std::move(fields));
}

// The name UID is upstream's, and names nothing that a namespace has.
DeclTypePtr NamespaceType() {
  DeclTypePtr text = DeclType::Of(Type::String()), time = DeclType::Of(Type::Timestamp()), number = DeclType::Of(Type::Int());
  Fields condition = TextFields({"status", "type", "message", "reason"});
  condition.push_back(FieldOf("lastTransitionTime", time));
  Fields status = TextFields({"phase"});
  status.push_back(FieldOf("conditions", DeclType::List(DeclType::Object("kubernetes.NamespaceCondition", std::move(condition)))));
  Fields metadata = TextFields({"name", "generateName", "namespace", "UID", "resourceVersion"});
  metadata.push_back(FieldOf("labels", DeclType::Map(text)));
  metadata.push_back(FieldOf("annotations", DeclType::Map(text)));
  metadata.push_back(FieldOf("finalizers", DeclType::List(text)));
  metadata.push_back(FieldOf("creationTimestamp", time));
  metadata.push_back(FieldOf("deletionTimestamp", time));
  metadata.push_back(FieldOf("deletionGracePeriodSeconds", number));
  metadata.push_back(FieldOf("generation", number));
  Fields fields;
  fields.push_back(FieldOf("metadata", DeclType::Object("kubernetes.NamespaceMetadata", std::move(metadata))));
  fields.push_back(FieldOf("spec", DeclType::Object("kubernetes.NamespaceSpec", {FieldOf("finalizers", DeclType::List(text))})));
  fields.push_back(FieldOf("status", DeclType::Object("kubernetes.NamespaceStatus", std::move(status))));
  return DeclType::Object("kubernetes.Namespace", std::move(fields));
}

// What all have, made once.
const Environment& Base(bool patch_types) {
  static const Environment* const kBases[] = {
      [] {
        auto* environment = new Environment();
        environment->Declare("object", Type::Dyn());
        environment->Declare("oldObject", Type::Dyn());
        environment->Declare("namespaceObject", NamespaceType());
        environment->Declare("request", RequestType());
        return environment;
      }(),
      [] {
        EnvironmentOptions options;
        options.json_patch = true;
        options.object_construction = true;
        auto* environment = new Environment(options);
        environment->Declare("object", Type::Dyn());
        environment->Declare("oldObject", Type::Dyn());
        environment->Declare("namespaceObject", NamespaceType());
        environment->Declare("request", RequestType());
        return environment;
      }()};
  return *kBases[patch_types ? 1 : 0];
}

Environment EnvironmentFor(const PolicyNames& names) {
  Environment environment = Base(names.patch_types);
  if (names.params) environment.Declare("params", Type::Dyn());
  if (names.authorizer) {
    environment.Declare("authorizer", ParseType("kubernetes.authorization.Authorizer"));
    if (names.request_resource) environment.Declare("authorizer.requestResource", ParseType("kubernetes.authorization.ResourceCheck"));
  }
  return environment;
}

// A variable's type as `variables` shows it: what has fields, or only a library knows, may be anything.
Type ShownType(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBool: case TypeKind::kBytes: case TypeKind::kDouble: case TypeKind::kDuration: case TypeKind::kInt:
    case TypeKind::kNull: case TypeKind::kString: case TypeKind::kTimestamp: case TypeKind::kUint: case TypeKind::kAny:
      return type.nullable() ? Type::Dyn() : type;
    case TypeKind::kList: return Type::List(ShownType(type.parameters()[0]));
    case TypeKind::kMap: return Type::Map(ShownType(type.parameters()[0]), ShownType(type.parameters()[1]));
    default: return Type::Dyn();
  }
}

// As Go prints the type itself, which is not how compilers' messages write it: null_type, google.protobuf.Timestamp.
std::string GoText(const Type& type) {
  std::string text = type.DeclaredName();
  if (type.parameters().empty()) return text;
  std::string parameters;
  for (const Type& parameter : type.parameters()) parameters += (parameters.empty() ? "" : ", ") + GoText(parameter);
  return text + "(" + parameters + ")";
}

std::string WrongResult(std::span<const Type> results, const Type& type) {
  if (results.size() == 1) return "must evaluate to " + GoText(results[0]) + " but got " + GoText(type);
  std::string list;
  for (const Type& result : results) list += (list.empty() ? "" : " ") + GoText(result);
  return "must evaluate to one of [" + list + "] but got " + GoText(type);
}

}  // namespace

PolicyEnvironment::PolicyEnvironment(const PolicyNames& names, bool with_variables)
    : environment_(EnvironmentFor(names)), with_variables_(with_variables) {
  DeclareVariables();
}

void PolicyEnvironment::DeclareVariables() {
  if (with_variables_) environment_.Declare("variables", DeclType::Object("kubernetes.variables", variables_));
}

void PolicyEnvironment::DeclareObject(std::string_view name, const DeclTypePtr& type) {
  if (type) {
    environment_.Declare(name, type);
  } else {
    environment_.Declare(name, Type::Dyn());
  }
  objects_.emplace_back(std::string(name), type);
}

void PolicyEnvironment::AddVariable(std::string_view name, const Type& type) {
  std::erase_if(variables_, [&](const DeclType::Field& field) { return field.name == name; });
  variables_.push_back(FieldOf(name, DeclType::Of(type ? ShownType(type) : Type::Dyn())));
  DeclareVariables();
}

PolicyEnvironment PolicyEnvironment::WithNames(const PolicyNames& names) const {
  PolicyEnvironment other(names, false);
  other.with_variables_ = with_variables_;
  other.variables_ = variables_;
  for (const auto& [name, type] : objects_) other.DeclareObject(name, type);
  other.DeclareVariables();
  return other;
}

PolicyExpression PolicyEnvironment::Compile(std::string_view text, std::span<const Type> results) const {
  PolicyExpression compiled;
  auto checked = environment_.Check(text);
  if (!checked) {
    compiled.error = "compilation failed: " + checked.error().text;
    return compiled;
  }
  const Type& type = checked->result_type();
  bool wanted = results.empty() || std::ranges::any_of(results, [&](const Type& result) { return type.Is(result); });
  if (!wanted) {
    compiled.error = WrongResult(results, type);
    return compiled;
  }
  auto program = checked->MakeProgram();
  if (!program) {
    compiled.error = "program instantiation failed: " + program.error().text;
    return compiled;
  }
  compiled.program = *std::move(program);
  compiled.type = type;
  return compiled;
}

}  // namespace homeostat::cel
