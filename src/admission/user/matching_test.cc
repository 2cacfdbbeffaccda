// Which requests rules and selectors are about, and match conditions.
#include "admission/user/matching.h"

#include "admission/fixture_test.h"
#include "admission/user/expressions.h"

namespace homeostat::admission {
namespace {

constexpr std::string_view kDeployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: {replicas: 3}}";
constexpr std::string_view kAutoscaler = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {maxReplicas: 3, "
                                         "scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}}";
constexpr std::string_view kNamespace = "{apiVersion: v1, kind: Namespace, metadata: {name: blue, labels: {team: blue}}}";

class MatchingTest : public PluginTest {
 protected:
  // The place of the match as "group/version resource Kind", "-" for none, or the error.
  std::string Match(std::string_view criteria, std::string_view object, std::string_view subresource, Operation operation,
                    const schema::Kind* requested = nullptr, bool webhook = false) {
    object::DocumentPtr document = Load(object);
    auto rules = object::ParseYaml(arena_, criteria);
    EXPECT_TRUE(rules) << criteria;
    MatchCriteria made = webhook ? MatchCriteria::OfWebhook(*rules) : MatchCriteria::OfPolicy(*rules);
    const schema::Kind& kind = KindOf(document->root());
    std::string_view ns = kind.namespaced ? "default" : "";
    kinds::RuleContext context{arena_, kind, subresource, ns, user_, *runtime_, objects_};
    context.requested = requested;
    arena_.Keep(document);
    std::string_view name = document->root().Path({"metadata", "name"}).AsString();
    bool sent = operation != Operation::kDelete;
    Request request{operation, kind, subresource, ns, name, sent ? document->root() : Value(), sent ? Value() : document->root(), Value(), context};
    Attributes attributes(request, served_);
    auto place = made.Match(attributes, objects_);
    if (!place) return place.error().message();
    if (*place == nullptr) return "-";
    auto text = [](std::string_view view) { return std::string(view); };
    return text((*place)->resource.group) + "/" + text((*place)->resource.version) + " " + text((*place)->resource.resource) + " " +
           text((*place)->kind.kind);
  }

  object::Arena arena_;
};

TEST_F(MatchingTest, MatchesRulesOfOperations) {
  struct Case {
    std::string_view rule, subresource;
    Operation operation;
    std::string_view place;
  };
  constexpr std::string_view kFound = "apps/v1 deployments Deployment", kScale = "apps/v1 deployments Scale";
  static constexpr Case kCases[] = {
      {"apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]", "", Operation::kCreate, kFound},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']", "", Operation::kDelete, kFound},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']", "scale", Operation::kUpdate, "-"},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']", "scale", Operation::kUpdate, kScale},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']", "", Operation::kUpdate, kFound},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['deployments/*']", "scale", Operation::kUpdate, kScale},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/scale']", "scale", Operation::kUpdate, kScale},
      {"apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/scale']", "", Operation::kUpdate, "-"},
      {"apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]", "", Operation::kCreate, "-"},
      {"apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [deployments]", "", Operation::kCreate, "-"},
      {"apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments], scope: Cluster", "", Operation::kCreate, "-"},
      {"apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments], scope: Namespaced", "", Operation::kCreate, kFound},
      {"apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments], resourceNames: [a, web]", "", Operation::kCreate, kFound},
      {"apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments], resourceNames: [a]", "", Operation::kCreate, "-"},
  };
  for (const Case& test : kCases) {
    std::string criteria = "{matchPolicy: Equivalent, resourceRules: [{" + std::string(test.rule) + "}]}";
    EXPECT_EQ(Match(criteria, kDeployment, test.subresource, test.operation), test.place) << test.rule;
    std::string webhook = "{matchPolicy: Equivalent, rules: [{" + std::string(test.rule) + "}]}";
    if (test.rule.find("resourceNames") == test.rule.npos) {
      EXPECT_EQ(Match(webhook, kDeployment, test.subresource, test.operation, nullptr, true), test.place) << test.rule;
    }
  }
}

TEST_F(MatchingTest, FindsEquivalentResources) {
  std::string rule = "resourceRules: [{apiGroups: [autoscaling], apiVersions: [v1], operations: ['*'], resources: [horizontalpodautoscalers]}]";
  const schema::Kind* v2 = api::FindKind("autoscaling", "v2", "HorizontalPodAutoscaler");
  EXPECT_EQ(Match("{matchPolicy: Equivalent, " + rule + "}", kAutoscaler, "", Operation::kCreate, v2),
            "autoscaling/v1 horizontalpodautoscalers HorizontalPodAutoscaler");
  EXPECT_EQ(Match("{matchPolicy: Exact, " + rule + "}", kAutoscaler, "", Operation::kCreate, v2), "-");
  std::string events = "{matchPolicy: Equivalent, resourceRules: [{apiGroups: [events.k8s.io], apiVersions: [v1], operations: ['*'], resources: [events]}]}";
  EXPECT_EQ(Match(events, "{apiVersion: v1, kind: Event, metadata: {name: e}}", "", Operation::kCreate), "events.k8s.io/v1 events Event");
  EXPECT_EQ(Match("{matchPolicy: Equivalent, " + rule + ", excludeResourceRules: [{apiGroups: ['*'], apiVersions: [v2], operations: ['*'], "
                  "resources: ['*']}]}", kAutoscaler, "", Operation::kCreate, v2), "-");
}

TEST_F(MatchingTest, AsksSelectors) {
  Have("{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {team: red}}}");
  constexpr std::string_view kFound = "apps/v1 deployments Deployment";
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: red}}}", kDeployment, "", Operation::kCreate), kFound);
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: blue}}}", kDeployment, "", Operation::kCreate), "-");
  EXPECT_EQ(Match("{objectSelector: {matchLabels: {app: web}}}", kDeployment, "", Operation::kDelete), kFound);
  EXPECT_EQ(Match("{objectSelector: {matchLabels: {app: other}}}", kDeployment, "", Operation::kCreate), "-");
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: blue}}}", kNamespace, "", Operation::kCreate), "/v1 namespaces Namespace");
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: red}}}", kNamespace, "", Operation::kCreate), "-");
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: red}}}", kNamespace, "", Operation::kDelete), "namespaces \"blue\" not found");
  std::string_view node = "{apiVersion: v1, kind: Node, metadata: {name: node1}}";
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: blue}}}", node, "", Operation::kCreate), "/v1 nodes Node");
  Remove("", "namespaces", "/default");
  EXPECT_EQ(Match("{namespaceSelector: {matchLabels: {team: red}}}", kDeployment, "", Operation::kCreate), "namespaces \"default\" not found");
}

TEST_F(MatchingTest, EvaluatesMatchConditions) {
  struct Case {
    std::string_view conditions;
    bool ignores_faults, matches;
    std::string_view failed, fault;
  };
  static constexpr Case kCases[] = {
      {"[{name: a, expression: 'object.spec.replicas == 3'}]", false, true, "", ""},
      {"[{name: a, expression: 'true'}, {name: b, expression: 'request.operation != \"CREATE\"'}]", false, false, "b", ""},
      {"[{name: a, expression: 'object.spec.nothing == 1'}]", false, false, "",
       "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"},
      {"[{name: a, expression: 'object.spec.nothing == 1'}]", true, false, "", ""},
      {"[{name: a, expression: 'object.spec.nothing == 1'}, {name: b, expression: 'false'}]", false, false, "b", ""},
      {"[{name: a, expression: 'request.namespace == \"default\" && request.kind.group == \"apps\" && oldObject == null'}]", false, true, "", ""},
      {"[{name: a, expression: 'authorizer.group(\"apps\").resource(\"deployments\").namespace(\"x\").check(\"get\").allowed()'}]", false, true, "", ""},
      {"[{name: a, expression: 'authorizer.requestResource.check(\"create\").allowed()'}]", false, false, "a", ""},
      {"[{name: a, expression: 'request.userInfo.username == \"mira\" && !has(request.subResource)'}]", false, true, "", ""},
  };
  authorizer_.allowed = {"get deployments "};
  cel::PolicyEnvironment environment({.authorizer = true}, false);
  object::DocumentPtr document = Load(kDeployment);
  const schema::Kind& kind = KindOf(document->root());
  kinds::RuleContext context{arena_, kind, "", "default", user_, *runtime_, objects_};
  Request request{Operation::kCreate, kind, "", "default", "web", document->root(), Value(), Value(), context};
  Attributes attributes(request, served_);
  auto objects = attributes.In(attributes.place());
  ASSERT_TRUE(objects);
  ExpressionAuthorizer authorizer(authorizer_, user_);
  for (const Case& test : kCases) {
    auto list = object::ParseYaml(arena_, test.conditions);
    ASSERT_TRUE(list) << test.conditions;
    MatchConditions conditions(*list, environment, test.ignores_faults);
    ExpressionInput input(attributes, *objects, Value(), Value(), &authorizer);
    MatchConditions::Answer answer = Await(conditions.Match(input));
    EXPECT_EQ(answer.matches, test.matches) << test.conditions;
    EXPECT_EQ(answer.failed, test.failed) << test.conditions;
    EXPECT_EQ(answer.fault, test.fault) << test.conditions;
  }
}

}  // namespace
}  // namespace homeostat::admission
