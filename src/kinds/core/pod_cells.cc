#include "kinds/core/pod_cells.h"

#include <algorithm>

#include "homeostat/object/time.h"
#include "kinds/cells.h"
#include "kinds/core/containers.h"

namespace homeostat::kinds {
namespace {

struct Summary {
  std::string reason;
  int64_t ready = 0, total = 0;
  int64_t restarts = 0;
  std::string_view last_restart;  // RFC 3339; "" if none is known
};

bool HasCondition(const Value& pod, std::string_view type, std::string_view field, std::string_view text) {
  return std::ranges::any_of(pod.Get("status").Get("conditions").items(), [&](const Value& condition) {
    return condition.Get("type").AsString() == type && condition.Get(field).AsString() == text;
  });
}

// Times as stored are whole seconds in UTC, so that texts compare as times do.
void CountRestarts(const Value& status, int64_t& restarts, std::string_view& last) {
  restarts += status.Get("restartCount").AsInt();
  last = std::max(last, status.Path({"lastState", "terminated", "finishedAt"}).AsString());
}

std::string Ended(std::string_view prefix, const Value& terminated) {
  std::string_view reason = terminated.Get("reason").AsString();
  if (!reason.empty()) return std::string(prefix) + std::string(reason);
  int64_t signal = terminated.Get("signal").AsInt();
  if (signal != 0) return std::string(prefix) + "Signal:" + std::to_string(signal);
  return std::string(prefix) + "ExitCode:" + std::to_string(terminated.Get("exitCode").AsInt());
}

class Reading {
 public:
  explicit Reading(const Value& pod) : pod_(pod), spec_(pod.Get("spec")), status_(pod.Get("status")) {}

  Summary Read() {
    Start();
    int64_t sidecar_restarts = 0;
    std::string_view sidecar_last;
    bool initializing = InitContainers(sidecar_restarts, sidecar_last);
    if (!initializing || HasCondition(pod_, "Initialized", "status", "True")) {
      summary_.restarts = sidecar_restarts;
      summary_.last_restart = sidecar_last;
      Containers();
    }
    Deletion();
    return std::move(summary_);
  }

 private:
  void Start() {
    std::string_view own = status_.Get("reason").AsString();
    summary_.reason = own.empty() ? status_.Get("phase").AsString() : own;
    if (HasCondition(pod_, "PodScheduled", "reason", "SchedulingGated")) summary_.reason = "SchedulingGated";
    summary_.total = spec_.Get("containers").size();
    for (const Value& container : spec_.Get("initContainers").items()) summary_.total += IsSidecar(container) ? 1 : 0;
  }

  bool IsSidecarNamed(std::string_view name) const {
    return std::ranges::any_of(spec_.Get("initContainers").items(), [&](const Value& container) {
      return container.Get("name").AsString() == name && IsSidecar(container);
    });
  }

  // True if one of them is still to come, or has failed.
  bool InitContainers(int64_t& sidecar_restarts, std::string_view& sidecar_last) {
    Value statuses = status_.Get("initContainerStatuses");
    for (size_t i = 0; i < statuses.size(); ++i) {
      Value status = statuses.At(i), terminated = status.Path({"state", "terminated"}), waiting = status.Path({"state", "waiting"});
      bool sidecar = IsSidecarNamed(status.Get("name").AsString());
      CountRestarts(status, summary_.restarts, summary_.last_restart);
      if (sidecar) CountRestarts(status, sidecar_restarts, sidecar_last);
      if (terminated && terminated.Get("exitCode").AsInt() == 0) continue;
      if (sidecar && status.Get("started").AsBool()) {
        summary_.ready += status.Get("ready").AsBool() ? 1 : 0;
        continue;
      }
      std::string_view why = waiting.Get("reason").AsString();
      if (terminated) {
        summary_.reason = Ended("Init:", terminated);
      } else if (!why.empty() && why != "PodInitializing") {
        summary_.reason = "Init:" + std::string(why);
      } else {
        summary_.reason = "Init:" + std::to_string(i) + "/" + std::to_string(spec_.Get("initContainers").size());
      }
      return true;
    }
    return false;
  }

  void Containers() {
    bool running = false;
    std::string error;
    auto statuses = status_.Get("containerStatuses").items();
    for (size_t i = statuses.size(); i-- > 0;) {
      const Value& status = statuses[i];
      Value terminated = status.Path({"state", "terminated"});
      std::string_view why = status.Path({"state", "waiting", "reason"}).AsString();
      CountRestarts(status, summary_.restarts, summary_.last_restart);
      if (!why.empty()) {
        summary_.reason = why;
      } else if (terminated) {
        summary_.reason = Ended("", terminated);
        if (terminated.Get("exitCode").AsInt() != 0) error = summary_.reason;
      } else if (status.Get("ready").AsBool() && status.Path({"state", "running"})) {
        running = true;
        ++summary_.ready;
      }
    }
    // Some have done their work: what the others do says more.
    if (summary_.reason != "Completed") return;
    if (running && HasCondition(pod_, "Ready", "status", "True")) {
      summary_.reason = "Running";
    } else if (!error.empty()) {
      summary_.reason = error;
    } else if (running) {
      summary_.reason = "NotReady";
    }
  }

  void Deletion() {
    if (!pod_.Get("metadata").Get("deletionTimestamp")) return;
    std::string_view phase = status_.Get("phase").AsString();
    if (status_.Get("reason").AsString() == "NodeLost") {
      summary_.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary_.reason = "Terminating";
    }
  }

  Value pod_, spec_, status_;
  Summary summary_;
};

std::string ReadinessGates(const Value& pod) {
  Value gates = pod.Get("spec").Get("readinessGates");
  if (gates.empty()) return "<none>";
  auto conditions = pod.Get("status").Get("conditions").items();
  int64_t open = std::ranges::count_if(gates.items(), [&](const Value& gate) {
    auto condition = std::ranges::find_if(conditions, [&](const Value& c) { return c.Get("type").AsString() == gate.Get("conditionType").AsString(); });
    return condition != conditions.end() && condition->Get("status").AsString() == "True";
  });
  return std::to_string(open) + "/" + std::to_string(gates.size());
}

}  // namespace

Value PodCell(object::Arena& arena, std::string_view cell, Value pod, WallTime now) {
  if (cell == "readiness_gates") return TextCell(arena, ReadinessGates(pod));
  Summary summary = Reading(pod).Read();
  if (cell == "ready") return TextCell(arena, std::to_string(summary.ready) + "/" + std::to_string(summary.total));
  if (cell == "status") return TextCell(arena, summary.reason);
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && !summary.last_restart.empty()) {
    restarts += " (" + Since(Value::StringRef(summary.last_restart), now) + " ago)";
  }
  return TextCell(arena, restarts);
}

}  // namespace homeostat::kinds
