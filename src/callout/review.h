// What webhooks answer: reviews of a kind and version, read as Kubernetes' decoder reads them.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::callout {

struct ReviewKind {
  std::string_view group, version, kind;
  // "admission.k8s.io/v1, Kind=AdmissionReview".
  std::string Describe() const;
};

// The review of that kind in an answer's body, untyped. What says nothing of its kind passes here: it is for the rules of the
// version to refuse (see CheckReviewKind). Errors are worded as Go's decoder words them; that of a Status is what it says.
Result<object::Value> ReadReview(object::Arena& arena, std::string_view body, const ReviewKind& expected);

// v1 reviews must say what they are: "expected webhook response of …, got …".
Result<void> CheckReviewKind(const object::Value& review, const ReviewKind& expected);

}  // namespace homeostat::callout
