// What kinds outside the core group refuse, convert and show: objects as a client sends them, and the faults in order.
#include "kinds/groups.h"

#include <gtest/gtest.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "kinds/batch/batch.h"

namespace homeostat::kinds {
namespace {

class NoObjects : public ObjectReader {
 public:
  object::DocumentPtr Get(std::string_view, std::string_view, std::string_view, std::string_view) const override { return nullptr; }
  std::vector<object::DocumentPtr> List(std::string_view, std::string_view, std::string_view) const override { return {}; }
};

const Behaviour& Find(std::string_view group, std::string_view kind) {
  for (const Behaviour* behaviour : GroupBehaviours()) {
    if (behaviour->group == group && behaviour->kind == kind) return *behaviour;
  }
  ADD_FAILURE() << group << " " << kind;
  return *GroupBehaviours().front();
}

struct Fixture {
  Value Typed(const schema::Kind& kind, std::string_view json) {
    auto parsed = object::ParseJson(arena, json);
    EXPECT_TRUE(parsed) << json;
    schema::ConformReport report;
    auto typed = schema::Conform(arena, *parsed, *kind.type, report);
    EXPECT_TRUE(typed) << json;
    return *typed;
  }
  RuleContext Rules(const schema::Kind& kind, std::string_view subresource = "") {
    return RuleContext{arena, kind, subresource, "default", user, *runtime, objects, false, &warnings};
  }
  object::Arena arena;
  User user{.name = "someone"};
  NoObjects objects;
  std::vector<std::string> warnings;
  std::unique_ptr<SimulatedRuntime> runtime = SimulatedRuntime::Make(1);
};

std::string Text(const FieldErrors& errors) {
  std::string text;
  for (const StatusCause& cause : errors.causes()) text += (text.empty() ? "" : "; ") + cause.field + ": " + cause.message;
  return text;
}

struct Case {
  std::string_view group, version, kind, object, old, faults, subresource = "";
};

TEST(GroupBehaviours, RefuseWithUpstreamsWords) {
  constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
  const Case cases[] = {
      {kRbac, "v1", "Role", R"({"rules":[{"verbs":["get"],"apiGroups":[""]}]})", "",
       "rules[0].resources: Required value: resource rules must supply at least one resource"},
      {kRbac, "v1", "RoleBinding",
       R"({"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u","apiGroup":"no"}]})",
       "", "subjects[0].apiGroup: Unsupported value: \"no\": supported values: \"rbac.authorization.k8s.io\""},
      {"policy", "v1", "PodDisruptionBudget", R"({"spec":{"maxUnavailable":"120%"}})", "",
       "spec.maxUnavailable: Invalid value: \"120%\": must not be greater than 100%"},
      {"coordination.k8s.io", "v1", "Lease", R"({"spec":{"leaseDurationSeconds":0}})", "",
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {"scheduling.k8s.io", "v1", "PriorityClass", R"({"metadata":{"name":"a"},"value":2})", R"({"metadata":{"name":"a"},"value":1})",
       "value: Forbidden: may not be changed in an update."},
      {"storage.k8s.io", "v1", "StorageClass", R"({"provisioner":"a","volumeBindingMode":"Immediate"})",
       R"({"provisioner":"b","volumeBindingMode":"Immediate"})", "provisioner: Invalid value: \"a\": field is immutable"},
      {"networking.k8s.io", "v1", "NetworkPolicy",
       R"({"spec":{"podSelector":{},"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.0.0.0/8"]}}]}]}})", "",
       "spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`"},
      {"discovery.k8s.io", "v1", "EndpointSlice", R"({"addressType":"IPv4","endpoints":[{"addresses":["127.0.0.1"]}]})", "",
       "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"},
      {"autoscaling", "v2", "HorizontalPodAutoscaler",
       R"({"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"v1"}}})", "",
       "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group"},
      {"batch", "v1", "Job", R"({"status":{"failed":1}})", R"({"status":{"failed":2}})",
       "status.failed: Invalid value: 1: cannot decrease the failed counter", "status"},
      {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy",
       R"({"status":{"typeChecking":{"expressionWarnings":[{"fieldRef":" ","warning":"w"}]}}})", "{}",
       "status.typeChecking.expressionWarnings[0].fieldRef: Required value", "status"},
      {"apiregistration.k8s.io", "v1", "APIService",
       R"({"metadata":{"name":"v1.a.b"},"spec":{"group":"a.b","version":"v1","groupPriorityMinimum":0,"versionPriority":1}})", "",
       "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000"},
      {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding",
       R"({"spec":{"policyName":"p","validationActions":["Deny","Deny"]}})", "", "spec.validationActions[1]: Duplicate value: \"Deny\""},
      {"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", R"({"metadata":{"name":"a"},"spec":{"type":"Limited"}})", "",
       "spec.limited: Required value: must not be empty when type is Limited"},
      {"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration",
       R"({"metadata":{"name":"exempt"},"spec":{"type":"Exempt","exempt":{"nominalConcurrencyShares":5,"lendablePercent":50}}})", "", ""},
      {"flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration",
       R"({"metadata":{"name":"catch-all"},"spec":{"type":"Limited",
           "limited":{"nominalConcurrencyShares":6,"lendablePercent":0,"limitResponse":{"type":"Reject"}}}})", "",
       "spec: Invalid value: {\"Type\":\"Limited\",\"Limited\":{\"NominalConcurrencyShares\":6,\"LimitResponse\":{\"Type\":\"Reject\",\"Queuing\":null},"
       "\"LendablePercent\":0,\"BorrowingLimitPercent\":null},\"Exempt\":null}: spec of 'catch-all' must equal the fixed value"},
      {"certificates.k8s.io", "v1", "CertificateSigningRequest",
       R"({"spec":{"request":"AA==","signerName":"a.b/c","usages":["client auth"]}})", "",
       "spec.request: Invalid value: \"AA==\": PEM block type must be CERTIFICATE REQUEST"},
      {"resource.k8s.io", "v1", "DeviceClass", R"({"spec":{"extendedResourceName":"cpu"}})", "",
       "spec.extendedResourceName: Invalid value: \"cpu\": must be a valid extended resource name"},
      {"apiextensions.k8s.io", "v1", "CustomResourceDefinition",
       R"({"metadata":{"name":"a.b.c"},"spec":{"group":"b.c","scope":"Cluster","names":{"plural":"a","singular":"a","kind":"A","listKind":"AList"},
           "versions":[{"name":"v1","storage":true,"served":true,"schema":{"openAPIV3Schema":{"type":"object"}},
                        "additionalPrinterColumns":[{"name":"n","type":"string","jsonPath":"x"}]}]},"status":{"storedVersions":["v1"]}})", "",
       "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting with ."},
      {"node.k8s.io", "v1", "RuntimeClass", R"({"handler":""})", "", "handler: Required value"},
  };
  for (const Case& test : cases) {
    Fixture fixture;
    const schema::Kind* kind = api::FindKind(test.group, test.version, test.kind);
    ASSERT_NE(kind, nullptr) << test.kind;
    const Behaviour& behaviour = Find(test.group, test.kind);
    RuleContext rules = fixture.Rules(*kind, test.subresource);
    FieldErrors errors;
    Value object = fixture.Typed(*kind, test.object);
    if (test.old.empty()) {
      behaviour.validate_create(rules, object, errors);
    } else {
      behaviour.validate_update(rules, object, fixture.Typed(*kind, test.old), errors);
    }
    EXPECT_EQ(Text(errors), test.faults) << test.kind;
  }
}

TEST(GroupBehaviours, AutoscalersSurviveConversion) {
  Fixture fixture;
  const schema::Kind& v1 = *api::FindKind("autoscaling", "v1", "HorizontalPodAutoscaler");
  const schema::Kind& v2 = *api::FindKind("autoscaling", "v2", "HorizontalPodAutoscaler");
  Value object = fixture.Typed(v2, R"({"metadata":{"name":"a"},"spec":{"scaleTargetRef":{"kind":"D","name":"d"},"maxReplicas":3,
      "metrics":[{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"5"}}},
                 {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}],
      "behavior":{"scaleDown":{"stabilizationWindowSeconds":7,"policies":[{"type":"Pods","value":1,"periodSeconds":5}]}}}})");
  const Behaviour& behaviour = Find("autoscaling", "HorizontalPodAutoscaler");
  Value old = behaviour.convert(fixture.arena, object, v2, v1);
  EXPECT_EQ(old.Path({"spec", "targetCPUUtilizationPercentage"}).AsInt(), 50);
  EXPECT_EQ(old.Path({"metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"}).AsString(),
            R"([{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5"}}])");
  Value back = behaviour.convert(fixture.arena, old, v1, v2);
  EXPECT_TRUE(object::Equal(back, object)) << object::JsonText(back);
}

TEST(GroupBehaviours, WhatOldAutoscalersKeepInAnnotationsIsNoneOfANewOnes) {
  Fixture fixture;
  const Behaviour& behaviour = Find("autoscaling", "HorizontalPodAutoscaler");
  constexpr const char* kText = R"({"metadata":{"name":"a","annotations":{"autoscaling.alpha.kubernetes.io/behavior":"{","b":"c"}}})";
  for (std::string_view version : {"v1", "v2"}) {
    const schema::Kind& kind = *api::FindKind("autoscaling", version, "HorizontalPodAutoscaler");
    RuleContext rules = fixture.Rules(kind);
    Value prepared = behaviour.prepare_create(rules, fixture.Typed(kind, kText));
    EXPECT_EQ(prepared.Path({"metadata", "annotations"}).size(), version == "v1" ? 2u : 1u);
  }
}

TEST(GroupBehaviours, CellsOfListsSayHowManyMore) {
  Fixture fixture;
  struct Case {
    const char* group;
    const char* kind;
    const char* cell;
    const char* object;
    const char* text;
  };
  const Case kCases[] = {
      {"networking.k8s.io", "Ingress", "hosts", R"({"spec":{"rules":[{"host":"a"},{"host":"b"},{},{"host":"c"},{"host":"d"}]}})", "a,b,c + 2 more..."},
      {"networking.k8s.io", "Ingress", "hosts", R"({"spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"},{}]}})", "a,b,c + 1 more..."},
      {"networking.k8s.io", "Ingress", "hosts", R"({"spec":{"rules":[{},{"host":"a"},{"host":"b"},{"host":"c"}]}})", "a,b,c"},
      {"networking.k8s.io", "Ingress", "hosts", R"({"spec":{"rules":[{}]}})", "*"},
      {"discovery.k8s.io", "EndpointSlice", "ports", R"({"ports":[{"name":""}]})", "<unset>"},
      {"discovery.k8s.io", "EndpointSlice", "ports", R"({"ports":[{"name":"a"},{"port":1},{"port":2},{"port":3}]})", "a,1,2 + 1 more..."},
  };
  for (const Case& wanted : kCases) {
    Value object = fixture.Typed(*api::FindKind(wanted.group, "v1", wanted.kind), wanted.object);
    EXPECT_EQ(Find(wanted.group, wanted.kind).cell(fixture.arena, wanted.cell, object, WallTime()).AsString(), wanted.text) << wanted.object;
  }
}

TEST(GroupBehaviours, EventsHaveTwoForms) {
  Fixture fixture;
  const schema::Kind& core = *api::FindKind("", "v1", "Event");
  const schema::Kind& other = *api::FindKind("events.k8s.io", "v1", "Event");
  Value object = fixture.Typed(core, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},
      "message":"hi","count":2,"reportingComponent":"c"})");
  const Behaviour& behaviour = Find("", "Event");
  Value converted = behaviour.convert(fixture.arena, object, core, other);
  EXPECT_EQ(converted.Get("apiVersion").AsString(), "events.k8s.io/v1");
  EXPECT_EQ(converted.Path({"regarding", "name"}).AsString(), "p");
  EXPECT_EQ(converted.Get("note").AsString(), "hi");
  EXPECT_EQ(converted.Get("deprecatedCount").AsInt(), 2);
  EXPECT_TRUE(object::Equal(behaviour.convert(fixture.arena, converted, other, core), object));
}

TEST(JobIndexes, AreCountedAndChecked) {
  EXPECT_EQ(CountIndexes("0,2-4", 5).count, 4);
  EXPECT_EQ(CountIndexes("3,1", 5).error, "non-increasing order, previous: 3, current: 1");
  EXPECT_EQ(CountIndexes("5", 5).error, "too large index: \"5\"");
  EXPECT_EQ(IndexOverlap("0-2", "4", 5), "");
  EXPECT_EQ(IndexOverlap("0-2", "1", 5), "failedIndexes and completedIndexes overlap at index: 1");
}

}  // namespace
}  // namespace homeostat::kinds
