// What a Job reads from its pods: their index, whether and when they failed, and what the pod failure policy makes of it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/pods.h"
#include "homeostat/api/batch/v1_builders.h"

namespace homeostat::controllers {

// A pod that has it is not counted yet; the pod stays until it is.
inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";

bool IsIndexed(const api::batch::v1::Job& job);
bool HasLimitPerIndex(const api::batch::v1::Job& job);
bool IsSuspended(const api::batch::v1::Job& job);
// Pods are replaced only once they have failed, not as soon as they are being deleted.
bool ReplacesOnlyFailed(const api::batch::v1::Job& job);
// Complete or Failed.
bool IsJobFinished(const api::batch::v1::Job& job);

// The index a pod is for; -1 if it has none.
int32_t CompletionIndex(const api::core::v1::Pod& pod);
bool CountsAsFailed(const api::core::v1::Pod& pod, const api::batch::v1::Job& job);
// How often pods of its index failed before it, without or with those whose failure was ignored.
int32_t FailuresBefore(const api::core::v1::Pod& pod);
int32_t AllFailuresBefore(const api::core::v1::Pod& pod);
// When the pod ended, by its containers, else by its condition, else by its deletion, else by its creation.
WallTime FinishedAt(const api::core::v1::Pod& pod);

struct FailureVerdict {
  bool counts = true;                       // towards backoffLimit
  bool fails_index = false;
  std::optional<std::string> fails_job;     // why
};
FailureVerdict JudgeFailure(const api::batch::v1::Job& job, const api::core::v1::Pod& pod);

// How long to wait before the next pod is made after so many failures, the last one then.
Duration RetryPause(int32_t failures, WallTime last, WallTime now);

// A pod of the Job's. index: -1 for Jobs without; replaced: the failed pod of the index whose place it takes (may be null).
object::DocumentPtr JobPod(const api::batch::v1::Job& job, int32_t index, const object::DocumentPtr& replaced);

}  // namespace homeostat::controllers
