#include "server/audit/log.h"

#include <utility>
#include <vector>

namespace homeostat::server::audit {

struct Log::State {
  State(Runtime& runtime_used, LogFile opened, Logger told, MetricsRegistry& registry)
      : runtime(runtime_used),
        file(std::move(opened)),
        log(std::move(told)),
        errors(registry.Counters("apiserver_audit_error_total", "Events that could not be written.", {"plugin"}).With({"log"})),
        progress(runtime_used) {}

  Runtime& runtime;
  LogFile file;  // touched off the loop, by one write at a time
  Logger log;
  Counter& errors;
  std::vector<std::string> pending;
  uint64_t added = 0, written = 0;  // lines
  bool writing = false;
  Signal progress;
};

Log::Log(Runtime& runtime, LogFile file, Logger log, MetricsRegistry& registry)
    : state_(std::make_shared<State>(runtime, std::move(file), std::move(log), registry)),
      events_(registry.Counters("apiserver_audit_event_total", "Events of the audit log.")) {}

void Log::Add(std::string line) {
  events_.Only().Add();
  state_->pending.push_back(std::move(line));
  ++state_->added;
  Start(state_);
}

void Log::Start(const std::shared_ptr<State>& state) {
  if (state->writing || state->pending.empty()) return;
  state->writing = true;
  struct Write {
    std::vector<std::string> lines;
    Result<void> result;
  };
  auto write = std::make_shared<Write>(Write{std::exchange(state->pending, {}), {}});
  WallTime now = state->runtime.WallNow();
  state->runtime.RunBlocking([state, write, now] { write->result = state->file.Append(write->lines, now); },
                             [state, write] {
                               if (!write->result) {
                                 state->errors.Add(static_cast<double>(write->lines.size()));
                                 state->log.Error("events of the audit log were lost", {{"events", write->lines.size()}, {"error", write->result.error()}});
                               }
                               state->written += write->lines.size();
                               state->writing = false;
                               state->progress.Notify();
                               Start(state);
                             });
}

Task<void> Log::Written() {
  std::shared_ptr<State> state = state_;
  uint64_t wanted = state->added;
  while (state->written < wanted) {
    auto wait = state->progress.Wait();
    co_await wait;
  }
}

}  // namespace homeostat::server::audit
