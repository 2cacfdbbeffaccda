// Kinds of the group autoscaling.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kHorizontalPodAutoscaler;

// Between v1 and v2, in either direction: what v1 has no fields for is kept in annotations, as JSON.
Value ConvertAutoscaler(object::Arena& arena, Value autoscaler, const schema::Kind& from, const schema::Kind& to);

// Without the annotations that v1 keeps v2's fields in: v2 has none of them, whatever a client writes.
Value WithoutSavedFields(RuleContext& context, Value autoscaler);

}  // namespace homeostat::kinds
