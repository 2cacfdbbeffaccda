// Writes that webhooks of users change or refuse, honest and otherwise.
#include "server/internal/webhook_test_server.h"

namespace homeostat::server {
namespace {

using internal::PatchAnswer;
using internal::TestAnswer;
using object::Value;

class WebhookAdmissionTest : public internal::WebhookTest {};

TEST_F(WebhookAdmissionTest, RefusalsAreTheWebhooksWords) {
  Configure("Validating", "v", "/v", Rule("", "v1", "configmaps"));
  struct Case {
    std::string response;
    int code;
    std::string message;
  };
  std::string start = "admission webhook \"v.example.com\" denied the request";
  for (const Case& test : std::vector<Case>{
           {R"("allowed":false)", 400, start + " without explanation"},
           {R"("allowed":false,"status":{"code":200,"reason":"Odd"})", 400, start + ": Odd"},
           {R"("allowed":false,"status":{"code":418,"message":"I am a teapot"})", 418, start + ": I am a teapot"},
           {R"("allowed":false,"status":{"code":9999,"message":"x"})", 500, start + ": x"},
           {R"("allowed":true,"patch":"W10=")", 500,
            "Internal error occurred: failed calling webhook \"v.example.com\": received invalid webhook response: validating webhook may not "
            "return response.patch"},
           {R"("allowed":"yes")", 500,
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: json: cannot unmarshal string into Go "
            "struct field AdmissionResponse.response.allowed of type bool"},
       }) {
    hook.answers["/v"] = test.response;
    TestAnswer answer = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
    EXPECT_EQ(answer.code, test.code) << test.response;
    EXPECT_EQ(answer.message(), test.message);
  }
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "/a").code, 404);
}

TEST_F(WebhookAdmissionTest, MutationsAreTypedDefaultedAndSeenByTheNext) {
  Configure("Mutating", "a", "/a", Rule("", "v1", "services"));
  Configure("Mutating", "b", "/b", Rule("", "v1", "services"));
  hook.answers["/a"] = PatchAnswer(R"([{"op":"add","path":"/metadata/labels","value":{"a":"1"}},{"op":"remove","path":"/spec/type"}])");
  hook.answers["/b"] = R"("allowed":true)";
  TestAnswer made = Ask("POST", "/api/v1/namespaces/default/services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.Text({"spec", "type"}), "ClusterIP");
  EXPECT_EQ(made.Text({"metadata", "labels", "a"}), "1");
  Value seen = hook.reviews["/b"][0]->root().Path({"request", "object"});
  EXPECT_EQ(seen.Path({"metadata", "labels", "a"}).AsString(), "1");
  EXPECT_EQ(seen.Path({"spec", "type"}).AsString(), "ClusterIP");
}

TEST_F(WebhookAdmissionTest, WebhooksAreCalledAgainIfNeeded) {
  Configure("Mutating", "first", "/first", Rule("", "v1", "configmaps"), R"(,"reinvocationPolicy":"IfNeeded")");
  Configure("Mutating", "never", "/never", Rule("", "v1", "configmaps"));
  Configure("Mutating", "second", "/second", Rule("", "v1", "configmaps"));
  hook.answers["/first"] = hook.answers["/never"] = R"("allowed":true)";
  hook.answers["/second"] = PatchAnswer(R"([{"op":"add","path":"/data","value":{"x":"y"}}])");
  ASSERT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})").code, 201);
  EXPECT_EQ(hook.reviews["/first"].size(), 2u);
  EXPECT_EQ(hook.reviews["/never"].size(), 1u);
  EXPECT_EQ(hook.reviews["/second"].size(), 1u);
  EXPECT_EQ(hook.reviews["/first"][1]->root().Path({"request", "object", "data", "x"}).AsString(), "y");
}

TEST_F(WebhookAdmissionTest, FailurePolicyAndUnreachable) {
  hook_server.reset();
  auto configure = [&](std::string_view name, std::string_view policy) {
    std::string body = R"({"metadata":{"name":")" + std::string(name) + R"("},"webhooks":[{"name":"x.example.com","clientConfig":{"service":{"name":"s","namespace":"n"}},"rules":[)" +
                       Rule("", "v1", "configmaps") + R"(],"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":")" + std::string(policy) + "\"}]}";
    EXPECT_EQ(Ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body).code, 201);
  };
  configure("ignoring", "Ignore");
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})").code, 201);
  configure("failing", "Fail");
  TestAnswer answer = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"b"}})");
  EXPECT_EQ(answer.code, 500);
  std::string why = R"(failed calling webhook "x.example.com": failed to call webhook: Post "https://s.n.svc:443/?timeout=10s": service "s" not found)";
  EXPECT_EQ(answer.message(), "Internal error occurred: " + why);
  EXPECT_EQ(answer.Get({"details", "causes"}).At(0).Get("message").AsString(), why);
}

TEST_F(WebhookAdmissionTest, UnreadableManagedFieldsAreTakenBack) {
  Configure("Mutating", "m", "/m", Rule("", "v1", "configmaps"));
  hook.answers["/m"] = PatchAnswer(R"([{"op":"replace","path":"/metadata/managedFields","value":[{"manager":"x","operation":"Steal"}]}])");
  TestAnswer made = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  ASSERT_EQ(made.code, 201) << made.message();
  EXPECT_EQ(made.Get({"metadata", "managedFields"}).At(0).Get("operation").AsString(), "Update");
  EXPECT_TRUE(std::string(made.headers.Get("Warning")).contains(".metadata.managedFields was in an invalid state after admission"))
      << made.headers.Get("Warning");
}

TEST_F(WebhookAdmissionTest, PatchesThatDoNotApply) {
  Configure("Mutating", "m", "/m", Rule("", "v1", "configmaps"));
  struct Case {
    std::string response, message;
  };
  std::string failed = "Internal error occurred: failed calling webhook \"m.example.com\": ";
  for (const Case& test : std::vector<Case>{
           {PatchAnswer(R"([{"op":"remove","path":"/a/b"}])"), "Internal error occurred: remove operation does not apply: doc is missing path: \"/a/b\": missing value"},
           {PatchAnswer(R"([{"op":"test","path":"/kind","value":"x"}])"), "Internal error occurred: testing value /kind failed: test failed"},
           {PatchAnswer("nonsense"), failed + "received undecodable patch in webhook response: invalid character 'o' in literal null (expecting 'u')"},
           {R"("allowed":true,"patchType":"Magic","patch":"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=")", failed + "unsupported patch type \"Magic\""},
           {R"("allowed":true,"patchType":"JSONPatch")", failed + "received invalid webhook response: webhook returned response.patchType but not response.patch"},
       }) {
    hook.answers["/m"] = test.response;
    TestAnswer answer = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
    EXPECT_EQ(answer.code, 500) << test.response;
    EXPECT_EQ(answer.message(), test.message);
  }
}

TEST_F(WebhookAdmissionTest, DeletionsShowTheOldObject) {
  Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
  Configure("Validating", "v", "/v", Rule("", "v1", "configmaps", "DELETE"));
  hook.answers["/v"] = R"("allowed":false,"status":{"message":"stays"})";
  EXPECT_EQ(Ask("DELETE", std::string(kMaps) + "/a").code, 400);
  Value request = hook.reviews["/v"][0]->root().Get("request");
  EXPECT_TRUE(request.Get("object").IsNull());
  EXPECT_EQ(request.Path({"oldObject", "metadata", "name"}).AsString(), "a");
  EXPECT_EQ(request.Path({"options", "kind"}).AsString(), "DeleteOptions");
}

}  // namespace
}  // namespace homeostat::server
