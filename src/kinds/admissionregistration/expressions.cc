// The expressions of policies and webhooks as they are admitted: they compile, and give what they are there for.
// Source of the rules and texts: pkg/apis/admissionregistration/validation.
#include <algorithm>
#include <set>
#include <string>

#include "cel/policy_environment.h"
#include "cel/reserved_words.h"
#include "homeostat/api/admissionregistration/v1.h"
#include "homeostat/base/text.h"
#include "kinds/admissionregistration/admissionregistration.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMostConditions = 64, kMostAuditAnnotations = 20, kLongestAuditExpression = 5 * 1024;
constexpr std::string_view kSpace = " \t\n\v\f\r";

bool IsIdentifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return letter(name.front()) && std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }) &&
         !cel::IsReservedWord(name);
}

// shown: the expression as the message has it, where that is not what is compiled.
void CheckExpression(const cel::PolicyEnvironment& environment, std::string_view text, std::span<const cel::Type> results,
                     const FieldPath& path, FieldErrors& errors, std::string_view shown = {}) {
  cel::PolicyExpression compiled = environment.Compile(text, results);
  if (!compiled.error.empty()) errors.Invalid(path, shown.empty() ? text : shown, compiled.error);
}

class SpecExpressions {
 public:
  SpecExpressions(const Value& policy, bool always_composes, FieldErrors& errors)
      : policy_(policy),
        spec_(policy.Get("spec")),
        params_(spec_.Get("paramKind")),
        errors_(errors),
        environment_({params_, true, false}, always_composes || !spec_.Get("variables").empty()) {}

  void Variables() {
    Value variables = spec_.Get("variables");
    for (size_t i = 0; i < variables.size(); ++i) {
      FieldPath path = FieldPath("spec").Child("variables").Index(i);
      std::string_view name = variables.At(i).Get("name").AsString(), text = variables.At(i).Get("expression").AsString();
      if (TrimSpace(name).empty()) {
        errors_.Required(path.Child("name"), "name is not specified");
      } else if (!IsIdentifier(name)) {
        errors_.Invalid(path.Child("name"), name, "must be a valid CEL identifier");
      }
      if (TrimSpace(text).empty()) {
        errors_.Required(path.Child("expression"), "expression is not specified");
        continue;
      }
      cel::PolicyExpression compiled = environment_.Compile(text, {});
      if (!compiled.error.empty()) errors_.Invalid(path.Child("expression"), text, compiled.error);
      environment_.AddVariable(name, compiled.type);
    }
  }

  void Validations() {
    Value validations = spec_.Get("validations");
    for (size_t i = 0; i < validations.size(); ++i) Validation(validations.At(i), FieldPath("spec").Child("validations").Index(i));
  }

  void AuditAnnotations() {
    FieldPath list_path = FieldPath("spec").Child("auditAnnotations");
    Value notes = spec_.Get("auditAnnotations");
    if (notes.size() > kMostAuditAnnotations) {
      const schema::Type& type = *api::admissionregistration::v1::ValidatingAdmissionPolicySpec::SchemaType().FindField("auditAnnotations")->type;
      errors_.Invalid(list_path, InternalValue(type, notes), "must not have more than " + std::to_string(kMostAuditAnnotations) + " auditAnnotations");
    }
    std::set<std::string_view> keys;
    for (size_t i = 0; i < notes.size(); ++i) {
      AuditAnnotation(notes.At(i), list_path.Index(i));
      std::string_view key = notes.At(i).Get("key").AsString();
      if (!keys.insert(key).second) errors_.Duplicate(list_path.Index(i).Child("key"), key);
    }
  }

  void Mutations() {
    Value mutations = spec_.Get("mutations");
    cel::PolicyEnvironment patching = environment_.WithNames({params_, true, true});
    for (size_t i = 0; i < mutations.size(); ++i) Mutation(mutations.At(i), patching, FieldPath("spec").Child("mutations").Index(i));
  }

 private:
  void Validation(const Value& validation, const FieldPath& path) {
    static const cel::Type kBool[] = {cel::Type::Bool()}, kText[] = {cel::Type::String()};
    std::string_view text = validation.Get("expression").AsString(), message = validation.Get("message").AsString();
    std::string_view made = validation.Get("messageExpression").AsString();
    if (TrimSpace(text).empty()) {
      errors_.Required(path.Child("expression"), "expression is not specified");
    } else {
      CheckExpression(environment_, text, kBool, path.Child("expression"), errors_);
    }
    if (!made.empty() && TrimSpace(made).empty()) {
      errors_.Invalid(path.Child("messageExpression"), made, "must be non-empty if specified");
    } else if (!made.empty()) {
      CheckExpression(environment_.WithNames({params_, false, false}), made, kText, path.Child("messageExpression"), errors_);
    }
    if (!message.empty() && TrimSpace(message).empty()) {
      errors_.Invalid(path.Child("message"), message, "must be non-empty if specified");
    } else if (TrimSpace(message).find_first_of("\r\n") != message.npos) {
      errors_.Invalid(path.Child("message"), message, "must not contain line breaks");
    }
    if (Value reason = validation.Get("reason")) {
      CheckOneOf(reason.AsString(), {"Forbidden", "Invalid", "RequestEntityTooLarge"}, path.Child("reason"), errors_);
    }
  }

  void AuditAnnotation(const Value& note, const FieldPath& path) {
    static const cel::Type kNote[] = {cel::Type::String(), cel::Type::Null()};
    std::string_view name = policy_.Path({"metadata", "name"}).AsString(), key = note.Get("key").AsString();
    if (name.empty()) {
      errors_.Invalid(path.Child("key"), key, "requires metadata.name be non-empty");
    } else {
      CheckQualifiedName(std::string(name) + "/" + std::string(key), path.Child("key"), errors_);
    }
    FieldPath at = path.Child("valueExpression");
    std::string_view text = note.Get("valueExpression").AsString(), trimmed = TrimSpace(text);
    if (trimmed.empty()) return errors_.Required(at, "valueExpression is not specified");
    if (trimmed.size() > kLongestAuditExpression) {
      return errors_.Required(at, "must not exceed " + std::to_string(kLongestAuditExpression) + " bytes in length");
    }
    CheckExpression(environment_, trimmed, kNote, at, errors_, text);
  }

  void Mutation(const Value& mutation, const cel::PolicyEnvironment& patching, const FieldPath& path) {
    static const cel::Type kObject[] = {cel::Type::Struct("Object")}, kPatches[] = {cel::Type::List(cel::Type::Struct("JSONPatch"))};
    std::string_view type = mutation.Get("patchType").AsString();
    RequireOneOf(type, {"ApplyConfiguration", "JSONPatch"}, path.Child("patchType"), errors_);
    bool json_patch = type == "JSONPatch";
    if (!json_patch && type != "ApplyConfiguration") return;
    std::string_view wanted = json_patch ? "jsonPatch" : "applyConfiguration", other = json_patch ? "applyConfiguration" : "jsonPatch";
    if (Value given = mutation.Get(wanted); !given) {
      errors_.Required(path.Child(wanted), "must be specified when patchType is " + std::string(type));
    } else if (std::string_view text = TrimSpace(given.Get("expression").AsString()); text.empty()) {
      errors_.Required(path.Child(wanted, "expression"));
    } else {
      CheckExpression(patching, text, json_patch ? std::span<const cel::Type>(kPatches) : kObject, path.Child(wanted, "expression"), errors_);
    }
    if (!mutation.Get(other)) return;
    errors_.Invalid(path.Child(other), "{" + std::string(other) + "}", "must not be specified when patchType is " + std::string(type));
  }

  const Value policy_, spec_;
  bool params_;
  FieldErrors& errors_;
  cel::PolicyEnvironment environment_;
};

}  // namespace

void CheckMatchConditions(const Value& conditions, bool params, const FieldPath& path, FieldErrors& errors) {
  static const cel::Type kBool[] = {cel::Type::Bool()};
  if (conditions.empty()) return;
  if (conditions.size() > kMostConditions) errors.TooMany(path, static_cast<int64_t>(conditions.size()), kMostConditions);
  cel::PolicyEnvironment environment({params, true, false}, false);
  std::set<std::string_view> names;
  for (size_t i = 0; i < conditions.size(); ++i) {
    std::string_view name = conditions.At(i).Get("name").AsString(), text = TrimSpace(conditions.At(i).Get("expression").AsString());
    FieldPath expression = path.Index(i).Child("expression"), at = path.Index(i).Child("name");
    if (text.empty()) {
      errors.Required(expression);
    } else {
      CheckExpression(environment, text, kBool, expression, errors);
    }
    if (name.empty()) {
      errors.Required(at);
      continue;
    }
    CheckQualifiedName(name, at, errors);
    if (!names.insert(name).second) errors.Duplicate(at, name);
  }
}

void CheckValidatingExpressions(const Value& policy, FieldErrors& errors) {
  SpecExpressions expressions(policy, false, errors);
  expressions.Variables();
  Value spec = policy.Get("spec");
  if (spec.Get("validations").empty() && spec.Get("auditAnnotations").empty()) {
    for (std::string_view field : {"validations", "auditAnnotations"}) {
      errors.Required(FieldPath("spec").Child(field), "validations or auditAnnotations must contain at least one item");
    }
    return;
  }
  expressions.Validations();
  expressions.AuditAnnotations();
}

void CheckMutatingExpressions(const Value& policy, FieldErrors& errors) {
  SpecExpressions expressions(policy, true, errors);
  expressions.Variables();
  if (policy.Path({"spec", "mutations"}).empty()) {
    errors.Required(FieldPath("spec").Child("mutations"), "mutations must contain at least one item");
  }
  expressions.Mutations();
}

}  // namespace homeostat::kinds
