// ProbeState: when one probe of one container has to look, and what its looks add up to. Pure.
//
//   state     looks             until
//   waiting   no                the initial delay has passed, and (but for startup probes) the container has started
//   probing   once a period     settled: enough equal results in a row
//   on hold   no more           liveness has failed or startup has settled: the container is replaced, or startup is over
//
// Source of the rules: the API's documentation of Probe.
#pragma once

#include <optional>

#include "node/pod_plan.h"

namespace homeostat::node {

struct ProbeTimes {
  Duration initial_delay{0}, period = std::chrono::seconds(10), timeout = std::chrono::seconds(1);
  int32_t success_threshold = 1, failure_threshold = 3;
};
ProbeTimes TimesOf(core::Probe probe);

class ProbeState {
 public:
  // started_at: of the container. `first_delay`: jitter before the first look, so that a node agent that comes back does
  // not probe everything at once.
  ProbeState(ProbeKind kind, ProbeTimes times, WallTime started_at, WallTime now, Duration first_delay = Duration(0))
      : kind_(kind), times_(times), next_(std::max(started_at + times.initial_delay, now + first_delay)) {}

  // Before any look: liveness succeeds, readiness fails, startup is open.
  ProbeOutcome Initial() const;

  // When to look next; nullopt: not now (asked again when `started` changes), or never.
  std::optional<WallTime> NextLook(bool started) const;
  // A look, begun at that time, had that result. What it settles, if anything.
  std::optional<ProbeOutcome> Record(bool success, WallTime looked_at);

  ProbeKind kind() const { return kind_; }
  bool on_hold() const { return on_hold_; }
  Duration timeout() const { return times_.timeout; }

 private:
  ProbeKind kind_;
  ProbeTimes times_;
  WallTime next_;
  bool last_ = false, on_hold_ = false;
  int32_t run_ = 0;
};

}  // namespace homeostat::node
