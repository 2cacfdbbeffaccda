// The annotation in which kubectl's client-side apply keeps what it applied last. An object that came from there is
// taken over by server-side apply without conflicts, and the annotation kept up to date, so that either can go on.
#pragma once

#include "homeostat/base/result.h"
#include "patch/field_manager.h"

namespace homeostat::patch::internal {

inline constexpr std::string_view kLastAppliedManager = "kubectl";

// The fields that the annotation says and that are as it says: a conflict over them is none. live is in JSON form. An
// error if there is no annotation or it is of no use.
Result<FieldSet> FieldsLastApplied(Arena& arena, const FieldManagerOptions& options, const Value& live);

// If the object has the annotation, it becomes the configuration; it goes if that would be too long.
Value WithLastApplied(Arena& arena, const FieldManagerOptions& options, const Value& object, const Value& config);

}  // namespace homeostat::patch::internal
