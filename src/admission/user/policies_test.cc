// Admission policies: which writes they are about, what they refuse and change, and in which words.
#include "admission/user/policies.h"

#include "admission/admission_metrics.h"
#include "admission/fixture_test.h"
#include "kinds/audit_annotations.h"

namespace homeostat::admission {
namespace {

constexpr std::string_view kRules = "matchConstraints: {matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}, resourceRules: [{apiGroups: [''], "
                                    "apiVersions: [v1], operations: ['*'], resources: [configmaps]}]}";
constexpr std::string_view kMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {app: web}}, data: {a: '1', b: '22'}}";

class PoliciesTest : public PluginTest {
 protected:
  PoliciesTest() { Have("{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {team: red}}}"); }

  // A policy p of that sort with those parts, and a binding b.
  void HavePolicy(std::string_view sort, std::string_view parts, std::string_view binding) {
    std::string head = "{apiVersion: admissionregistration.k8s.io/v1, kind: " + std::string(sort) + "AdmissionPolicy";
    Have(head + ", metadata: {name: p}, spec: {" + std::string(kRules) + ", " + std::string(parts) + "}}");
    Have(head + "Binding, metadata: {name: b}, spec: {policyName: p, " + std::string(binding) + "}}");
  }
};

TEST_F(PoliciesTest, ValidatingPoliciesRefuse) {
  struct Case {
    std::string_view parts, binding, error;  // "" if it is let through
  };
  static constexpr Case kCases[] = {
      {"validations: [{expression: 'object.data.a == \"1\"'}]", "validationActions: [Deny]", ""},
      {"validations: [{expression: 'object.data.a == \"2\"'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.data.a == \"2\""},
      {"validations: [{expression: 'false', message: ' nope '}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: nope"},
      {"validations: [{expression: 'false', messageExpression: '\"has \" + object.data.b', message: nope}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: has 22"},
      {"validations: [{expression: 'false', messageExpression: 'object.data.none', message: nope}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: nope"},
      {"validations: [{expression: 'object.spec.x == 1'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression 'object.spec.x == 1' resulted in "
       "error: no such key: spec"},
      {"failurePolicy: Ignore, validations: [{expression: 'object.spec.x == 1'}]", "validationActions: [Deny]", ""},
      {"validations: [{expression: 'variables.sum == 3'}], variables: [{name: one, expression: 'int(object.data.a)'}, {name: sum, "
       "expression: 'variables.one + 2'}]", "validationActions: [Deny]", ""},
      {"validations: [{expression: 'variables.bad == 1'}], variables: [{name: bad, expression: 'object.x'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression 'variables.bad == 1' resulted in "
       "error: composited variable \"bad\" fails to evaluate: no such key: x"},
      {"matchConditions: [{name: never, expression: 'object.data.a != \"1\"'}], validations: [{expression: 'false'}]", "validationActions: [Deny]", ""},
      {"validations: [{expression: 'false'}]", "validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {team: blue}}, objectSelector: {}}", ""},
      {"validations: [{expression: 'namespaceObject.metadata.labels.team == \"red\"'}]", "validationActions: [Deny]", ""},
      {"validations: [{expression: 'authorizer.group(\"\").resource(\"pods\").check(\"delete\").allowed()'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: "
       "authorizer.group(\"\").resource(\"pods\").check(\"delete\").allowed()"},
      {"auditAnnotations: [{key: k, valueExpression: 'string(object.x)'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression 'string(object.x)' resulted in error: "
       "no such key: x"},
      {"paramKind: {apiVersion: nothing.example/v1, kind: Thing}, validations: [{expression: 'true'}]", "validationActions: [Deny]",
       "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource "
       "referenced by paramKind: 'nothing.example/v1, Kind=Thing'"},
      {"validations: [{expression: 'false', reason: Forbidden}]", "validationActions: [Warn]", ""},
  };
  for (const Case& test : kCases) {
    HavePolicy("Validating", test.parts, test.binding);
    auto plugin = MakeValidatingAdmissionPolicy(Parts());
    EXPECT_EQ(Run(*plugin, {kMap}).error, test.error) << test.parts;
  }
  auto plugin = MakeValidatingAdmissionPolicy(Parts());
  EXPECT_EQ(Run(*plugin, {kMap}).warnings,
            Texts{"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"});
}

TEST_F(PoliciesTest, OthersGetTheirTurnBetweenExpensiveExpressions) {
  std::string digits = "\"0123456789\".split(\"\")", loop = digits + ".all(a, " + digits + ".all(b, " + digits + ".all(c, " + digits + ".all(d, a + b != \"x\"))))";
  std::string validations;
  for (int i = 0; i < 4; ++i) validations += (i == 0 ? "" : ", ") + ("{expression: '" + loop + "'}");
  HavePolicy("Validating", "validations: [" + validations + "]", "validationActions: [Deny]");
  auto plugin = MakeValidatingAdmissionPolicy(Parts());
  int turns = 0;
  TaskGroup others(*runtime_);
  auto count = [](Runtime& runtime, int* turns) -> Task<void> {
    while (true) {
      ++*turns;
      auto yield = Yield(runtime);
      co_await std::move(yield);
    }
  };
  others.Spawn(count(*runtime_, &turns));
  EXPECT_EQ(Run(*plugin, {kMap}).error, "");
  EXPECT_GE(turns, 3);
}

TEST_F(PoliciesTest, DecisionsAreCountedAndNoted) {
  struct Case {
    std::string_view parts, actions, series;  // of check_total
    std::map<std::string, std::string> notes;
  };
  const std::string failure = R"([{"message":"wrong","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Warn","Audit"]}])";
  for (const Case& test : std::vector<Case>{
           {"validations: [{expression: 'true'}, {expression: 'false', message: wrong}]", "[Warn, Audit]",
            R"(enforcement_action="audit",error_type="no_error")", {{"validation.policy.admission.k8s.io/validation_failure", failure}}},
           {"validations: [{expression: 'object.x == 1'}]", "[Deny]", R"(enforcement_action="deny",error_type="invalid_error")", {}},
           {"failurePolicy: Ignore, validations: [{expression: 'object.x == 1'}]", "[Deny]", R"(enforcement_action="allow",error_type="invalid_error")", {}},
           {"validations: [{expression: 'false'}], auditAnnotations: [{key: k, valueExpression: '\" a \" + object.data.b'}, {key: none, valueExpression: '\" \"'}]",
            "[Deny]", R"(enforcement_action="deny",error_type="no_error")", {{"p/k", "a 22"}}},
       }) {
    MetricsRegistry registry;
    AdmissionMetrics metrics(registry);
    PluginParts parts = Parts();
    parts.metrics = &metrics;
    HavePolicy("Validating", test.parts, "validationActions: " + std::string(test.actions));
    auto plugin = MakeValidatingAdmissionPolicy(parts);
    kinds::AuditAnnotations notes(kinds::AuditLevel::kMetadata);
    annotations_ = &notes;
    Run(*plugin, {kMap});
    EXPECT_TRUE(registry.Render().contains("apiserver_validating_admission_policy_check_total{" + std::string(test.series) +
                                           R"(,policy="p",policy_binding="b"} 1)")) << registry.Render();
    EXPECT_EQ(notes.by_key(), test.notes) << test.parts;
    annotations_ = nullptr;
  }
}

TEST_F(PoliciesTest, PoliciesAreCompiledWhenTheyChange) {
  class Counted final : public CompiledPolicy {
   public:
    using CompiledPolicy::CompiledPolicy;
  };
  int compiled = 0;
  PluginParts parts = Parts();
  PolicySource source(parts, "validatingadmissionpolicies", "validatingadmissionpolicybindings", [&](object::DocumentPtr document) {
    ++compiled;
    return std::make_shared<const Counted>(std::move(document));
  });
  auto have = [&](std::string_view version) {
    Have("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p, resourceVersion: '" + std::string(version) +
         "'}, spec: {" + std::string(kRules) + ", validations: [{expression: 'true'}]}}");
  };
  have("5");
  EXPECT_TRUE(source.Policies()->empty());  // nothing is bound
  Have("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source.Policies()->size(), 1u);
  EXPECT_EQ(compiled, 1);
  have("6");
  EXPECT_EQ(source.Policies()->size(), 1u);
  EXPECT_EQ(compiled, 2);
}

TEST_F(PoliciesTest, ParametersAreObjectsOfAnyKind) {
  Have("{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: default, labels: {use: limits}}, data: {most: '1'}}");
  Have("{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: default, labels: {use: limits}}, data: {most: '2'}}");
  constexpr std::string_view kParts = "paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: 'object.data.a == params.data.most', "
                                      "messageExpression: '\"not \" + params.metadata.name'}]";
  struct Case {
    std::string_view reference, error;
  };
  constexpr std::string_view kDenied = "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
  static constexpr Case kCases[] = {
      {"{name: limits, parameterNotFoundAction: Deny}", ""},
      {"{name: more, namespace: default, parameterNotFoundAction: Deny}", "not more"},
      {"{selector: {matchLabels: {use: limits}}, parameterNotFoundAction: Deny}", "not more"},
      {"{name: none, parameterNotFoundAction: Allow}", ""},
      {"{name: none, parameterNotFoundAction: Deny}",
       "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
  };
  for (const Case& test : kCases) {
    HavePolicy("Validating", kParts, "validationActions: [Deny], paramRef: " + std::string(test.reference));
    auto plugin = MakeValidatingAdmissionPolicy(Parts());
    std::string error = Run(*plugin, {kMap}).error;
    EXPECT_EQ(error, test.error.empty() ? "" : std::string(kDenied) + std::string(test.error)) << test.reference;
  }
}

TEST_F(PoliciesTest, MutatingPoliciesChange) {
  struct Case {
    std::string_view mutation, path, value, error;
  };
  static constexpr Case kCases[] = {
      {"patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"x\": object.data.b}}}'}",
       "metadata.labels", "{\"app\":\"web\",\"x\":\"22\"}", ""},
      {"patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{x: 1}}'}", "", "",
       "policy 'p' with binding 'b' denied request: error applying patch: failed to convert patch object to typed object: .spec: field not "
       "declared in schema"},
      {"patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.wrong{name: \"x\"}}'}", "", "",
       "policy 'p' with binding 'b' denied request: type mismatch: unexpected type name \"Object.wrong\", expected \"Object.metadata\", which "
       "matches field name path from root Object type"},
      {"patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/data/c\", value: \"3\"}]'}", "data.c", "\"3\"", ""},
      {"patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"test\", path: \"/data/a\", value: \"0\"}, JSONPatch{op: \"remove\", path: "
       "\"/data/a\"}]'}", "data.a", "\"1\"", ""},
      {"patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/data/none\"}]'}", "", "",
       "policy 'p' with binding 'b' denied request: JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: none: "
       "missing value"},
      {"patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/wrong\", value: 1}]'}", "", "",
       "Internal error occurred: strict decoding error: unknown field \"wrong\""},
  };
  for (const Case& test : kCases) {
    HavePolicy("Mutating", "reinvocationPolicy: Never, mutations: [{" + std::string(test.mutation) + "}]", "matchResources: {namespaceSelector: {}, objectSelector: {}}");
    auto plugin = MakeMutatingAdmissionPolicy(Parts());
    Outcome outcome = Run(*plugin, {kMap});
    EXPECT_EQ(outcome.error, test.error) << test.mutation;
    if (test.error.empty()) {
      EXPECT_EQ(At(outcome.object, test.path), test.value) << test.mutation;
    }
  }
}

TEST_F(PoliciesTest, AtomicPartsAreNotMutated) {
  std::string rules(kRules);
  rules.replace(rules.find("[configmaps]"), 12, "[services]");
  Have("{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: p}, spec: {" + rules +
       ", reinvocationPolicy: Never, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{"
       "externalIPs: [\"1.2.3.4\"], selector: {\"a\": \"b\"}}}'}}]}}");
  Have("{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p}}");
  auto plugin = MakeMutatingAdmissionPolicy(Parts());
  EXPECT_EQ(Run(*plugin, {"{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}"}).error,
            "policy 'p' with binding 'b' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            "or structs: .spec.externalIPs, .spec.selector");
}

}  // namespace
}  // namespace homeostat::admission
