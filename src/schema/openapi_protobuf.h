// OpenAPI documents in their protobuf form, which Kubernetes' clients ask for first: the messages openapi.v2.Document and
// openapi.v3.Document of gnostic.
#pragma once

#include <string>

#include "homeostat/object/value.h"
#include "schema/openapi.h"

namespace homeostat::schema {

// The message that says what the document says, a tree of the form that JSON gives; names of its own (paths, properties,
// extensions) come sorted. Values for which the messages have no type, such as extensions, enums and examples, become
// YAML in them.
//
// The messages can say less than JSON: members that they have no field for (`nullable` in version 2, defaults that are
// objects in version 3), and what stands deeper than any reader would follow, are left out.
std::string OpenApiProtobuf(const object::Value& document, OpenApiVersion version);

}  // namespace homeostat::schema
