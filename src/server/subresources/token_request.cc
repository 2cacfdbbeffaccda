// serviceaccounts/NAME/token: a signed token for the service account, for some audiences, some time, and tied to an object.
#include "homeostat/api/authentication/v1.h"
#include "homeostat/api/authentication/v1_builders.h"
#include "homeostat/base/ids.h"
#include "homeostat/object/time.h"
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

Result<void> CheckRequest(const v1::TokenRequest& request, std::string_view name) {
  schema::FieldErrors errors;
  schema::FieldPath path("spec");
  int64_t seconds = AskedSeconds(request);
  if (seconds < kShortest) {
    errors.Invalid(path.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
  }
  if (seconds > kLongest) {
    errors.Invalid(path.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds");
  }
  if (errors.empty()) return {};
  return Fail(errors.ToStatus("authentication.k8s.io", "TokenRequest", name));
}

// The object that the token is to be tied to, which must be there, and for a pod must run as this service account.
Result<void> Bind(RequestContext& context, const v1::BoundObjectReference& reference, std::string_view account,
                  auth::TokenClaims& claims) {
  std::string kind(reference.kind()), name(reference.name());
  std::string_view plural = kind == "Pod" ? "pods" : kind == "Secret" ? "secrets" : kind == "Node" ? "nodes" : "";
  if (plural.empty() || (reference.api_version() != "v1" && !reference.api_version().empty())) {
    return Fail(BadRequestError("cannot bind token for serviceaccount to object of type " + std::string(reference.api_version()) +
                                ", Kind=" + kind));
  }
  std::string_view ns = kind == "Node" ? std::string_view() : std::string_view(context.info.ns);
  object::DocumentPtr object = context.parts.objects.Get("", plural, ns, name);
  if (!object) return Fail(NotFoundError("", plural, name));
  std::string_view uid = MetadataString(object->root(), "uid");
  if (!reference.uid().empty() && reference.uid() != uid) {
    return Fail(ConflictError("", plural, name, "the UID in the bound object reference (" + std::string(reference.uid()) +
                                                    ") does not match the UID in record. The object might have been deleted and then recreated"));
  }
  if (kind == "Pod") {
    std::string_view runs_as = object->root().Path({"spec", "serviceAccountName"}).AsString();
    if (runs_as != account) {
      return Fail(BadRequestError("cannot bind token for serviceaccount \"" + std::string(account) +
                                  "\" to pod running with different serviceaccount name."));
    }
    claims.node_name = object->root().Path({"spec", "nodeName"}).AsString();
    if (!claims.node_name.empty()) {
      if (auto node = context.parts.objects.Get("", "nodes", "", claims.node_name)) claims.node_uid = MetadataString(node->root(), "uid");
    }
  }
  claims.bound = {kind, name, std::string(uid)};
  return {};
}

Result<http::Response> AnswerToken(RequestContext& context, auth::ServiceAccountTokens& tokens, Value body) {
  v1::TokenRequest request(body);
  std::string account = context.info.name;
  object::DocumentPtr document = context.parts.objects.Get("", "serviceaccounts", context.info.ns, account);
  if (!document) return Fail(context.NotFound(account));
  TRY(CheckRequest(request, account));

  auth::TokenClaims claims;
  claims.ns = context.info.ns;
  claims.service_account = account;
  claims.service_account_uid = MetadataString(document->root(), "uid");
  for (std::string_view audience : request.spec().audiences()) claims.audiences.emplace_back(audience);
  if (claims.audiences.empty()) claims.audiences = tokens.options().api_audiences;
  if (request.spec().has_bound_object_ref()) TRY(Bind(context, request.spec().bound_object_ref(), account, claims));
  int64_t seconds = AskedSeconds(request);
  claims.issued = context.runtime().WallNow();
  bool extend = seconds == kUsualMark && claims.bound.kind == "Pod" && claims.audiences == tokens.options().api_audiences;
  claims.expires = claims.issued + std::chrono::seconds(extend ? kExtended : seconds);
  if (extend) claims.warn_after = claims.issued + std::chrono::seconds(kUsualMark);
  claims.id = NewUuid(context.runtime());
  TRY_ASSIGN(std::string token, tokens.Issue(claims));

  v1::TokenRequestBuilder answer{schema::Subtree(request)};
  auto metadata = answer.mutable_metadata();
  metadata.set_name(account).set_namespace(context.info.ns).set_creation_timestamp(FormatNow(context.runtime()));
  if (request.spec().audiences().empty()) {
    for (const std::string& audience : claims.audiences) answer.mutable_spec().add_audiences(audience);
  }
  auto status = answer.mutable_status();
  status.set_token(token);
  // The client is told the time it asked for, and renews by it.
  WallTime shown = claims.issued + std::chrono::seconds(seconds);
  status.set_expiration_timestamp(object::FormatTime(object::Timestamp::FromClock(shown)));
  Value value = answer.FreezeInto(context.arena());
  return EncodeAnswer(context, Answer{201, context.work, value, &TokenRequestKind(), nullptr});
}

Task<Result<http::Response>> HandleToken(RequestContext& context, auth::ServiceAccountTokens& tokens) {
  CO_TRY_ASSIGN(WriteQuery query, ParseWriteQuery(context.query, WriteKind::kCreate));
  CO_TRY_ASSIGN(Value body, DecodeBody(context, TokenRequestKind(), query.field_validation));
  kinds::RuleContext rules = context.Rules(query.dry_run, "token");
  admission::Request admit{admission::Operation::kCreate, context.storage(), "token", context.info.ns, context.info.name, body, Value(), Value(), rules};
  auto mutate = context.parts.admission.Mutate(admit);
  CO_TRY_ASSIGN(admit.object, co_await std::move(mutate));
  auto validate = context.parts.admission.Validate(admit);
  CO_TRY(co_await std::move(validate));
  co_return AnswerToken(context, tokens, admit.object);
}

}  // namespace

void ServeTokenRequest(ApiServer& server, SubresourceParts parts) {
  server.HandleResource("", "serviceaccounts", "token", "create",
                        [parts](RequestContext& context) { return HandleToken(context, parts.tokens); });
}

}  // namespace homeostat::server
