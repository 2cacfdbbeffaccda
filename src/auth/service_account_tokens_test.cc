#include <gtest/gtest.h>

#include <map>

#include "auth/pki.h"
#include "auth/service_account_tokens.h"
#include "homeostat/object/json.h"

namespace homeostat::auth {
namespace {

// Objects by plural and name.
class Objects : public kinds::ObjectReader {
 public:
  object::DocumentPtr Get(std::string_view, std::string_view plural, std::string_view, std::string_view name) const override {
    auto found = objects.find(std::string(plural) + "/" + std::string(name));
    return found == objects.end() ? nullptr : found->second;
  }
  std::vector<object::DocumentPtr> List(std::string_view, std::string_view, std::string_view) const override { return {}; }
  void Put(const std::string& key, const std::string& json) { objects[key] = object::ParseJsonDocument(json).value(); }
  std::map<std::string, object::DocumentPtr> objects;
};

TEST(LegacyTokensTest, HoldAsLongAsTheirSecretKeepsThem) {
  auto runtime = SimulatedRuntime::Make(1);
  Objects objects;
  ServiceAccountTokens tokens(*runtime, objects, {});
  EXPECT_FALSE(tokens.IssueLegacy({"ns", "robot", "u", "s"}).has_value());
  tokens.SetKey(SigningKey::Load(MakeRsaKey().value()).value());
  std::string token = tokens.IssueLegacy({"ns", "robot", "u", "s"}).value();
  const std::vector<std::string> audiences = tokens.options().api_audiences;
  EXPECT_FALSE(tokens.Verify(token, audiences).has_value());   // nothing is there yet

  objects.Put("serviceaccounts/robot", R"({"metadata":{"uid":"u"}})");
  objects.Put("secrets/s", R"({"metadata":{"name":"s"},"data":{"token":")" + token + "\"}}");
  auto verified = tokens.Verify(token, audiences);
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->user.name, "system:serviceaccount:ns:robot");
  EXPECT_EQ(verified->user.uid, "u");
  EXPECT_FALSE(tokens.Verify(token, {"another"}).has_value());

  objects.Put("secrets/s", R"({"metadata":{"name":"s"},"data":{"token":"another"}})");
  EXPECT_FALSE(tokens.Verify(token, audiences).has_value());
  objects.Put("secrets/s", R"({"metadata":{"name":"s","deletionTimestamp":"2026-01-01T00:00:00Z"},"data":{"token":")" + token + "\"}}");
  EXPECT_FALSE(tokens.Verify(token, audiences).has_value());
  objects.Put("secrets/s", R"({"metadata":{"name":"s"},"data":{"token":")" + token + "\"}}");
  objects.Put("serviceaccounts/robot", R"({"metadata":{"uid":"of another life"}})");
  EXPECT_FALSE(tokens.Verify(token, audiences).has_value());
}

// Of a server that took the place of another one, or has new keys: what was issued before stays good.
TEST(TokensTest, OtherIssuersAndKeys) {
  auto runtime = SimulatedRuntime::Make(1);
  Objects objects;
  objects.Put("serviceaccounts/robot", R"({"metadata":{"uid":"u"}})");
  auto issue = [&](const std::string& issuer, std::shared_ptr<const SigningKey> key) {
    ServiceAccountTokens tokens(*runtime, objects, {.issuer = issuer});
    tokens.SetKey(std::move(key));
    TokenClaims claims;
    claims.ns = "ns", claims.service_account = "robot", claims.service_account_uid = "u", claims.audiences = {"api"};
    claims.issued = claims.not_before = runtime->WallNow(), claims.expires = runtime->WallNow() + std::chrono::hours(1);
    return tokens.Issue(claims).value();
  };
  const std::string old_pem = MakeRsaKey().value(), new_pem = MakeRsaKey().value();
  auto old_key = SigningKey::Load(old_pem).value(), new_key = SigningKey::Load(new_pem).value();
  ServiceAccountTokens tokens(*runtime, objects, {.issuer = "https://new", .other_issuers = {"https://old"}});
  tokens.SetKey(new_key);
  EXPECT_TRUE(tokens.Verify(issue("https://new", new_key), {"api"}));
  EXPECT_TRUE(tokens.Verify(issue("https://old", new_key), {"api"}));
  EXPECT_FALSE(tokens.Verify(issue("https://another", new_key), {"api"}));
  EXPECT_FALSE(tokens.Verify(issue("https://old", old_key), {"api"}));
  tokens.SetCheckingKeys({old_key, new_key});
  EXPECT_TRUE(tokens.Verify(issue("https://old", old_key), {"api"}));
  EXPECT_TRUE(tokens.Verify(issue("https://new", new_key), {"api"}));
  // The key that signs must be among those that are named.
  tokens.SetCheckingKeys({old_key});
  EXPECT_FALSE(tokens.Verify(issue("https://new", new_key), {"api"}));
}

}  // namespace
}  // namespace homeostat::auth
