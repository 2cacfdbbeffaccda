#include "node/probe_state.h"

namespace homeostat::node {

ProbeTimes TimesOf(core::Probe probe) {
  ProbeTimes times;
  times.initial_delay = std::chrono::seconds(probe.initial_delay_seconds());
  if (probe.period_seconds() > 0) times.period = std::chrono::seconds(probe.period_seconds());
  if (probe.timeout_seconds() > 0) times.timeout = std::chrono::seconds(probe.timeout_seconds());
  if (probe.success_threshold() > 0) times.success_threshold = probe.success_threshold();
  if (probe.failure_threshold() > 0) times.failure_threshold = probe.failure_threshold();
  return times;
}

ProbeOutcome ProbeState::Initial() const {
  if (kind_ == ProbeKind::kLiveness) return ProbeOutcome::kSuccess;
  return kind_ == ProbeKind::kReadiness ? ProbeOutcome::kFailure : ProbeOutcome::kUnknown;
}

std::optional<WallTime> ProbeState::NextLook(bool started) const {
  if (on_hold_ || (kind_ == ProbeKind::kStartup) == started) return std::nullopt;
  return next_;
}

std::optional<ProbeOutcome> ProbeState::Record(bool success, WallTime looked_at) {
  next_ = looked_at + times_.period;
  run_ = run_ > 0 && success == last_ ? run_ + 1 : 1;
  last_ = success;
  if (run_ < (success ? times_.success_threshold : times_.failure_threshold)) return std::nullopt;
  if (kind_ == ProbeKind::kStartup || (kind_ == ProbeKind::kLiveness && !success)) on_hold_ = true;
  return success ? ProbeOutcome::kSuccess : ProbeOutcome::kFailure;
}

}  // namespace homeostat::node
