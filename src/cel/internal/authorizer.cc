#include "cel/authorizer.h"

#include "cel/internal/functions.h"
#include "homeostat/base/text.h"
#include "homeostat/object/names.h"

namespace homeostat::cel {

namespace {

enum class Stage : uint8_t { kAuthorizer, kPath, kGroup, kResource };

// A question that is still being put together.
class Check final : public Opaque {
 public:
  Check(Stage stage, const Authorizer& authorizer, AuthorizationQuestion question)
      : stage_(stage), authorizer_(authorizer), question_(std::move(question)) {}

  std::string_view TypeName() const override {
    switch (stage_) {
      case Stage::kAuthorizer: return "kubernetes.authorization.Authorizer";
      case Stage::kPath: return "kubernetes.authorization.PathCheck";
      case Stage::kGroup: return "kubernetes.authorization.GroupCheck";
      case Stage::kResource: return "kubernetes.authorization.ResourceCheck";
    }
    return "";
  }
  std::optional<bool> Equal(const Opaque&) const override { return std::nullopt; }

  const Authorizer& authorizer() const { return authorizer_; }
  const AuthorizationQuestion& question() const { return question_; }

 private:
  Stage stage_;
  const Authorizer& authorizer_;
  AuthorizationQuestion question_;
};

class Decision final : public Opaque {
 public:
  explicit Decision(AuthorizationAnswer answer) : answer_(std::move(answer)) {}
  std::string_view TypeName() const override { return "kubernetes.authorization.Decision"; }
  std::optional<bool> Equal(const Opaque&) const override { return std::nullopt; }
  const AuthorizationAnswer& answer() const { return answer_; }

 private:
  AuthorizationAnswer answer_;
};

}  // namespace

Value AuthorizerValue(object::Arena& arena, const Authorizer& authorizer) {
  return MakeOpaque(arena, Check(Stage::kAuthorizer, authorizer, {}));
}

Value ResourceCheckValue(object::Arena& arena, const Authorizer& authorizer, const AuthorizationQuestion& resource) {
  AuthorizationQuestion question = resource;
  question.is_resource = true;
  return MakeOpaque(arena, Check(Stage::kResource, authorizer, std::move(question)));
}

namespace internal {

namespace {

// The functions' type guards see to it that the values are of these classes.
const Check& CheckOf(const Value& value) { return static_cast<const Check&>(value.opaque()); }
const AuthorizationAnswer& AnswerOf(const Value& value) { return static_cast<const Decision&>(value.opaque()).answer(); }

template <Stage kStage>
Value With(CallContext& context, const Value& check, std::string AuthorizationQuestion::*part, const Value& text) {
  AuthorizationQuestion question = CheckOf(check).question();
  question.*part = std::string(text.text());
  question.is_resource = kStage == Stage::kResource;
  return MakeOpaque(context.arena, Check(kStage, CheckOf(check).authorizer(), std::move(question)));
}

Value Path(CallContext& context, std::span<const Value> args) {
  if (TrimSpace(args[1].text()).empty()) return Value::Error("path must not be empty");
  return With<Stage::kPath>(context, args[0], &AuthorizationQuestion::path, args[1]);
}
Value Group(CallContext& context, std::span<const Value> args) {
  return With<Stage::kGroup>(context, args[0], &AuthorizationQuestion::group, args[1]);
}
Value Resource(CallContext& context, std::span<const Value> args) {
  if (TrimSpace(args[1].text()).empty()) return Value::Error("resource must not be empty");
  return With<Stage::kResource>(context, args[0], &AuthorizationQuestion::resource, args[1]);
}
template <std::string AuthorizationQuestion::*kPart>
Value Part(CallContext& context, std::span<const Value> args) {
  return With<Stage::kResource>(context, args[0], kPart, args[1]);
}

Value ServiceAccount(CallContext& context, std::span<const Value> args) {
  if (!object::NameIsDNSSubdomain(args[2].text(), false).empty()) return Value::Error("Invalid service account name");
  if (!object::NameIsDNSLabel(args[1].text(), false).empty()) return Value::Error("Invalid service account namespace");
  AuthorizationQuestion question;
  question.service_account = "system:serviceaccount:" + std::string(args[1].text()) + ":" + std::string(args[2].text());
  return MakeOpaque(context.arena, Check(Stage::kAuthorizer, CheckOf(args[0]).authorizer(), std::move(question)));
}

Value Ask(CallContext& context, std::span<const Value> args) {
  AuthorizationQuestion question = CheckOf(args[0]).question();
  question.verb = std::string(args[1].text());
  return MakeOpaque(context.arena, Decision(CheckOf(args[0]).authorizer().Authorize(question)));
}

Value Allowed(CallContext&, std::span<const Value> args) { return Value::Bool(AnswerOf(args[0]).allowed); }
Value Errored(CallContext&, std::span<const Value> args) { return Value::Bool(!AnswerOf(args[0]).error.empty()); }
Value ErrorText(CallContext&, std::span<const Value> args) { return Value::String(AnswerOf(args[0]).error); }
Value Reason(CallContext&, std::span<const Value> args) { return Value::String(AnswerOf(args[0]).reason); }

}  // namespace

std::span<const Binding> AuthorizerBindings() {
  static constexpr Binding kBindings[] = {
      {"authorizer_path", Path}, {"authorizer_group", Group}, {"authorizer_serviceaccount", ServiceAccount},
      {"groupcheck_resource", Resource}, {"resourcecheck_subresource", Part<&AuthorizationQuestion::subresource>},
      {"resourcecheck_namespace", Part<&AuthorizationQuestion::namespace_name>},
      {"resourcecheck_name", Part<&AuthorizationQuestion::name>},
      {"authorizer_fieldselector", Part<&AuthorizationQuestion::field_selector>},
      {"authorizer_labelselector", Part<&AuthorizationQuestion::label_selector>},
      {"pathcheck_check", Ask}, {"resourcecheck_check", Ask}, {"decision_allowed", Allowed},
      {"decision_errored", Errored}, {"decision_error", ErrorText}, {"decision_reason", Reason},
  };
  return kBindings;
}

}  // namespace internal

}  // namespace homeostat::cel
