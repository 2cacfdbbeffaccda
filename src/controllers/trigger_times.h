// TriggerTimes: when that happened to which a Service's endpoints answer. Objects that list endpoints carry it as an annotation, by
// which others measure how long it took. Pure. Source: upstream's TriggerTimeTracker.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

inline constexpr std::string_view kTriggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

class TriggerTimes {
 public:
  // The earliest of the changes since the last call for that key, of the pods' readiness and of the Service's creation, as RFC 3339;
  // empty if there are none. At the first call it is the creation. `pods`: those that the Service selects.
  std::string Next(const std::string& key, const api::core::v1::Service& service, const std::vector<object::DocumentPtr>& pods);
  void Forget(const std::string& key) { services_.erase(key); }

 private:
  struct Known {
    std::string created;
    std::map<std::string, std::string, std::less<>> pods;   // by name
  };
  std::map<std::string, Known> services_;
};

// Sets the annotation, or takes it away where the time is empty; of builders of ObjectMeta.
template <class MetadataBuilder>
void SetTriggerTime(MetadataBuilder& metadata, std::string_view time) {
  if (!time.empty()) {
    metadata.set_annotations(kTriggerTimeAnnotation, time);
  } else if (metadata.View().annotations().contains(kTriggerTimeAnnotation)) {
    metadata.erase_annotations(kTriggerTimeAnnotation);
  }
}

}  // namespace homeostat::controllers
