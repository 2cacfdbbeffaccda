#include "controllers/service_account_token.h"

#include <utility>

#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::Secret;
using api::core::v1::SecretBuilder;
using api::core::v1::ServiceAccount;

namespace {

constexpr std::string_view kType = "kubernetes.io/service-account-token";
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name", kAccountUid = "kubernetes.io/service-account.uid";
constexpr std::string_view kToken = "token", kAuthority = "ca.crt", kNamespace = "namespace";

// Secrets of other types are nobody's business here.
sdk::InformerOptions TokensOnly() {
  sdk::InformerOptions options;
  options.managed_fields = false;
  options.field_selector = "type=" + std::string(kType);
  return options;
}

bool IsComplete(const Secret& secret, const std::string& authority) {
  return secret.data().Get(kAuthority) == authority && !secret.data().Get(kNamespace).empty() && !secret.data().Get(kToken).empty();
}

}  // namespace

ServiceAccountTokenController::ServiceAccountTokenController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                             std::string authority, MakeLegacyToken make_token)
    : client_(std::move(client)),
      authority_(std::move(authority)),
      make_token_(std::move(make_token)),
      secrets_(informers.For(Secret::SchemaKind(), TokensOnly())),
      accounts_(informers.For<ServiceAccount>()),
      controller_(runtime, {.name = "serviceaccount_tokens_secret", .workers = 1, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(secrets_);
  controller_.WatchMapped(accounts_, [this](const sdk::Change& change) {
    std::vector<std::string> keys;
    const object::Value& account = (change.current ? change.current : change.previous)->root();
    for (const object::DocumentPtr& secret : secrets_.List(sdk::meta::Namespace(account))) {
      bool its = sdk::meta::Annotations(secret->root()).Get(kAccountName).AsString() == sdk::meta::Name(account);
      if (its) keys.push_back(sdk::meta::Key(secret->root()));
    }
    return keys;
  });
}

Task<Result<void>> ServiceAccountTokenController::Remove(sdk::Object<Secret> secret) {
  sdk::DeleteOptions options;
  options.precondition_uid = secret->metadata().uid();
  auto deletion = client_.Delete<Secret>(std::string(secret->metadata().namespace_()), std::string(secret->metadata().name()), options);
  Result<void> deleted = co_await deletion;
  if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> ServiceAccountTokenController::Reconcile(std::string key) {
  sdk::Object<Secret> secret(secrets_.Get(key));
  if (!secret || sdk::meta::IsDeleting(secret->Raw())) co_return sdk::ReconcileOutcome();
  std::string ns(secret->metadata().namespace_()), name(secret->metadata().annotations().Get(kAccountName));
  std::string uid(secret->metadata().annotations().Get(kAccountUid));
  if (name.empty()) co_return sdk::ReconcileOutcome();
  auto fits = [&uid](const sdk::Object<ServiceAccount>& account) { return account && (uid.empty() || account->metadata().uid() == uid); };
  sdk::Object<ServiceAccount> account(accounts_.Get(ns + "/" + name));
  if (!fits(account)) {
    // What the informer shows may be late.
    auto get = client_.Get<ServiceAccount>(ns, name);
    Result<sdk::Object<ServiceAccount>> fresh = co_await get;
    if (!fresh && !fresh.error().IsNotFound()) co_return Fail(fresh.error());
    account = fresh ? *fresh : sdk::Object<ServiceAccount>();
  }
  if (!fits(account)) {
    auto remove = Remove(secret);
    CO_TRY(co_await remove);
    co_return sdk::ReconcileOutcome();
  }
  if (IsComplete(*secret, authority_) && !uid.empty()) co_return sdk::ReconcileOutcome();
  SecretBuilder next{schema::Subtree(secret.document())};
  next.mutable_metadata().set_annotations(kAccountName, name).set_annotations(kAccountUid, account->metadata().uid());
  next.set_data(kAuthority, authority_);
  if (secret->data().Get(kNamespace).empty()) next.set_data(kNamespace, ns);
  if (secret->data().Get(kToken).empty()) {
    CO_TRY_ASSIGN(std::string token, make_token_(ns, name, std::string(account->metadata().uid()), std::string(secret->metadata().name())));
    next.set_data(kToken, token);
  }
  auto update = client_.Update<Secret>(sdk::Object<Secret>(next.Freeze()));
  Result<sdk::Object<Secret>> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
