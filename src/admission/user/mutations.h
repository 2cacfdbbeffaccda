// What a mutation of a MutatingAdmissionPolicy makes of an object: an apply configuration that is merged into it, or a JSON patch.
//
// Source of the rules and texts: apiserver's admission/plugin/policy/mutating (patch/smd.go, patch/json_patch.go, dispatcher.go).
#pragma once

#include "admission/user/expressions.h"

namespace homeostat::admission {

// One mutation, compiled. Its texts are those of the policy's tree.
struct Mutation {
  bool json_patch = false;
  TextExpression expression;
};

// The object as the mutation leaves it. Both are in the JSON form of the place's type, with the kind's defaults in the result.
// `final` is an error that ends the request as it is; any other is a fault of the policy, which its failurePolicy may ignore.
struct MutationFault {
  Status status;
  bool final = false;
};
// Everything referred to outlives the task.
Task<std::expected<object::Value, MutationFault>> ApplyMutation(const Mutation& mutation, const Attributes& attributes, const Place& place,
                                                                object::Value object, const ExpressionInput& input);

// The typed tree of an object in JSON form, as requests of the place carry it: of the resource's working kind where the object is of
// the resource itself. Both must outlive the task.
Task<Result<object::Value>> FromPlace(const Attributes& attributes, const Place& place, object::Value form);

}  // namespace homeostat::admission
