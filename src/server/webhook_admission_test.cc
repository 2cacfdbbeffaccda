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

TEST_F(WebhookAdmissionTest, AChangeThatIsTakenBackIsNone) {
  Configure("Mutating", "m", "/m", Rule("", "v1", "configmaps"));
  hook.answers["/m"] = R"("allowed":true)";
  TestAnswer made = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  ASSERT_EQ(made.code, 201) << made.message();
  std::string version(made.Text({"metadata", "resourceVersion"}));
  auto put = [&](std::string_view data) {
    return Ask("PUT", std::string(kMaps) + "/a", R"({"metadata":{"name":"a","uid":")" + std::string(made.Text({"metadata", "uid"})) +
               R"(","resourceVersion":")" + version + R"(","creationTimestamp":")" + std::string(made.Text({"metadata", "creationTimestamp"})) +
               R"("},"data":)" + std::string(data) + "}");
  };
  runtime->RunFor(std::chrono::seconds(5));
  hook.answers["/m"] = PatchAnswer(R"([{"op":"replace","path":"/data","value":{"k":"v"}}])");
  TestAnswer undone = put(R"({"k":"w"})");
  ASSERT_EQ(undone.code, 200) << undone.message();
  EXPECT_EQ(undone.Text({"metadata", "resourceVersion"}), version);
  EXPECT_EQ(undone.Get({"metadata", "managedFields"}).At(0).Get("time").AsString(), made.Get({"metadata", "managedFields"}).At(0).Get("time").AsString());
  hook.answers["/m"] = R"("allowed":true)";
  EXPECT_NE(put(R"({"k":"w"})").Text({"metadata", "resourceVersion"}), version);
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

TEST_F(WebhookAdmissionTest, TheRequestsTimeBoundsAllCalls) {
  Configure("Mutating", "a", "/a", Rule("", "v1", "configmaps"), R"(,"timeoutSeconds":30)");
  Configure("Mutating", "b", "/b", Rule("", "v1", "configmaps"), R"(,"timeoutSeconds":30,"failurePolicy":"Ignore")");
  hook.answers["/a"] = hook.answers["/b"] = R"("allowed":true)";
  hook.delays["/a"] = hook.delays["/b"] = std::chrono::milliseconds(28'500);
  MonotonicTime start = runtime->Now();
  TestAnswer answer = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(answer.code, 504);
  EXPECT_EQ(answer.message(), "Timeout: request did not complete within requested timeout - context deadline exceeded");
  EXPECT_EQ(runtime->Now() - start, std::chrono::seconds(34));
  EXPECT_EQ(hook.queries["/a"], "timeout=30s");
  EXPECT_EQ(hook.queries["/b"], "timeout=6s");
  start = runtime->Now();
  EXPECT_EQ(Ask("POST", std::string(kMaps) + "?timeout=3s", R"({"metadata":{"name":"a"}})").code, 504);
  EXPECT_EQ(runtime->Now() - start, std::chrono::seconds(3));
  EXPECT_EQ(hook.queries["/a"], "timeout=3s");
  answer = Ask("POST", std::string(kMaps) + "?timeout=soon", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(answer.code, 400);
  EXPECT_EQ(answer.message(), "invalid timeout specified in the request URL - time: invalid duration \"soon\"");
  EXPECT_EQ(Ask("GET", std::string(kMaps) + "/a").code, 404);
}

TEST_F(WebhookAdmissionTest, CallsAreCounted) {
  Configure("Mutating", "m", "/m", Rule("", "v1", "configmaps"));
  Configure("Validating", "v", "/v", Rule("", "v1", "configmaps"), R"(,"matchConditions":[{"name":"c","expression":"object.metadata.name != 'free'"}])");
  Configure("Validating", "w", "/w", Rule("", "v1", "configmaps"), R"(,"failurePolicy":"Ignore")");
  hook.answers["/m"] = hook.answers["/v"] = R"("allowed":true)";
  hook.answers["/w"] = R"("allowed":17)";
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})").code, 201);
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"free"}})").code, 201);
  hook.answers["/v"] = R"("allowed":false,"status":{"code":418})";
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"b"}})").code, 418);
  hook.answers["/m"] = R"("allowed":17)";
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"b"}})").code, 500);
  std::string metrics = TextOf("/metrics");
  for (std::string_view line : {
           R"(webhook_request_total{code="200",name="m.example.com",operation="CREATE",rejected="false",type="admit"} 3)",
           R"(webhook_request_total{code="200",name="v.example.com",operation="CREATE",rejected="false",type="validating"} 1)",
           R"(webhook_request_total{code="418",name="v.example.com",operation="CREATE",rejected="true",type="validating"} 1)",
           R"(webhook_request_total{code="503",name="w.example.com",operation="CREATE",rejected="false",type="validating"} 3)",
           R"(webhook_rejection_count{error_type="no_error",name="v.example.com",operation="CREATE",rejection_code="418",type="validating"} 1)",
           R"(webhook_rejection_count{error_type="calling_webhook_error",name="m.example.com",operation="CREATE",rejection_code="503",type="admit"} 1)",
           R"(webhook_fail_open_count{name="w.example.com",type="validating"} 3)",
           R"(webhook_admission_duration_seconds_count{name="m.example.com",operation="CREATE",rejected="true",type="admit"} 1)",
           R"(match_condition_exclusions_total{kind="webhook",name="v.example.com",operation="CREATE",type="validating"} 1)",
           R"(controller_admission_duration_seconds_count{name="ValidatingAdmissionWebhook",operation="CREATE",rejected="true",type="validate"} 1)",
           R"(step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="admit"} 1)"}) {
    EXPECT_TRUE(metrics.contains("\napiserver_admission_" + std::string(line) + "\n")) << line;
  }
}

TEST_F(WebhookAdmissionTest, WebhooksOfThisServerItself) {
  std::vector<std::string> users;
  control_plane->server().HandlePath("/hooks/own", [&](const PathRequest& request) {
    users.push_back(request.user.name);
    auto review = object::ParseJsonDocument(request.request.body);
    std::string answer = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":)" +
                         object::JsonText((*review)->root().Path({"request", "uid"})) + R"(,"allowed":false}})";
    http::Response response;
    response.body.emplace_back(std::move(answer));
    return AnswerNow(std::move(response));
  });
  std::string configuration = R"({"metadata":{"name":"own"},"webhooks":[{"name":"own.example.com","clientConfig":{"service":{"name":"kubernetes",
    "namespace":"default","path":"/hooks/own"}},"rules":[)" + Rule("", "v1", "configmaps") + R"(],"sideEffects":"None","admissionReviewVersions":["v1"]}]})";
  EXPECT_EQ(Ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration).code, 201);
  TestAnswer answer = Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(answer.message(), "admission webhook \"own.example.com\" denied the request without explanation");
  EXPECT_EQ(users, std::vector<std::string>{"system:apiserver"});
}

// A webhook that writes what it is asked about.
Task<http::Response> WriteAgain(std::shared_ptr<http::Handler> transport, std::string path, int* calls) {
  ++*calls;
  http::Request request;
  request.method = "POST";
  request.path = std::move(path);
  request.headers.Set("Content-Type", "application/json");
  request.body = Bytes(std::string(R"({"metadata":{"name":"a"}})"));
  auto handle = transport->Handle(std::move(request));
  co_return co_await std::move(handle);
}

TEST_F(WebhookAdmissionTest, AServerThatCallsItselfEnds) {
  int calls = 0;
  control_plane->server().HandlePath("/hooks/own", [&](const PathRequest&) {
    return WriteAgain(control_plane->TransportFor("admin", {"system:masters"}), std::string(kMaps), &calls);
  });
  std::string configuration = R"({"metadata":{"name":"own"},"webhooks":[{"name":"own.example.com","clientConfig":{"url":"https://kubernetes.default.svc/hooks/own"},
    "rules":[)" + Rule("", "v1", "configmaps") + R"(],"sideEffects":"None","admissionReviewVersions":["v1"]}]})";
  EXPECT_EQ(Ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration).code, 201);
  EXPECT_EQ(Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})").code, 500);
  EXPECT_EQ(calls, 100);
}

class ConvertedPoliciesTest : public WebhookAdmissionTest {
 protected:
  ConvertedPoliciesTest() { Define("/convert", true); }
  // A policy p about the ports of v2, and its binding.
  void HavePolicy(std::string_view sort, std::string_view parts, std::string_view binding) {
    std::string base = "/apis/admissionregistration.k8s.io/v1/" + std::string(sort == "Mutating" ? "mutating" : "validating") + "admissionpolic";
    TestAnswer made = Ask("POST", base + "ies", R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[)" +
                                                    Rule("example.com", "v2", "ports") + "]}," + std::string(parts) + "}}");
    EXPECT_EQ(made.code, 201) << made.message();
    made = Ask("POST", base + "ybindings", R"({"metadata":{"name":"b"},"spec":{"policyName":"p")" + std::string(binding) + "}}");
    EXPECT_EQ(made.code, 201) << made.message();
  }
};

TEST_F(ConvertedPoliciesTest, ValidatingPoliciesSeeTheVersionTheyAreAbout) {
  HavePolicy("Validating", R"("validations":[{"expression":"object.spec.host != 'bad'","message":"no bad hosts"}])", R"(,"validationActions":["Deny"])");
  TestAnswer answer = Ask("POST", v1, Port("a", "v1", R"({"address":"bad"})"));
  EXPECT_EQ(answer.code, 422);
  EXPECT_EQ(answer.message(), "ports.example.com \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no bad hosts");
  EXPECT_EQ(Ask("POST", v1, Port("a", "v1", R"({"address":"good"})")).code, 201);
}

TEST_F(ConvertedPoliciesTest, MutatingPoliciesChangeTheVersionTheyAreAbout) {
  HavePolicy("Mutating", R"("reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'replace', path: '/spec/host', value: object.spec.host + '.example'}]"}}])",
             "");
  TestAnswer answer = Ask("POST", v1, Port("a", "v1", R"({"address":"x"})"));
  ASSERT_EQ(answer.code, 201) << answer.message();
  EXPECT_EQ(answer.Text({"spec", "address"}), "x.example");
}

}  // namespace
}  // namespace homeostat::server
