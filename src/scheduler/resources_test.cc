#include "scheduler/resources.h"

#include "scheduler/internal/objects_for_tests.h"

namespace homeostat::scheduler {
namespace {

struct Case {
  const char* name;
  const char* spec;
  int64_t milli_cpu, memory, default_milli_cpu;
};

TEST(RequestsOf, CountsWhatAPodOccupies) {
  const Case cases[] = {
      {"containers add up", R"("containers":[{"name":"a","resources":{"requests":{"cpu":"100m","memory":"1Ki"}}},
        {"name":"b","resources":{"requests":{"cpu":"1"}}}])",
       1100, 1024, 1100},
      {"init containers run one after the other",
       R"("initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}},
        {"name":"j","resources":{"requests":{"cpu":"1500m"}}}],
        "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}])",
       2000, 0, 2000},
      {"sidecars run beside both",
       R"("initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
        {"name":"j","resources":{"requests":{"cpu":"1500m"}}}],
        "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}])",
       2500, 0, 2500},
      {"overhead comes on top", R"("overhead":{"cpu":"50m","memory":"10"},
        "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}])",
       1050, 10, 1050},
      {"pod-level requests replace the sum", R"("resources":{"requests":{"cpu":"3"}},
        "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"7"}}}])",
       3000, 7, 3000},
      {"nothing asked counts a little for scores", R"("containers":[{"name":"a"},{"name":"b"}])", 0, 0, 200},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    PodInfoPtr pod = MakePod("p", c.spec);
    EXPECT_EQ(pod->requests.exact.milli_cpu, c.milli_cpu);
    EXPECT_EQ(pod->requests.exact.memory, c.memory);
    EXPECT_EQ(pod->requests.non_zero.milli_cpu, c.default_milli_cpu);
  }
}

TEST(RequestsOf, TakesTheGreaterOfAskedAndAllocatedDuringResize) {
  PodInfoPtr pod = MakePod("p", Requests("1", "1Gi"), "",
                           R"("containerStatuses":[{"name":"c","allocatedResources":{"cpu":"2","memory":"1"}}])");
  EXPECT_EQ(pod->requests.exact.milli_cpu, 2000);
  EXPECT_EQ(pod->requests.exact.memory, 1 << 30);
}

TEST(Resources, ExtendedOnesAddAndSubtract) {
  Resources a, b;
  a.SetOther("example.com/gpu", 2);
  b.SetOther("example.com/gpu", 1);
  b.SetOther("example.com/fpga", 1);
  a.Add(b);
  EXPECT_EQ(a.Other("example.com/gpu"), 3);
  EXPECT_EQ(a.Other("example.com/fpga"), 1);
  a.Subtract(b);
  a.Subtract(a);
  EXPECT_TRUE(a.empty());
}

}  // namespace
}  // namespace homeostat::scheduler
