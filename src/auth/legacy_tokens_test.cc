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

}  // namespace
}  // namespace homeostat::auth
