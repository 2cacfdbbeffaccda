// SubjectAccessReview and its family: may this user do that? What may I do here?
#include "homeostat/api/authorization/v1.h"
#include "homeostat/api/authorization/v1_builders.h"
#include "server/metadata.h"
#include "server/request_chain.h"
#include "server/subresources/review.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

namespace v1 = api::authorization::v1;
using schema::FieldErrors;
using schema::FieldPath;

// What of the three kinds of review is asked.
enum class Review : uint8_t { kSubject, kSelf, kLocal };

template <class Spec>
void CheckAttributes(const Spec& spec, FieldErrors& errors) {
  FieldPath path("spec");
  if (spec.has_resource_attributes() && spec.has_non_resource_attributes()) {
    errors.Invalid(path.Child("nonResourceAttributes"), schema::BadValue::Json("{}"),
                   "cannot be specified in combination with resourceAttributes");
  }
  if (!spec.has_resource_attributes() && !spec.has_non_resource_attributes()) {
    errors.Invalid(path.Child("resourceAttributes"), schema::BadValue::Null(),
                   "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
}

template <class Spec>
auth::Attributes ToAttributes(const Spec& spec, const User& user) {
  auth::Attributes attributes;
  attributes.user = &user;
  if (spec.has_resource_attributes()) {
    auto asked = spec.resource_attributes();
    attributes.resource_request = true;
    attributes.ns = asked.namespace_();
    attributes.verb = asked.verb();
    attributes.group = asked.group();
    attributes.version = asked.version().empty() ? std::string_view("*") : asked.version();
    attributes.resource = asked.resource();
    attributes.subresource = asked.subresource();
    attributes.name = asked.name();
  } else {
    attributes.path = spec.non_resource_attributes().path();
    attributes.verb = spec.non_resource_attributes().verb();
  }
  return attributes;
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

Value WithVerdict(object::Arena& arena, const Value& review, const auth::Verdict& verdict) {
  v1::SubjectAccessReviewBuilder builder{schema::Subtree(v1::SubjectAccessReview(review))};
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
    errors.Invalid(FieldPath("metadata"), metadata, local ? "must be empty except for namespace" : "must be empty");
    return;
  }
}

Result<http::Response> AnswerSubject(RequestContext& context, auth::Authorizer& authorizer, Review kind) {
  TRY_ASSIGN(Value body, DecodeReview(context));
  v1::SubjectAccessReview review(body);
  FieldErrors errors;
  CheckAttributes(review.spec(), errors);
  if (kind != Review::kSelf && review.spec().user().empty() && review.spec().groups().empty()) {
    errors.Invalid(FieldPath("spec").Child("user"), "", "at least one of user or group must be specified");
  }
  if (kind == Review::kLocal) {
    if (review.spec().has_non_resource_attributes()) {
      errors.Invalid(FieldPath("spec").Child("nonResourceAttributes"), schema::BadValue::Json("{}"), "disallowed on this kind of request");
    }
    if (review.spec().has_resource_attributes() && review.spec().resource_attributes().namespace_() != context.info.ns) {
      errors.Invalid(FieldPath("spec").Child("resourceAttributes").Child("namespace"),
                     review.spec().resource_attributes().namespace_(), "must match metadata.namespace");
    }
  }
  CheckMetadata(body, kind == Review::kLocal, errors);
  if (!errors.empty()) return Fail(errors.ToStatus("authorization.k8s.io", "", ""));
  User user = kind == Review::kSelf ? context.user : SubjectOf(review.spec());
  return AnswerReview(context, WithVerdict(context.arena(), body, authorizer.Authorize(ToAttributes(review.spec(), user))));
}

Result<http::Response> AnswerSelf(RequestContext& context, auth::Authorizer& authorizer) {
  TRY_ASSIGN(Value body, DecodeReview(context));
  v1::SelfSubjectAccessReview review(body);
  FieldErrors errors;
  CheckAttributes(review.spec(), errors);
  CheckMetadata(body, false, errors);
  if (!errors.empty()) return Fail(errors.ToStatus("authorization.k8s.io", "", ""));
  auth::Verdict verdict = authorizer.Authorize(ToAttributes(review.spec(), context.user));
  v1::SelfSubjectAccessReviewBuilder builder{schema::Subtree(review)};
  auto status = builder.mutable_status();
  status.set_allowed(verdict.decision == auth::Decision::kAllow);
  if (verdict.decision == auth::Decision::kDeny) status.set_denied(true);
  if (!verdict.reason.empty()) status.set_reason(verdict.reason);
  return AnswerReview(context, builder.FreezeInto(context.arena()));
}

Result<http::Response> AnswerRules(RequestContext& context, auth::RuleResolver& resolver) {
  TRY_ASSIGN(Value body, DecodeReview(context));
  v1::SelfSubjectRulesReview review(body);
  if (review.spec().namespace_().empty()) return Fail(BadRequestError("no namespace on request"));
  std::vector<auth::ResourceRule> resource_rules;
  std::vector<auth::NonResourceRule> path_rules;
  std::vector<std::string> faults;
  resolver.RulesFor(context.user, review.spec().namespace_(), resource_rules, path_rules, faults);
  v1::SelfSubjectRulesReviewBuilder builder{schema::Subtree(review)};
  auto status = builder.mutable_status();
  status.set_incomplete(!faults.empty());
  for (const auth::ResourceRule& rule : resource_rules) {
    auto item = status.add_resource_rules();
    for (const std::string& verb : rule.verbs) item.add_verbs(verb);
    for (const std::string& group : rule.groups) item.add_api_groups(group);
    for (const std::string& resource : rule.resources) item.add_resources(resource);
    for (const std::string& name : rule.resource_names) item.add_resource_names(name);
  }
  for (const auth::NonResourceRule& rule : path_rules) {
    auto item = status.add_non_resource_rules();
    for (const std::string& verb : rule.verbs) item.add_verbs(verb);
    for (const std::string& url : rule.urls) item.add_non_resource_urls(url);
  }
  if (!faults.empty()) status.set_evaluation_error(faults.front());
  return AnswerReview(context, builder.FreezeInto(context.arena()));
}

Task<Result<http::Response>> Ready(Result<http::Response> response) { co_return response; }

}  // namespace

void ServeAccessReviews(ApiServer& server, SubresourceParts parts) {
  constexpr std::string_view kGroup = "authorization.k8s.io";
  auto serve = [&](std::string plural, auto answer) {
    server.HandleResource(std::string(kGroup), std::move(plural), "", "create",
                          [answer](RequestContext& context) { return Ready(answer(context)); });
  };
  serve("subjectaccessreviews", [parts](RequestContext& c) { return AnswerSubject(c, parts.authorizer, Review::kSubject); });
  serve("localsubjectaccessreviews", [parts](RequestContext& c) { return AnswerSubject(c, parts.authorizer, Review::kLocal); });
  serve("selfsubjectaccessreviews", [parts](RequestContext& c) { return AnswerSelf(c, parts.authorizer); });
  serve("selfsubjectrulesreviews", [parts](RequestContext& c) { return AnswerRules(c, parts.rules); });
}

}  // namespace homeostat::server
