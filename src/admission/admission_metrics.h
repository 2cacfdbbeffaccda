// AdmissionMetrics: what is counted of plugins, webhooks and policies, under the names that dashboards made for kube-apiserver read.
//
// Source of the names, labels and buckets: apiserver's admission/metrics and admission/plugin/policy/{validating,mutating}/metrics.
#pragma once

#include <string_view>

#include "admission/admission.h"
#include "homeostat/base/metrics.h"
#include "homeostat/base/runtime.h"

namespace homeostat::admission {

// The half of the chain: what changes, or what only refuses.
enum class Step : uint8_t { kAdmit, kValidate };

// One call of a webhook, however it ended.
struct WebhookCounts {
  std::string_view name;
  bool mutates = false;
  Operation operation = Operation::kCreate;
  Duration took{};
  int code = 200;       // of the refusal, or of the failure as a client would see it; 0: this server's own fault
  bool rejected = false;
  bool failed = false;  // no answer that could be used
};

// What became of one decision of a policy. error_type: no_error, compile_error, invalid_error or out_of_budget.
std::string_view ErrorTypeOf(std::string_view fault);

// May be used from any thread.
class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(MetricsRegistry& registry);

  // Series of seconds, as long as this: who counts every write keeps them.
  Histogram& OfStep(Step step, Operation operation, bool rejected);
  Histogram& OfPlugin(std::string_view plugin, Step step, Operation operation, bool rejected);

  void WebhookCalled(const WebhookCounts& call);

  // Of the match conditions of a webhook or a policy. type: admit, validating or validate, as upstream has it.
  struct Conditions {
    std::string_view name, kind, type;
    Operation operation;
  };
  void ConditionsEvaluated(const Conditions& of, size_t faults, Duration took);
  void ConditionsExcluded(const Conditions& of);

  // action: allow, deny, audit or warn.
  void ValidatingPolicyDecided(std::string_view policy, std::string_view binding, std::string_view error_type, std::string_view action,
                               Duration took);
  void MutatingPolicyApplied(std::string_view policy, std::string_view binding, std::string_view error_type, Duration took);

 private:
  HistogramFamily& steps_;
  HistogramFamily& plugins_;
  HistogramFamily& webhooks_;
  CounterFamily& webhook_requests_;
  CounterFamily& webhook_rejections_;
  CounterFamily& webhook_fail_opens_;
  HistogramFamily& conditions_;
  CounterFamily& condition_faults_;
  CounterFamily& condition_exclusions_;
  CounterFamily& validating_checks_;
  HistogramFamily& validating_seconds_;
  CounterFamily& mutating_checks_;
  HistogramFamily& mutating_seconds_;
};

}  // namespace homeostat::admission
