#include "controllers/mirror_plan.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using api::core::v1::Endpoints;
using api::discovery::v1::EndpointSlice;

object::DocumentPtr Make(const std::string& subsets, const std::string& metadata = "") {
  return FromJson<Endpoints>(R"({"metadata":{"name":"e","namespace":"default","uid":"u")" + metadata + R"(},"subsets":)" + subsets + "}");
}

TEST(MirrorPlanTest, MakesASliceForEachFamilyAndPorts) {
  auto endpoints = Make(R"([{"addresses":[{"ip":"10.0.0.1","hostname":"h"},{"ip":"2001:db8::1"}],"notReadyAddresses":[{"ip":"10.0.0.2"}],"ports":[{"name":"p","port":80,"protocol":"TCP"}]}])",
                        R"(,"labels":{"a":"b"},"annotations":{"endpoints.kubernetes.io/last-change-trigger-time":"x","c":"d"})");
  MirrorPlan plan = PlanMirror(Endpoints(endpoints->root()), {});
  ASSERT_EQ(plan.create.size(), 2u);
  EndpointSlice four(plan.create[0]->root()), six(plan.create[1]->root());
  EXPECT_EQ(four.address_type(), "IPv4");
  EXPECT_EQ(six.address_type(), "IPv6");
  ASSERT_EQ(four.endpoints().size(), 2u);
  EXPECT_TRUE(four.endpoints()[0].conditions().ready());
  EXPECT_EQ(four.endpoints()[0].hostname(), "h");
  EXPECT_FALSE(four.endpoints()[1].conditions().ready());
  EXPECT_EQ(four.metadata().generate_name(), "e-");
  EXPECT_EQ(four.metadata().labels().Get("kubernetes.io/service-name"), "e");
  EXPECT_EQ(four.metadata().labels().Get("a"), "b");
  EXPECT_EQ(four.metadata().annotations().size(), 1u);
  EXPECT_EQ(sdk::meta::ControllerOf(four.Raw()).Get("kind").AsString(), "Endpoints");
}

TEST(MirrorPlanTest, ChangesAsLittleAsPossible) {
  auto endpoints = Make(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80,"protocol":"TCP"}]}])");
  auto slice = PlanMirror(Endpoints(endpoints->root()), {}).create.at(0);
  MirrorPlan same = PlanMirror(Endpoints(endpoints->root()), {slice});
  EXPECT_TRUE(same.create.empty() && same.update.empty() && same.remove.empty());
  auto changed = Make(R"([{"addresses":[{"ip":"10.0.0.9"}],"ports":[{"port":80,"protocol":"TCP"}]}])");
  MirrorPlan update = PlanMirror(Endpoints(changed->root()), {slice});
  EXPECT_EQ(update.update.size(), 1u);
  // Another port: the old slice is taken for the new one.
  auto moved = Make(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":81,"protocol":"TCP"}]}])");
  MirrorPlan recycled = PlanMirror(Endpoints(moved->root()), {slice});
  EXPECT_TRUE(recycled.create.empty() && recycled.remove.empty());
  ASSERT_EQ(recycled.update.size(), 1u);
  EXPECT_EQ(EndpointSlice(recycled.update[0]->root()).ports()[0].port(), 81);
  auto none = Make("[]");
  EXPECT_EQ(PlanMirror(Endpoints(none->root()), {slice}).remove.size(), 1u);
}

TEST(MirrorPlanTest, PortsBeforeTheSameAddressesGoTogether) {
  auto endpoints = Make(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"a","port":1,"protocol":"TCP"}]},)"
                        R"({"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"b","port":2,"protocol":"TCP"}]}])");
  MirrorPlan plan = PlanMirror(Endpoints(endpoints->root()), {});
  ASSERT_EQ(plan.create.size(), 1u);
  EXPECT_EQ(EndpointSlice(plan.create[0]->root()).ports().size(), 2u);
}

TEST(MirrorPlanTest, SomeAreNotMirrored) {
  auto plain = Make("[]"), skipped = Make("[]", R"(,"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"})"),
       lock = Make("[]", R"(,"annotations":{"control-plane.alpha.kubernetes.io/leader":"{}"})");
  EXPECT_TRUE(WantsMirror(Endpoints(plain->root())));
  EXPECT_FALSE(WantsMirror(Endpoints(skipped->root())));
  EXPECT_FALSE(WantsMirror(Endpoints(lock->root())));
}

}  // namespace
}  // namespace homeostat::controllers
