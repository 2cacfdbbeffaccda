// Log: events on their way to the audit log's file.
#pragma once

#include <memory>
#include <string>

#include "homeostat/base/log.h"
#include "homeostat/base/metrics.h"
#include "homeostat/base/runtime.h"
#include "server/audit/log_file.h"

namespace homeostat::server::audit {

// Lines are written in the order they came, off the loop; those that come while some are written go together with the next
// write. A write that fails is counted and told of in the program's log, and its lines are lost: requests go on, as they do
// upstream with the mode `blocking`. Loop only; what it has under way may outlive it.
class Log {
 public:
  Log(Runtime& runtime, LogFile file, Logger log, MetricsRegistry& registry);
  Log(const Log&) = delete;

  // Without waiting.
  void Add(std::string line);
  // Until everything that was added has been written, or has failed to be.
  Task<void> Written();

 private:
  struct State;
  static void Start(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  CounterFamily& events_;
};

}  // namespace homeostat::server::audit
