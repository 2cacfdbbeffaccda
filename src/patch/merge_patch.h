// JSON merge patch (RFC 7386): members of the patch replace those of the document, null deletes.
#pragma once

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"

namespace homeostat::patch {

using object::Arena;
using object::Value;

// How a patch is decoded: under fieldValidation Warn or Strict it is looked at more closely than under Ignore, and what
// is not of the right shape is refused earlier and with other words.
enum class PatchDecoding { kLenient, kChecked };

// The patched document, sharing what did not change with the arguments. The document is in JSON form
// (schema::ToJsonForm). A patch that is a list gives that list, as upstream does; the document's type then refuses it.
// 400 for other patches that are no objects.
//
// Source of the rules: evanphx/json-patch v4, MergePatch; apiserver endpoints/handlers.
Result<Value> ApplyMergePatch(Arena& arena, const Value& document, const Value& patch, PatchDecoding decoding);

}  // namespace homeostat::patch
