#include "kinds/internal_json.h"

#include "homeostat/api/core/v1.h"
#include "kinds/cells.h"
#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

namespace types = api::core::v1::types;

class InternalJsonTest : public BehaviourTest {};

TEST_F(InternalJsonTest, WritesEveryFieldByItsGoName) {
  Value node = Load("{apiVersion: v1, kind: Node, spec: {taints: [{key: a, effect: NoSchedule}]}}");
  EXPECT_EQ(InternalValue(types::kTaint, node.Path({"spec"}).Get("taints").At(0)).text(),
            R"({"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null})");
}

TEST_F(InternalJsonTest, ShowsDifferencesWithThreeLinesAround) {
  Value old = Load("{apiVersion: v1, kind: Node, spec: {taints: [{key: a, effect: NoSchedule}]}}");
  Value now = Load("{apiVersion: v1, kind: Node, spec: {taints: [{key: a, effect: NoExecute}]}}");
  EXPECT_EQ(InternalDiff(types::kTaint, old.Path({"spec"}).Get("taints").At(0), now.Path({"spec"}).Get("taints").At(0)),
            "@@ -1,6 +1,6 @@\n"
            " {\n"
            "  \"Key\": \"a\",\n"
            "  \"Value\": \"\",\n"
            "- \"Effect\": \"NoSchedule\",\n"
            "+ \"Effect\": \"NoExecute\",\n"
            "  \"TimeAdded\": null\n"
            " }\n");
}

TEST(UnifiedDiff, OfLines) {
  EXPECT_EQ(UnifiedDiff("a\nb", "a\nb"), "");
  EXPECT_EQ(UnifiedDiff("a\nb\nc", "a\nx\nc"), "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
  EXPECT_EQ(UnifiedDiff("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
  EXPECT_EQ(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9", "x\n2\n3\n4\n5\n6\n7\n8\ny"),
            "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n");
}

TEST(HumanDuration, GetsCoarserWithAge) {
  using std::chrono::seconds;
  const std::pair<int64_t, std::string_view> cases[] = {
      {-5, "<invalid>"}, {-1, "0s"}, {0, "0s"}, {119, "119s"}, {120, "2m"}, {200, "3m20s"}, {3600, "60m"}, {3 * 3600, "3h"},
      {3 * 3600 + 60, "3h1m"}, {8 * 3600 + 60, "8h"}, {2 * 86400 + 3600, "2d1h"}, {9 * 86400, "9d"}, {400 * 86400LL, "400d"}, {800 * 86400LL, "2y70d"}};
  for (const auto& [age, text] : cases) EXPECT_EQ(HumanDuration(seconds(age)), text) << age;
}

TEST(HumanDuration, SinceTimesOfOld) {
  const WallTime now{std::chrono::seconds(1'900'000'000)};
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"1500-01-01T00:00:00Z", "292y"}, {"0001-01-01T00:00:00Z", "<unknown>"}, {"soon", "<unknown>"}, {"9000-01-01T00:00:00Z", "<invalid>"}};
  for (const auto& [time, text] : cases) EXPECT_EQ(Since(object::Value::StringRef(time), now), text) << time;
}

}  // namespace
}  // namespace homeostat::kinds::internal
