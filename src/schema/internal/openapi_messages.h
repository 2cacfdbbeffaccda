// gnostic's messages for OpenAPI documents, as tables: which member of a document goes into which field.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "homeostat/object/value.h"

namespace homeostat::schema::internal {

enum class MessageId : uint8_t {
  kText,
  kBool,
  kInt,
  kNumber,
  kAny,  // a message that holds YAML
  // Messages of both versions. Extensions have another name in each, but the same place.
  kContact,
  kLicense,
  kExternalDocs,
  kXml,
  kTag,
  kTexts,         // StringArray, TypeItem
  kRequirement,   // SecurityRequirement
  kTextMap,       // Oauth2Scopes, Strings
  // Version 2.
  kDocument2,
  kInfo2,
  kPaths2,
  kPathItem2,
  kOperation2,
  kParameterItem2,  // ParametersItem: a parameter or a reference
  kReference2,      // JsonReference
  kParameter2,
  kBodyParameter2,
  kNonBodyParameter2,
  kHeaderParameter2,
  kFormParameter2,
  kQueryParameter2,
  kPathParameter2,
  kPrimitive2,  // PrimitivesItems
  kParameterMap2,
  kResponses2,
  kResponseItem2,  // ResponseValue: a response or a reference
  kResponse2,
  kResponseMap2,
  kSchemaItem2,
  kFileSchema2,
  kHeader2,
  kHeaderMap2,
  kAnyMap2,  // Examples
  kSchema2,
  kSchemas2,  // ItemsItem: a schema or a list of them
  kSchemaOrBool2,
  kSchemaMap2,
  kSecurity2,
  kSecurityMap2,
  kBasicSecurity2,
  kKeySecurity2,
  kImplicitFlow2,
  kPasswordFlow2,
  kApplicationFlow2,
  kAccessCodeFlow2,
  // Version 3.
  kDocument3,
  kInfo3,
  kServer3,
  kServerVariable3,
  kServerVariableMap3,
  kPaths3,
  kPathItem3,
  kOperation3,
  kReference3,
  kParameterItem3,
  kParameter3,
  kParameterMap3,
  kBodyItem3,
  kBody3,
  kBodyMap3,
  kResponses3,
  kResponseItem3,
  kResponse3,
  kResponseMap3,
  kMediaType3,
  kMediaTypeMap3,
  kHeaderItem3,
  kHeader3,
  kHeaderMap3,
  kComponents3,
  kSchemaItem3,
  kSchema3,
  kSchemas3,
  kSchemaOrBool3,
  kSchemaMap3,
  kDefault3,
  kDiscriminator3,
  kSecurityItem3,
  kSecurity3,
  kSecurityMap3,
  kFlows3,
  kFlow3,
};

struct Slot {
  std::string_view name;
  uint32_t field;
  MessageId id;
  bool repeated = false;
};

// The field and type that a value goes into where there are several; field 0 if it fits none.
struct Choice {
  uint32_t field = 0;
  MessageId id = MessageId::kText;
};

struct MessageShape {
  std::span<const Slot> slots = {};  // by ascending field number
  // Repeated fields of (name, value) pairs, 0 where there are none: for names that begin with x-, and for all other
  // names that have no slot. Without extensions x- is nothing special.
  uint32_t extensions = 0;
  uint32_t others = 0;
  MessageId other = MessageId::kText;
  // The value itself, or each of its items, goes into this field.
  uint32_t list_field = 0;
  MessageId list_item = MessageId::kText;
  // The value goes into one of several fields.
  Choice (*choose)(const object::Value& value) = nullptr;
};

// Of a message, not of a scalar or kAny. Lives for ever.
const MessageShape& ShapeOf(MessageId id);

}  // namespace homeostat::schema::internal
