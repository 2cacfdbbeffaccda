// JSON out: a typed tree as Go's encoding writes the struct it stands for, byte for byte.
//
// Fields come in declared order, fields that Go always writes come even when absent ("status":{},
// "creationTimestamp":null, 0, ""), maps are sorted by key, texts are escaped as Go escapes them (<, > and & too).
// Objects of a structural type (custom resources) are maps to Go: every object in them is sorted by name, and nothing
// is added. Untyped trees are written by object::AppendJson.
//
// Trees need not be canonical: what Go would leave out is left out here as well. No newline is added at the end.
// Thread-safe: nothing but the arguments is touched.
#pragma once

#include <string>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

struct JsonOptions {
  bool skip_managed_fields = false;  // leaves metadata.managedFields of the root out
};

// Appends the value's JSON. The value's members must carry the field indexes of the type (see Conform). A number that
// JSON cannot say (no decoder lets one in) is written as null.
void EncodeJson(const Type& type, const object::Value& value, std::string& out, const JsonOptions& options = {});

// The untyped tree that parsing EncodeJson's text would give (Go's ToUnstructured): what patches work on. Texts and
// untyped subtrees are shared with the value; bytes become base64 texts in the arena. Members of structs carry their
// field indexes all the same, which makes looking things up in the type cheap.
object::Value ToJsonForm(object::Arena& arena, const Type& type, const object::Value& value);

}  // namespace homeostat::schema
