// serviceaccounts/NAME/token: a signed token for the service account, for some audiences, some time, and tied to an object.
#include <algorithm>
#include <functional>

#include "homeostat/api/authentication/v1.h"
#include "homeostat/api/authentication/v1_builders.h"
#include "homeostat/base/ids.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"
#include "patch/field_manager.h"
#include "server/admission_requests.h"
#include "server/metadata.h"
#include "server/subresources/review.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

namespace v1 = api::authentication::v1;

constexpr int64_t kShortest = 600;                       // seconds
constexpr int64_t kLongest = int64_t{1} << 32;
constexpr int64_t kUsual = 3600;
constexpr int64_t kUsualMark = 3607;                     // asked for by the ServiceAccount admission plugin
constexpr int64_t kExtended = 365 * 24 * 3600;

const schema::Kind& TokenRequestKind() {
  static const schema::Kind kind = BodyKind({"authentication.k8s.io", "v1", "TokenRequest"}, v1::TokenRequest::SchemaType());
  return kind;
}

int64_t AskedSeconds(const v1::TokenRequest& request) {
  return request.spec().has_expiration_seconds() ? request.spec().expiration_seconds() : kUsual;
}

Status InvalidRequest(std::string_view name, const std::function<void(schema::FieldErrors&)>& tell) {
  schema::FieldErrors errors;
  tell(errors);
  return errors.ToStatus("authentication.k8s.io", "TokenRequest", name);
}

// What the request says of the service account must be so.
Result<void> CheckAccount(RequestContext& context, const v1::TokenRequest& request, std::string_view uid) {
  const RequestInfo& info = context.info;
  auto metadata = request.metadata();
  if (!metadata.uid().empty() && metadata.uid() != uid) {
    return Fail(ConflictError("authentication.k8s.io", "TokenRequest", info.name,
                              "the UID in the token request (" + std::string(metadata.uid()) +
                                  ") does not match the UID of the service account (" + std::string(uid) + ")"));
  }
  return {};
}

Result<void> CheckNames(RequestContext& context, const v1::TokenRequest& request) {
  const RequestInfo& info = context.info;
  schema::FieldPath path("metadata");
  std::string_view name = request.metadata().name(), ns = request.metadata().namespace_();
  if (!name.empty() && name != info.name) {
    return Fail(InvalidRequest(info.name, [&](schema::FieldErrors& errors) {
      errors.Invalid(path.Child("name"), name, "must match the service account name if specified");
    }));
  }
  if (!ns.empty() && ns != info.ns) {
    return Fail(BadRequestError("the namespace of the provided object does not match the namespace sent on the request"));
  }
  return {};
}

Result<void> CheckExpiration(const v1::TokenRequest& request) {
  int64_t seconds = AskedSeconds(request);
  if (seconds >= kShortest && seconds <= kLongest) return {};
  return Fail(InvalidRequest("", [&](schema::FieldErrors& errors) {
    errors.Invalid(schema::FieldPath("spec").Child("expirationSeconds"), seconds,
                   seconds < kShortest ? "may not specify a duration less than 10 minutes"
                                       : "may not specify a duration larger than 2^32 seconds");
  }));
}

// The object that the token is to be tied to, which must be there, and for a pod must run as this service account.
Result<void> Bind(RequestContext& context, const v1::BoundObjectReference& reference, auth::TokenClaims& claims) {
  std::string kind(reference.kind()), name(reference.name()), api_version(reference.api_version());
  // What is no version at all is of no group either.
  bool core = std::ranges::count(api_version, '/') != 1;
  std::string_view plural = !core ? "" : kind == "Pod" ? "pods" : kind == "Secret" ? "secrets" : kind == "Node" ? "nodes" : "";
  if (plural.empty()) {
    std::string type = (core ? "/" : "") + api_version + ", Kind=" + kind;
    return Fail(BadRequestError("cannot bind token to object of type " + type));
  }
  std::string_view ns = kind == "Node" ? std::string_view() : std::string_view(context.info.ns);
  if (name.empty()) return Fail(BadRequestError("Name parameter required."));
  object::DocumentPtr object = context.parts.objects.Get("", plural, ns, name);
  if (!object) return Fail(NotFoundError("", plural, name));
  if (kind == "Pod") {
    if (object->root().Path({"spec", "serviceAccountName"}).AsString() != context.info.name) {
      return Fail(BadRequestError("cannot bind token for serviceaccount " + GoQuote(context.info.name) +
                                  " to pod running with different serviceaccount name."));
    }
    claims.node_name = object->root().Path({"spec", "nodeName"}).AsString();
    if (!claims.node_name.empty()) {
      if (auto node = context.parts.objects.Get("", "nodes", "", claims.node_name)) claims.node_uid = MetadataString(node->root(), "uid");
    }
  }
  std::string_view uid = MetadataString(object->root(), "uid");
  if (!reference.uid().empty() && reference.uid() != uid) {
    return Fail(ConflictError("", kind, name, "the UID in the bound object reference (" + std::string(reference.uid()) +
                                                  ") does not match the UID in record. The object might have been deleted and then recreated"));
  }
  claims.bound = {kind, name, std::string(uid)};
  return {};
}

bool AreAllOf(const std::vector<std::string>& audiences, const std::vector<std::string>& known) {
  return std::ranges::all_of(audiences, [&](const std::string& one) { return std::ranges::find(known, one) != known.end(); });
}

// The request with what the server fills in; the status is for the server alone to say.
Value Completed(RequestContext& context, const v1::TokenRequest& request, const auth::TokenClaims& claims) {
  v1::TokenRequestBuilder answer{schema::Subtree(request)};
  auto metadata = answer.mutable_metadata();
  metadata.set_name(context.info.name).set_namespace(context.info.ns).set_uid(claims.service_account_uid);
  metadata.set_creation_timestamp(FormatNow(context.runtime()));
  if (request.spec().audiences().empty()) {
    for (const std::string& audience : claims.audiences) answer.mutable_spec().add_audiences(audience);
  }
  answer.clear_status();
  return answer.FreezeInto(context.arena());
}

admission::Request AdmissionOf(RequestContext& context, kinds::RuleContext& rules, Value request) {
  return admission::Request{admission::Operation::kCreate, context.storage(), "token", context.info.ns, context.info.name,
                            request, Value(), WriteOptionsValue(context, admission::Operation::kCreate, rules.dry_run), rules};
}

// Admission that changes sees the request as it was sent: a node gets tokens for its own pods, and for their audiences, only.
Task<Result<Value>> AdmitChanges(RequestContext& context, Value request, bool dry_run) {
  kinds::RuleContext rules = context.Rules(dry_run, "token");
  admission::Request admit = AdmissionOf(context, rules, request);
  auto mutate = context.parts.admission.Mutate(admit);
  co_return co_await std::move(mutate);
}

// Admission that refuses sees it with what the server has filled in.
Task<Result<void>> Admit(RequestContext& context, Value request, bool dry_run) {
  kinds::RuleContext rules = context.Rules(dry_run, "token");
  admission::Request admit = AdmissionOf(context, rules, request);
  auto validate = context.parts.admission.Validate(admit);
  co_return co_await std::move(validate);
}

Task<Result<http::Response>> AnswerToken(auth::ServiceAccountTokens& tokens, RequestContext& context) {
  CO_TRY_ASSIGN(WriteQuery query, ReadCreateQuery(context));
  CO_TRY_ASSIGN(Value body, DecodeBody(context, TokenRequestKind(), query.field_validation));
  patch::FieldManager managers({.kind = TokenRequestKind().gvk, .type = TokenRequestKind().type, .subresource = "token"});
  body = managers.Update(context.arena(), Value(), body, context.FieldManager(query.field_manager), context.runtime().WallNow(), false);
  auto change = AdmitChanges(context, body, query.dry_run);
  CO_TRY_ASSIGN(body, co_await std::move(change));
  v1::TokenRequest request(body);
  CO_TRY(CheckNames(context, request));
  object::DocumentPtr account = context.parts.objects.Get("", "serviceaccounts", context.info.ns, context.info.name);
  if (!account) co_return Fail(context.NotFound(context.info.name));

  auth::TokenClaims claims;
  claims.ns = context.info.ns;
  claims.service_account = context.info.name;
  claims.service_account_uid = MetadataString(account->root(), "uid");
  CO_TRY(CheckAccount(context, request, claims.service_account_uid));
  for (std::string_view audience : request.spec().audiences()) claims.audiences.emplace_back(audience);
  if (claims.audiences.empty()) claims.audiences = tokens.options().api_audiences;
  CO_TRY(CheckExpiration(request));
  Value completed = Completed(context, request, claims);
  auto admit = Admit(context, completed, query.dry_run);
  CO_TRY(co_await std::move(admit));
  if (request.spec().has_bound_object_ref()) {
    CO_TRY(Bind(context, request.spec().bound_object_ref(), claims));
  }

  int64_t seconds = AskedSeconds(request);
  claims.issued = claims.not_before = context.runtime().WallNow();
  bool extend = seconds == kUsualMark && claims.bound.kind == "Pod" && AreAllOf(claims.audiences, tokens.options().api_audiences);
  claims.expires = claims.issued + std::chrono::seconds(extend ? kExtended : seconds);
  if (extend) claims.warn_after = claims.issued + std::chrono::seconds(kUsualMark);
  claims.id = NewUuid(context.runtime());
  CO_TRY_ASSIGN(std::string token, tokens.Issue(claims));
  // The client is told the time it asked for, and renews by it.
  WallTime shown = claims.issued + std::chrono::seconds(seconds);
  v1::TokenRequestBuilder answer{schema::Subtree(v1::TokenRequest(completed))};
  answer.mutable_status().set_token(token).set_expiration_timestamp(object::FormatTime(object::Timestamp::FromClock(shown)));
  Value value = answer.FreezeInto(context.arena());
  co_return EncodeAnswer(context, Answer{201, context.work, value, &TokenRequestKind(), nullptr});
}

}  // namespace

void ServeTokenRequest(ApiServer& server, SubresourceParts parts) {
  server.HandleResource("", "serviceaccounts", "token", "create",
                        [parts](RequestContext& context) { return AnswerToken(parts.tokens, context); });
}

}  // namespace homeostat::server
