// AdmissionReviews: what webhooks are asked, and what their answers mean. Pure.
//
// Source of the rules and texts: apiserver's admission/plugin/webhook/{request,errors}.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/user/attributes.h"

namespace homeostat::admission {

// The body of a review of these objects and their request. version: v1 or v1beta1.
std::string AdmissionReviewBody(std::string_view version, std::string_view uid, const VersionedObjects& objects, object::Arena& arena);

struct WebhookAnswer {
  bool allowed = false;
  object::Value result;              // why not, a Status; may be absent
  object::Value patch;               // operations of a JSON patch; absent: nothing is changed
  std::vector<std::string> warnings; // for the client
  std::vector<std::pair<std::string, std::string>> annotations;  // for the audit log
};

// The answer in a body. Errors are upstream's words after `failed calling webhook "…": `. mutates: it may send a patch, and must then
// say of what type.
Result<WebhookAnswer> ReadAdmissionReview(object::Arena& arena, std::string_view body, std::string_view version, std::string_view uid,
                                          bool mutates);

// The refusal that a client gets of a webhook which said no.
Status DeniedBy(std::string_view webhook, const object::Value& result);

}  // namespace homeostat::admission
