// ResourceAttributes of access reviews: their checks, and the question they ask the authorizers.
// Source: pkg/apis/authorization/validation, pkg/registry/authorization/util.
#pragma once

#include <string>

#include "auth/authorizer.h"
#include "homeostat/api/authorization/v1.h"
#include "homeostat/schema/field_errors.h"

namespace homeostat::server {

// The selectors in spec.resourceAttributes.
void CheckSelectors(const api::authorization::v1::ResourceAttributes& asked, schema::FieldErrors& errors);

// The user is left for the caller to set. What can't be understood of a selector is left out, which asks for more rights, and is
// told in `fault` as the review's evaluationError.
auth::Attributes ToAttributes(const api::authorization::v1::ResourceAttributes& asked, std::string& fault);

}  // namespace homeostat::server
