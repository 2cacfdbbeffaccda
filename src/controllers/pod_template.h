// Pods as their owners' templates call for them. Pure.
#pragma once

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/schema/kind.h"

namespace homeostat::controllers {

// A pod of the template in the owner's namespace, controlled by the owner. Its name is for the server to make, from the owner's.
api::core::v1::PodBuilder PodFromTemplate(const api::core::v1::PodTemplateSpec& tmpl, const schema::Kind& owner_kind, const object::Value& owner);

}  // namespace homeostat::controllers
