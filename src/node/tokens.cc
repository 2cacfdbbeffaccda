#include "node/tokens.h"

#include "homeostat/api/authentication/v1_builders.h"
#include "node/errors.h"
#include "node/values.h"

namespace homeostat::node {

namespace authentication = api::authentication::v1;

namespace {
constexpr Duration kLongestUse = std::chrono::hours(24);
constexpr int64_t kMostJitterSeconds = 10;

// What is sent to the subresource `token` of a ServiceAccount; it is no resource of its own.
const schema::Kind& TokenRequestKind() {
  static const schema::Kind kKind{.gvk = {"authentication.k8s.io", "v1", "TokenRequest"},
                                  .type = &authentication::TokenRequest::SchemaType(),
                                  .virtual_kind = true};
  return kKind;
}
}  // namespace

Task<Result<Tokens::Known>> Tokens::Ask(object::DocumentPtr pod, TokenWish wish) {
  core::Pod view(pod->root());
  authentication::TokenRequestBuilder request;
  request.set_kind("TokenRequest").set_api_version("authentication.k8s.io/v1");
  if (!wish.audience.empty()) request.mutable_spec().add_audiences(wish.audience);
  request.mutable_spec().set_expiration_seconds(wish.expiration_seconds);
  authentication::BoundObjectReferenceBuilder bound = request.mutable_spec().mutable_bound_object_ref();
  bound.set_kind("Pod").set_api_version("v1").set_name(view.metadata().name()).set_uid(view.metadata().uid());
  std::string account(view.spec().service_account_name().empty() ? "default" : view.spec().service_account_name());
  auto call = client_.CreateSubresource(core::ServiceAccount::SchemaKind(), std::string(view.metadata().namespace_()), account,
                                        "token", TokenRequestKind(), request.Freeze());
  Result<object::DocumentPtr> answer = co_await std::move(call);
  if (!answer) co_return Fail(NodeError("failed to fetch token: " + answer.error().message()));
  authentication::TokenRequest granted((*answer)->root());
  std::optional<WallTime> expires = ParseTime(granted.status().expiration_timestamp());
  if (granted.status().token().empty() || !expires) co_return Fail(NodeError("failed to fetch token: the answer has none"));
  WallTime now = runtime_.WallNow();
  Duration life = *expires - now;
  Duration jitter = std::chrono::seconds(static_cast<int64_t>(runtime_.Random() % kMostJitterSeconds));
  Known known{std::string(granted.status().token()), now + std::min<Duration>(life / 5 * 4, kLongestUse) - jitter, *expires};
  co_return known;
}

Task<Result<std::string>> Tokens::Get(object::DocumentPtr pod, TokenWish wish) {
  core::Pod view(pod->root());
  Key key{std::string(view.metadata().uid()), wish.audience, wish.expiration_seconds};
  auto found = known_.find(key);
  if (found != known_.end() && runtime_.WallNow() < found->second.renew_at) co_return found->second.token;
  auto ask = Ask(pod, wish);
  Result<Known> fresh = co_await std::move(ask);
  if (fresh) {
    known_[key] = *fresh;
    co_return fresh->token;
  }
  found = known_.find(key);
  if (found != known_.end() && runtime_.WallNow() < found->second.expires_at) co_return found->second.token;
  co_return Fail(fresh.error());
}

void Tokens::Forget(const std::string& uid) {
  std::erase_if(known_, [&](const auto& entry) { return entry.first.uid == uid; });
}

}  // namespace homeostat::node
