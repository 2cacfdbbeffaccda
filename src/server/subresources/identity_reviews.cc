// SelfSubjectReview (who am I?) and TokenReview (whose token is this?).
#include <algorithm>

#include "homeostat/api/authentication/v1.h"
#include "homeostat/api/authentication/v1_builders.h"
#include "server/metadata.h"
#include "server/request_chain.h"
#include "server/subresources/review.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

namespace v1 = api::authentication::v1;

void FillUser(v1::UserInfoBuilder info, const User& user) {
  info.set_username(user.name);
  if (!user.uid.empty()) info.set_uid(user.uid);
  for (const std::string& group : user.groups) info.add_groups(group);
  for (const auto& [key, values] : user.extra) {
    object::Arena arena;
    object::ListBuilder list(arena);
    for (const std::string& value : values) list.Append(Value::StringRef(value));
    info.set_extra(key, schema::Subtree(list.Build()));
  }
}

Task<Result<http::Response>> AnswerSelf(RequestContext& context) {
  CO_TRY_ASSIGN(Value body, DecodeReview(context));
  auto admit = AdmitReview(context, body, [](Value) { return Result<void>(); });
  CO_TRY(co_await std::move(admit));
  // The answer is a new object.
  v1::SelfSubjectReviewBuilder review;
  review.mutable_metadata().set_creation_timestamp(FormatNow(context.runtime()));
  FillUser(review.mutable_status().mutable_user_info(), context.user);
  co_return AnswerReview(context, review.FreezeInto(context.arena()));
}

// A token that is good in itself is so for every audience of the API itself.
Result<auth::ServiceAccountTokens::Verified> VerifyToken(const SubresourceParts& parts, std::string_view token, const std::vector<std::string>& audiences) {
  const User* user = parts.static_tokens.Find(token);
  if (user == nullptr) return parts.tokens.Verify(token, audiences);
  auth::ServiceAccountTokens::Verified verified{*user, {}};
  for (const std::string& audience : parts.tokens.options().api_audiences) {
    if (std::ranges::find(audiences, audience) != audiences.end()) verified.audiences.push_back(audience);
  }
  if (verified.audiences.empty()) return parts.tokens.Verify(token, audiences);
  return verified;
}

Result<void> CheckToken(Value body) {
  if (v1::TokenReview(body).spec().token().empty()) return Fail(BadRequestError("token is required for TokenReview in authentication"));
  return {};
}

Task<Result<http::Response>> AnswerToken(RequestContext& context, const SubresourceParts& parts) {
  CO_TRY_ASSIGN(Value body, DecodeReview(context));
  auto admit = AdmitReview(context, body, CheckToken);
  CO_TRY_ASSIGN(body, co_await std::move(admit));
  v1::TokenReview asked(body);
  std::vector<std::string> audiences;
  for (std::string_view audience : asked.spec().audiences()) audiences.emplace_back(audience);
  bool default_audience = audiences.empty();
  if (default_audience) audiences = parts.tokens.options().api_audiences;
  v1::TokenReviewBuilder review{schema::Subtree(asked)};
  review.clear_status();
  auto status = review.mutable_status();
  auto verified = VerifyToken(parts, asked.spec().token(), audiences);
  if (verified) {
    status.set_authenticated(true);
    AddImpliedGroups(verified->user);
    FillUser(status.mutable_user(), verified->user);
    for (const std::string& audience : verified->audiences) status.add_audiences(audience);
  } else {
    status.set_error(verified.error().message());
  }
  co_return AnswerReview(context, review.FreezeInto(context.arena()));
}

}  // namespace

void ServeIdentityReviews(ApiServer& server, SubresourceParts parts) {
  constexpr std::string_view kGroup = "authentication.k8s.io";
  server.HandleResource(std::string(kGroup), "selfsubjectreviews", "", "create", [](RequestContext& context) { return AnswerSelf(context); });
  server.HandleResource(std::string(kGroup), "tokenreviews", "", "create",
                        [parts](RequestContext& context) { return AnswerToken(context, parts); });
}

}  // namespace homeostat::server
