#include "node/probe_state.h"

#include "node/internal/test_pods.h"
#include "node/values.h"

namespace homeostat::node {
namespace {

using std::chrono::seconds;

constexpr WallTime kStart{std::chrono::seconds(1'700'000'000)};

TEST(ProbeState, WaitsForDelayAndStart) {
  ProbeState readiness(ProbeKind::kReadiness, {.initial_delay = seconds(5)}, kStart, kStart);
  EXPECT_EQ(readiness.NextLook(false), std::nullopt) << "not before the container has started";
  EXPECT_EQ(readiness.NextLook(true), kStart + seconds(5));
  ProbeState startup(ProbeKind::kStartup, {}, kStart, kStart);
  EXPECT_EQ(startup.NextLook(false), kStart);
  EXPECT_EQ(startup.NextLook(true), std::nullopt);
}

struct Case {
  ProbeKind kind;
  int success_threshold, failure_threshold;
  const char* looks;     // + and -
  const char* settled;   // + - for what each look settles, . for nothing
  bool on_hold;
};

TEST(ProbeState, SettlesByThresholds) {
  for (const Case& c : {
           Case{ProbeKind::kReadiness, 1, 3, "+---+", "+..-+", false},
           Case{ProbeKind::kReadiness, 2, 1, "++-+-++", ".+-.-.+", false},
           Case{ProbeKind::kReadiness, 1, 3, "--+--+", "..+..+", false},
           Case{ProbeKind::kLiveness, 1, 3, "+--+---", "+..+..-", true},
           Case{ProbeKind::kStartup, 1, 30, "---+", "...+", true},
           Case{ProbeKind::kStartup, 1, 2, "--", ".-", true}}) {
    ProbeState state(c.kind, {.success_threshold = c.success_threshold, .failure_threshold = c.failure_threshold}, kStart, kStart);
    std::string settled;
    WallTime now = kStart;
    for (const char* look = c.looks; *look != 0; ++look) {
      std::optional<ProbeOutcome> outcome = state.Record(*look == '+', now);
      settled += !outcome ? '.' : *outcome == ProbeOutcome::kSuccess ? '+' : '-';
      now += seconds(10);
    }
    EXPECT_EQ(settled, c.settled) << c.looks;
    EXPECT_EQ(state.on_hold(), c.on_hold) << c.looks;
    EXPECT_EQ(state.NextLook(c.kind != ProbeKind::kStartup).has_value(), !c.on_hold);
  }
}

TEST(ProbeState, LooksOnceAPeriodFromTheLastLook) {
  ProbeState state(ProbeKind::kLiveness, {.period = seconds(7)}, kStart, kStart, seconds(3));
  EXPECT_EQ(state.NextLook(true), kStart + seconds(3));
  state.Record(true, kStart + seconds(4));
  EXPECT_EQ(state.NextLook(true), kStart + seconds(11));
}

TEST(ResolvePort, ByNumberAndName) {
  object::DocumentPtr pod = PodWith("{'containers': [{'name': 'a', 'ports': [{'name': 'web', 'containerPort': 8080}]}]}");
  core::Container container = core::Pod(pod->root()).spec().containers()[0];
  EXPECT_EQ(ResolvePort(object::Value::Int(80), container), 80);
  EXPECT_EQ(ResolvePort(object::Value::StringRef("web"), container), 8080);
  EXPECT_EQ(ResolvePort(object::Value::StringRef("81"), container), 81);
  EXPECT_EQ(ResolvePort(object::Value::StringRef("none"), container), std::nullopt);
  EXPECT_EQ(ResolvePort(object::Value::Int(70000), container), std::nullopt);
}

}  // namespace
}  // namespace homeostat::node
