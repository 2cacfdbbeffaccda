#include "controllers/endpoint_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "controllers/json_object_test.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using api::core::v1::Pod;
using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::EndpointSlice;

object::DocumentPtr MakeService(const std::string& spec = "", const std::string& labels = "") {
  return FromJson<Service>(R"({"metadata":{"name":"web","namespace":"n","uid":"s","labels":{)" + labels + R"(}},"spec":{"clusterIP":"10.96.0.9","ipFamilies":["IPv4"],
      "selector":{"app":"a"})" + spec + "}}");
}
object::DocumentPtr MakePod(const std::string& spec = "{}", const std::string& status = R"({"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]})",
                            const std::string& more = "") {
  return FromJson<Pod>(R"({"metadata":{"name":"p","namespace":"n","uid":"u")" + more + R"(},"spec":)" + spec + ",\"status\":" + status + "}");
}

PlannedEndpoint Endpoint(int number, bool ready = true) {
  PlannedEndpoint endpoint;
  endpoint.address = "10.0." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
  endpoint.pod_ns = "n";
  endpoint.pod_name = "p" + std::to_string(number);
  endpoint.pod_uid = "u" + std::to_string(number);
  endpoint.node = "node";
  endpoint.ready = endpoint.serving = ready;
  return endpoint;
}

const SliceGroup kGroup{"IPv4", {{"http", "TCP", 80, {}}}};

// The slices of a cluster, to which plans are applied.
struct Slices {
  std::vector<object::DocumentPtr> all;
  int made = 0;

  SlicePlan Apply(const object::DocumentPtr& service, const WantedEndpoints& wanted, const std::vector<std::string>& types = {"IPv4"}) {
    SlicePlan plan = PlanSlices(Service(service->root()), all, wanted, types);
    for (const object::DocumentPtr& gone : plan.remove) std::erase(all, gone);
    for (const object::DocumentPtr& next : plan.update) {
      auto known = std::ranges::find(all, sdk::meta::Name(next->root()), [](const object::DocumentPtr& s) { return sdk::meta::Name(s->root()); });
      EXPECT_NE(known, all.end());
      *known = next;
    }
    for (const object::DocumentPtr& next : plan.create) {
      api::discovery::v1::EndpointSlice view(next->root());
      EXPECT_EQ(view.metadata().generate_name(), "web-");
      auto document = std::make_shared<object::Document>();
      document->arena().Keep(next);
      object::Value name = object::Value::String(document->arena(), "web-" + std::to_string(++made));
      document->set_root(object::WithPath(document->arena(), next->root(), {"metadata", "name"}, name));
      auto conformed = FromJson<EndpointSlice>(object::JsonText(document->root()));
      all.push_back(conformed);
    }
    return plan;
  }
  size_t Count() const {
    size_t count = 0;
    for (const object::DocumentPtr& slice : all) count += EndpointSlice(slice->root()).endpoints().size();
    return count;
  }
};

WantedEndpoints Wanted(int from, int to) {
  WantedEndpoints wanted;
  for (int i = from; i < to; ++i) wanted[kGroup].push_back(Endpoint(i));
  return wanted;
}

TEST(EndpointPlanTest, WhatAnEarlierServiceLeftIsNotUsedAgain) {
  auto earlier = FromJson<Service>(R"({"metadata":{"name":"web","namespace":"n","uid":"earlier"},"spec":{"clusterIP":"10.96.0.9","ipFamilies":["IPv4"],"selector":{"app":"a"}}})");
  Slices slices;
  slices.Apply(earlier, Wanted(0, 3));
  SlicePlan plan = slices.Apply(MakeService(), Wanted(0, 3));
  EXPECT_EQ(plan.create.size(), 1u);
  EXPECT_EQ(plan.update.size(), 0u);
  EXPECT_EQ(plan.remove.size(), 1u);
}

TEST(EndpointPlanTest, SaysWhatItAnswersTo) {
  auto service = MakeService();
  SlicePlan made = PlanSlices(Service(service->root()), {}, Wanted(0, 1), {"IPv4"}, "2026-01-02T03:04:05Z");
  ASSERT_EQ(made.create.size(), 1u);
  EXPECT_EQ(sdk::meta::Annotations(made.create[0]->root()).Get("endpoints.kubernetes.io/last-change-trigger-time").AsString(), "2026-01-02T03:04:05Z");
  SlicePlan same = PlanSlices(Service(service->root()), made.create, Wanted(0, 1), {"IPv4"}, "");
  EXPECT_TRUE(same.update.empty()) << "the annotation alone is no change";
  SlicePlan next = PlanSlices(Service(service->root()), made.create, Wanted(0, 2), {"IPv4"}, "");
  ASSERT_EQ(next.update.size(), 1u);
  EXPECT_TRUE(sdk::meta::Annotations(next.update[0]->root()).empty());
}

TEST(EndpointPlanTest, FillsSlicesOfAHundred) {
  auto service = MakeService();
  Slices slices;
  SlicePlan plan = slices.Apply(service, Wanted(0, 250));
  EXPECT_EQ(plan.create.size(), 3u);
  EXPECT_EQ(slices.Count(), 250u);
  for (const auto& slice : slices.all) EXPECT_LE(EndpointSlice(slice->root()).endpoints().size(), 100u);
  plan = slices.Apply(service, Wanted(0, 250));
  EXPECT_TRUE(plan.create.empty() && plan.update.empty() && plan.remove.empty()) << "nothing changes for nothing";
  // One more goes where there is room; one slice changes.
  plan = slices.Apply(service, Wanted(0, 251));
  EXPECT_EQ(plan.update.size(), 1u);
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(slices.Count(), 251u);
}

TEST(EndpointPlanTest, ChangesWhatItMust) {
  auto service = MakeService();
  Slices slices;
  slices.Apply(service, Wanted(0, 200));
  WantedEndpoints wanted = Wanted(0, 200);
  wanted[kGroup][7].ready = false;
  SlicePlan plan = slices.Apply(service, wanted);
  EXPECT_EQ(plan.update.size(), 1u);
  // The replaced pod's place is taken in the slice that changes anyway.
  wanted = Wanted(1, 201);
  wanted[kGroup][6].ready = false;
  plan = slices.Apply(service, wanted);
  EXPECT_EQ(plan.update.size(), 1u);
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(slices.Count(), 200u);
}

TEST(EndpointPlanTest, NeverIsAServiceWithoutSlices) {
  auto service = MakeService();
  Slices slices;
  SlicePlan plan = slices.Apply(service, {});
  ASSERT_EQ(slices.all.size(), 1u);
  EXPECT_TRUE(EndpointSlice(slices.all[0]->root()).endpoints().empty());
  EXPECT_TRUE(EndpointSlice(slices.all[0]->root()).ports().empty());
  plan = slices.Apply(service, {});
  EXPECT_TRUE(plan.create.empty() && plan.update.empty());
  // The empty one takes in the first endpoints, and the last to go leave it empty.
  plan = slices.Apply(service, Wanted(0, 2));
  EXPECT_EQ(plan.update.size(), 1u);
  EXPECT_TRUE(plan.create.empty() && plan.remove.empty());
  EXPECT_EQ(EndpointSlice(slices.all[0]->root()).ports()[0].port(), 80);
  plan = slices.Apply(service, {});
  EXPECT_EQ(slices.all.size(), 1u);
  EXPECT_EQ(slices.Count(), 0u);
  // Two families, two slices; one less, one less.
  slices.Apply(service, {}, {"IPv4", "IPv6"});
  EXPECT_EQ(slices.all.size(), 2u);
  slices.Apply(service, {}, {"IPv6"});
  EXPECT_EQ(slices.all.size(), 1u);
  EXPECT_EQ(EndpointSlice(slices.all[0]->root()).address_type(), "IPv6");
}

TEST(EndpointPlanTest, LabelsFollowTheService) {
  Slices slices;
  slices.Apply(MakeService("", R"("team":"x","kubernetes.io/service-name":"forged")"), Wanted(0, 1));
  auto labels = EndpointSlice(slices.all[0]->root()).metadata().labels();
  EXPECT_EQ(labels.Get("team"), "x");
  EXPECT_EQ(labels.Get("kubernetes.io/service-name"), "web");
  EXPECT_EQ(labels.Get("endpointslice.kubernetes.io/managed-by"), "endpointslice-controller.k8s.io");
  EXPECT_FALSE(labels.contains(kHeadlessLabel));
  EXPECT_EQ(EndpointSlice(slices.all[0]->root()).metadata().owner_references()[0].uid(), "s");
  SlicePlan plan = slices.Apply(MakeService(R"(,"clusterIP":"None")"), Wanted(0, 1));
  EXPECT_EQ(plan.update.size(), 1u);
  EXPECT_TRUE(EndpointSlice(slices.all[0]->root()).metadata().labels().contains(kHeadlessLabel));
  EXPECT_FALSE(EndpointSlice(slices.all[0]->root()).metadata().labels().contains("team"));
}

TEST(EndpointPlanTest, PodsWithOtherPortsHaveTheirOwnSlices) {
  auto service = MakeService();
  Slices slices;
  WantedEndpoints wanted = Wanted(0, 3);
  SliceGroup other{"IPv4", {{"http", "TCP", 8080, {}}}};
  wanted[other].push_back(Endpoint(9));
  slices.Apply(service, wanted);
  EXPECT_EQ(slices.all.size(), 2u);
  // All move to the other port: the slices are rewritten, none is made.
  WantedEndpoints moved;
  moved[other] = Wanted(0, 3)[kGroup];
  SlicePlan plan = slices.Apply(service, moved);
  EXPECT_TRUE(plan.create.empty());
  EXPECT_EQ(slices.Count(), 3u);
}

// Whatever happens, the slices say what is wanted, each endpoint once.
TEST(EndpointPlanTest, AlwaysAgreesWithWhatIsWanted) {
  auto service = MakeService();
  Slices slices;
  uint64_t random = 3;
  auto draw = [&](uint64_t limit) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return (random >> 33) % limit;
  };
  for (int round = 0; round < 200; ++round) {
    WantedEndpoints wanted;
    std::set<std::string> keys;
    uint64_t share = draw(10);
    for (int i = 0; i < 330; ++i) {
      if (draw(10) < share) continue;
      PlannedEndpoint endpoint = Endpoint(i, draw(5) != 0);
      keys.insert(endpoint.Key() + (endpoint.ready ? "+" : "-"));
      wanted[kGroup].push_back(endpoint);
    }
    slices.Apply(service, wanted);
    std::set<std::string> found;
    for (const auto& slice : slices.all) {
      EXPECT_LE(EndpointSlice(slice->root()).endpoints().size(), 100u);
      for (auto e : EndpointSlice(slice->root()).endpoints()) {
        std::string key = std::string(e.addresses()[0]) + "//n/" + std::string(e.target_ref().name()) + "/" + std::string(e.target_ref().uid());
        EXPECT_TRUE(found.insert(key + (e.conditions().ready() ? "+" : "-")).second) << key << " twice";
      }
    }
    ASSERT_EQ(found, keys);
  }
}

TEST(EndpointPlanTest, TargetPorts) {
  auto pod = MakePod(R"({"containers":[{"name":"c","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"dns","containerPort":53,"protocol":"UDP"}]}],
      "initContainers":[{"name":"side","restartPolicy":"Always","ports":[{"name":"metrics","containerPort":9090,"protocol":"TCP"}]},
                        {"name":"once","ports":[{"name":"setup","containerPort":1,"protocol":"TCP"}]}]})");
  struct Case {
    std::string port;
    std::optional<int32_t> expected;
  };
  for (const Case& c : {Case{R"({"port":80,"protocol":"TCP","targetPort":"http"})", 8080}, Case{R"({"port":80,"protocol":"UDP","targetPort":"http"})", {}},
                        Case{R"({"port":80,"protocol":"UDP","targetPort":"dns"})", 53}, Case{R"({"port":80,"protocol":"TCP","targetPort":81})", 81},
                        Case{R"({"port":80,"protocol":"TCP"})", 80}, Case{R"({"port":80,"protocol":"TCP","targetPort":"metrics"})", 9090},
                        Case{R"({"port":80,"protocol":"TCP","targetPort":"setup"})", {}}}) {
    auto port = FromJson<ServicePort>(c.port);
    EXPECT_EQ(TargetPort(ServicePort(port->root()), Pod(pod->root())), c.expected) << c.port;
  }
}

TEST(EndpointPlanTest, ConditionsOfEndpoints) {
  std::string ready = R"({"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],"conditions":[{"type":"Ready","status":"True"}]})";
  auto service = MakeService(), publishing = MakeService(R"(,"publishNotReadyAddresses":true)"), near = MakeService(R"(,"trafficDistribution":"PreferSameNode")");
  auto running = MakePod(R"({"nodeName":"x","hostname":"h","subdomain":"web"})", ready), starting = MakePod(),
       going = MakePod("{}", ready, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  auto of = [](const object::DocumentPtr& s, const object::DocumentPtr& p, std::string type = "IPv4") {
    return EndpointOf(Service(s->root()), Pod(p->root()), type, "zone-a");
  };
  EXPECT_TRUE(of(service, running).ready && of(service, running).serving && !of(service, running).terminating);
  EXPECT_EQ(of(service, running).hostname, "h");
  EXPECT_EQ(of(service, running, "IPv6").address, "fd00::1");
  EXPECT_FALSE(of(service, starting).ready);
  EXPECT_TRUE(of(publishing, starting).ready);
  EXPECT_FALSE(of(publishing, starting).serving);
  EXPECT_TRUE(!of(service, going).ready && of(service, going).serving && of(service, going).terminating);
  EXPECT_FALSE(of(service, running).zone_hint);
  EXPECT_TRUE(of(near, running).zone_hint && of(near, running).node_hint);
  EXPECT_FALSE(of(near, starting).zone_hint);
  EXPECT_FALSE(BelongsInEndpoints(Pod(MakePod("{}", R"({"phase":"Succeeded","podIP":"10.0.0.1"})")->root()), true));
  EXPECT_FALSE(BelongsInEndpoints(Pod(MakePod("{}", "{}")->root()), true));
  EXPECT_FALSE(BelongsInEndpoints(Pod(going->root()), false));
}

}  // namespace
}  // namespace homeostat::controllers
