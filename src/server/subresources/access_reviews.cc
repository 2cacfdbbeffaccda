// SubjectAccessReview and its family: may this user do that? What may I do here?
#include "homeostat/api/authorization/v1.h"
#include "homeostat/api/authorization/v1_builders.h"
#include "homeostat/api/meta/v1.h"
#include "homeostat/base/go_text.h"
#include "kinds/internal_json.h"
#include "server/subresources/review.h"
#include "server/subresources/review_attributes.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

namespace v1 = api::authorization::v1;
using schema::FieldErrors;
using schema::FieldPath;

// What of the three kinds of review is asked.
enum class Review : uint8_t { kSubject, kSelf, kLocal };

// nonResourceAttributes as upstream shows its own structure.
template <class Spec>
schema::BadValue ShownPath(const Spec& spec) {
  return kinds::InternalValue(v1::NonResourceAttributes::SchemaType(), spec.non_resource_attributes().Raw());
}

template <class Spec>
void CheckSpec(const Spec& spec, Review kind, FieldErrors& errors) {
  FieldPath path("spec");
  if (spec.has_resource_attributes() && spec.has_non_resource_attributes()) {
    errors.Invalid(path.Child("nonResourceAttributes"), ShownPath(spec), "cannot be specified in combination with resourceAttributes");
  }
  if (!spec.has_resource_attributes() && !spec.has_non_resource_attributes()) {
    errors.Invalid(path.Child("resourceAttributes"), schema::BadValue::Null(),
                   "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
  if constexpr (std::is_same_v<Spec, v1::SubjectAccessReviewSpec>) {
    if (kind != Review::kSelf && spec.user().empty() && spec.groups().empty()) {
      errors.Invalid(path.Child("user"), "", "at least one of user or group must be specified");
    }
  }
  if (spec.has_resource_attributes()) CheckSelectors(spec.resource_attributes(), errors);
}

// The verdict on what is asked, for that user.
template <class Spec>
auth::Verdict Ask(auth::Authorizer& authorizer, const Spec& spec, const User& user) {
  std::string fault;
  auth::Attributes attributes;
  if (spec.has_resource_attributes()) {
    attributes = ToAttributes(spec.resource_attributes(), fault);
  } else {
    attributes.path = spec.non_resource_attributes().path();
    attributes.verb = spec.non_resource_attributes().verb();
  }
  attributes.user = &user;
  auth::Verdict verdict = authorizer.Authorize(attributes);
  if (!fault.empty()) verdict.evaluation_error += (verdict.evaluation_error.empty() ? "" : "; ") + fault;
  return verdict;
}

User SubjectOf(const v1::SubjectAccessReviewSpec& spec) {
  User user;
  user.name = spec.user();
  user.uid = spec.uid();
  for (std::string_view group : spec.groups()) user.groups.emplace_back(group);
  for (auto [key, values] : spec.extra()) {
    std::vector<std::string> list;
    for (std::string_view value : values) list.emplace_back(value);
    user.extra.push_back({std::string(key), std::move(list)});
  }
  return user;
}

// LocalSubjectAccessReview has the same fields at the same places.
Value WithVerdict(object::Arena& arena, const Value& review, const auth::Verdict& verdict) {
  v1::SubjectAccessReviewBuilder builder{schema::Subtree(v1::SubjectAccessReview(review))};
  builder.clear_status();
  auto status = builder.mutable_status();
  status.set_allowed(verdict.decision == auth::Decision::kAllow);
  if (verdict.decision == auth::Decision::kDeny) status.set_denied(true);
  if (!verdict.reason.empty()) status.set_reason(verdict.reason);
  if (!verdict.evaluation_error.empty()) status.set_evaluation_error(verdict.evaluation_error);
  return builder.FreezeInto(arena);
}

// A review has no name of its own: metadata must be as good as empty.
void CheckMetadata(const Value& review, bool local, FieldErrors& errors) {
  Value metadata = review.Get("metadata");
  for (const object::Member& member : metadata.members()) {
    if (member.name() == "managedFields" || (local && member.name() == "namespace")) continue;
    schema::BadValue shown(api::meta::v1::ObjectMeta::SchemaType(), metadata);
    errors.Invalid(FieldPath("metadata"), shown, local ? "must be empty except for namespace" : "must be empty");
    return;
  }
}

void CheckLocal(const v1::SubjectAccessReview& review, FieldErrors& errors) {
  FieldPath path("spec");
  auto spec = review.spec();
  if (spec.has_resource_attributes() && spec.resource_attributes().namespace_() != review.metadata().namespace_()) {
    errors.Invalid(path.Child("resourceAttributes").Child("namespace"), spec.resource_attributes().namespace_(),
                   "must match metadata.namespace");
  }
  if (spec.has_non_resource_attributes()) {
    errors.Invalid(path.Child("nonResourceAttributes"), ShownPath(spec), "disallowed on this kind of request");
  }
}

Result<void> CheckSubject(Value body, Review kind) {
  v1::SubjectAccessReview review(body);
  FieldErrors errors;
  CheckSpec(review.spec(), kind, errors);
  CheckMetadata(body, kind == Review::kLocal, errors);
  if (kind == Review::kLocal) CheckLocal(review, errors);
  return errors.empty() ? Result<void>() : Fail(errors.ToStatus("authorization.k8s.io", "", ""));
}

Task<Result<http::Response>> AnswerSubject(RequestContext& context, auth::Authorizer& authorizer, Review kind) {
  CO_TRY_ASSIGN(Value body, DecodeReview(context));
  ReviewCheck check = [kind](Value sent) { return CheckSubject(sent, kind); };
  auto admit = AdmitReview(context, body, std::move(check));
  CO_TRY_ASSIGN(body, co_await std::move(admit));
  v1::SubjectAccessReview review(body);
  co_return AnswerReview(context, WithVerdict(context.arena(), body, Ask(authorizer, review.spec(), SubjectOf(review.spec()))));
}

Result<void> CheckSelf(Value body) {
  v1::SelfSubjectAccessReview review(body);
  FieldErrors errors;
  CheckSpec(review.spec(), Review::kSelf, errors);
  CheckMetadata(body, false, errors);
  return errors.empty() ? Result<void>() : Fail(errors.ToStatus("authorization.k8s.io", "", ""));
}

Task<Result<http::Response>> AnswerSelf(RequestContext& context, auth::Authorizer& authorizer) {
  CO_TRY_ASSIGN(Value body, DecodeReview(context));
  auto admit = AdmitReview(context, body, CheckSelf);
  CO_TRY_ASSIGN(body, co_await std::move(admit));
  v1::SelfSubjectAccessReview review(body);
  auth::Verdict verdict = Ask(authorizer, review.spec(), context.user);
  v1::SelfSubjectAccessReviewBuilder builder{schema::Subtree(review)};
  builder.clear_status();
  auto status = builder.mutable_status();
  status.set_allowed(verdict.decision == auth::Decision::kAllow);
  if (verdict.decision == auth::Decision::kDeny) status.set_denied(true);
  if (!verdict.reason.empty()) status.set_reason(verdict.reason);
  if (!verdict.evaluation_error.empty()) status.set_evaluation_error(verdict.evaluation_error);
  co_return AnswerReview(context, builder.FreezeInto(context.arena()));
}

Result<void> CheckRules(Value body) {
  if (v1::SelfSubjectRulesReview(body).spec().namespace_().empty()) return Fail(BadRequestError("no namespace on request"));
  return {};
}

Task<Result<http::Response>> AnswerRules(RequestContext& context, auth::RuleResolver& resolver) {
  CO_TRY_ASSIGN(Value body, DecodeReview(context));
  auto admit = AdmitReview(context, body, CheckRules);
  CO_TRY_ASSIGN(body, co_await std::move(admit));
  v1::SelfSubjectRulesReview asked(body);
  auth::RuleList rules = resolver.RulesFor(context.user, asked.spec().namespace_());
  // The answer is a new object: what was asked is not repeated.
  v1::SelfSubjectRulesReviewBuilder review;
  auto status = review.mutable_status();
  status.set_incomplete(rules.incomplete);
  for (const auth::ResourceRule& rule : rules.resources) {
    auto item = status.add_resource_rules();
    for (const std::string& verb : rule.verbs) item.add_verbs(verb);
    for (const std::string& group : rule.groups) item.add_api_groups(group);
    for (const std::string& resource : rule.resources) item.add_resources(resource);
    for (const std::string& name : rule.resource_names) item.add_resource_names(name);
  }
  for (const auth::NonResourceRule& rule : rules.paths) {
    auto item = status.add_non_resource_rules();
    for (const std::string& verb : rule.verbs) item.add_verbs(verb);
    for (const std::string& url : rule.urls) item.add_non_resource_urls(url);
  }
  if (!rules.faults.empty()) status.set_evaluation_error(AggregateText(rules.faults));
  co_return AnswerReview(context, review.FreezeInto(context.arena()));
}

}  // namespace

void ServeAccessReviews(ApiServer& server, SubresourceParts parts) {
  constexpr std::string_view kGroup = "authorization.k8s.io";
  auto serve = [&](std::string plural, auto answer) {
    server.HandleResource(std::string(kGroup), std::move(plural), "", "create", answer);
  };
  serve("subjectaccessreviews", [parts](RequestContext& c) { return AnswerSubject(c, parts.authorizer, Review::kSubject); });
  serve("localsubjectaccessreviews", [parts](RequestContext& c) { return AnswerSubject(c, parts.authorizer, Review::kLocal); });
  serve("selfsubjectaccessreviews", [parts](RequestContext& c) { return AnswerSelf(c, parts.authorizer); });
  serve("selfsubjectrulesreviews", [parts](RequestContext& c) { return AnswerRules(c, parts.rules); });
}

}  // namespace homeostat::server
