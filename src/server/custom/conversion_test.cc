// Objects of custom kinds that a webhook converts between versions, honest and otherwise.
#include "server/internal/webhook_test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

class ConversionTest : public internal::WebhookTest {};

TEST_F(ConversionTest, ObjectsAreStoredInOneVersionAndShownInAll) {
  Define("/convert", true);
  TestAnswer made = Ask("POST", v2, Port("a", "v2", R"({"host":"h","stray":1})"));
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.Text({"apiVersion"}), "example.com/v2");
  EXPECT_EQ(made.Text({"spec", "host"}), "h");
  EXPECT_EQ(Ask("GET", v1 + "/a").Text({"spec", "address"}), "h");
  EXPECT_EQ(Ask("GET", v2 + "/a").Text({"spec", "host"}), "h");
  ASSERT_EQ(Ask("POST", v1, Port("b", "v1", R"({"address":"i"})")).code, 201);
  TestAnswer list = Ask("GET", v2);
  ASSERT_EQ(list.Get({"items"}).size(), 2u) << list.message();
  EXPECT_EQ(list.Get({"items"}).At(1).Path({"spec", "host"}).AsString(), "i");
  TestAnswer changed = Ask("PATCH", v2 + "/b", R"({"spec":{"host":"j"}})");
  EXPECT_EQ(changed.Text({"spec", "host"}), "j") << changed.message();
  EXPECT_EQ(Ask("GET", v1 + "/b").Text({"spec", "address"}), "j");
  // What stays as it is makes no new version.
  EXPECT_EQ(Ask("PATCH", v2 + "/b", R"({"spec":{"host":"j"}})").Text({"metadata", "resourceVersion"}), changed.Text({"metadata", "resourceVersion"}));
}

TEST_F(ConversionTest, ManagersOfOtherVersionsKeepTheirFields) {
  Define("/convert", true);
  ASSERT_EQ(Ask("PATCH", v1 + "/a?fieldManager=one", Port("a", "v1", R"({"address":"h"})"), {"Content-Type: application/apply-patch+yaml"}).code, 201);
  TestAnswer conflict = Ask("PATCH", v2 + "/a?fieldManager=two", Port("a", "v2", R"({"host":"i"})"), {"Content-Type: application/apply-patch+yaml"});
  EXPECT_EQ(conflict.code, 409) << conflict.message();
  TestAnswer forced = Ask("PATCH", v2 + "/a?fieldManager=two&force=true", Port("a", "v2", R"({"host":"i"})"), {"Content-Type: application/apply-patch+yaml"});
  EXPECT_EQ(forced.code, 200) << forced.message();
  EXPECT_EQ(Ask("GET", v1 + "/a").Text({"spec", "address"}), "i");
}

TEST_F(ConversionTest, TheStoredVersionMayChange) {
  Define("/convert", true);
  ASSERT_EQ(Ask("POST", v1, Port("a", "v1", R"({"address":"h"})")).code, 201);
  Define("/convert", false);
  EXPECT_EQ(Ask("GET", v1 + "/a").Text({"spec", "address"}), "h");
  EXPECT_EQ(Ask("GET", v2 + "/a").Text({"spec", "host"}), "h");
  EXPECT_EQ(Ask("PATCH", v1 + "/a", R"({"spec":{"address":"i"}})").Text({"spec", "address"}), "i");
  EXPECT_EQ(Ask("GET", v2 + "/a").Text({"spec", "host"}), "i");
  EXPECT_EQ(Ask("DELETE", v1 + "/a").code, 200);
  EXPECT_EQ(Ask("GET", v2 + "/a").code, 404);
}

TEST_F(ConversionTest, FailedConversionsFailTheRequest) {
  Define("/convert", true);
  ASSERT_EQ(Ask("POST", v1, Port("a", "v1", R"({"address":"h"})")).code, 201);
  hook.answers["/convert"] = R"("result":{"status":"Failure","message":"no"})";
  TestAnswer answer = Ask("GET", v2 + "/a");
  EXPECT_EQ(answer.code, 500);
  EXPECT_EQ(answer.message(), "conversion webhook for example.com/v1, Kind=Port failed: no");
  EXPECT_EQ(Ask("GET", v2).code, 500);
  EXPECT_EQ(Ask("GET", v2 + "?watch=true&timeoutSeconds=1").code, 500);
  EXPECT_EQ(Ask("GET", v1 + "/a").code, 200);
  answer = Ask("POST", v2, Port("b", "v2", R"({"host":"i"})"));
  EXPECT_EQ(answer.message(), "conversion webhook for example.com/v2, Kind=Port failed: no");
  hook.answers.clear();
  EXPECT_EQ(Ask("GET", v2 + "/a").Text({"spec", "host"}), "h");
}

TEST_F(ConversionTest, ViewsAreMadeOnce) {
  Define("/convert", true);
  ASSERT_EQ(Ask("POST", v1, Port("a", "v1", R"({"address":"h"})")).code, 201);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Ask("GET", v2 + "/a").code, 200);
  EXPECT_EQ(Ask("GET", v2).code, 200);
  EXPECT_EQ(hook.reviews["/convert"].size(), 1u);
}

}  // namespace
}  // namespace homeostat::server
