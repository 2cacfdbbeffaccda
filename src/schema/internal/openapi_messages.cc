// Field names and numbers of gnostic's OpenAPIv2.proto and OpenAPIv3.proto.
#include "schema/internal/openapi_messages.h"

#include <iterator>

namespace homeostat::schema::internal {
namespace {

using object::Value;
using Id = MessageId;

constexpr bool kRepeated = true;

template <Id kItself, Id kReference>
Choice OrReference(const Value& value) {
  return value.Get("$ref").IsString() ? Choice{2, kReference} : Choice{1, kItself};
}

template <Id kSchema>
Choice OrBool(const Value& value) {
  return value.IsBool() ? Choice{2, Id::kBool} : Choice{1, kSchema};
}

Choice Parameter2(const Value& value) {
  return value.Get("in").AsString() == "body" ? Choice{1, Id::kBodyParameter2} : Choice{2, Id::kNonBodyParameter2};
}

Choice ResponseSchema2(const Value& value) {
  return value.Get("type").AsString() == "file" ? Choice{2, Id::kFileSchema2} : Choice{1, Id::kSchema2};
}

Choice NonBodyParameter(const Value& value) {
  std::string_view in = value.Get("in").AsString();
  if (in == "header") return {1, Id::kHeaderParameter2};
  if (in == "formData") return {2, Id::kFormParameter2};
  if (in == "query") return {3, Id::kQueryParameter2};
  if (in == "path") return {4, Id::kPathParameter2};
  return {};
}

Choice Security2(const Value& value) {
  std::string_view type = value.Get("type").AsString(), flow = value.Get("flow").AsString();
  if (type == "basic") return {1, Id::kBasicSecurity2};
  if (type == "apiKey") return {2, Id::kKeySecurity2};
  if (flow == "implicit") return {3, Id::kImplicitFlow2};
  if (flow == "password") return {4, Id::kPasswordFlow2};
  if (flow == "application") return {5, Id::kApplicationFlow2};
  if (flow == "accessCode") return {6, Id::kAccessCodeFlow2};
  return {};
}

// Lists and objects have no place in it.
Choice Default3(const Value& value) {
  if (value.IsNumber()) return {1, Id::kNumber};
  if (value.IsBool()) return {2, Id::kBool};
  if (value.IsString()) return {3, Id::kText};
  return {};
}

constexpr Slot kContactSlots[] = {{"name", 1, Id::kText}, {"url", 2, Id::kText}, {"email", 3, Id::kText}};
constexpr Slot kLicenseSlots[] = {{"name", 1, Id::kText}, {"url", 2, Id::kText}};
constexpr Slot kExternalDocsSlots[] = {{"description", 1, Id::kText}, {"url", 2, Id::kText}};
constexpr Slot kXmlSlots[] = {
    {"name", 1, Id::kText}, {"namespace", 2, Id::kText}, {"prefix", 3, Id::kText}, {"attribute", 4, Id::kBool},
    {"wrapped", 5, Id::kBool}};
constexpr Slot kTagSlots[] = {
    {"name", 1, Id::kText}, {"description", 2, Id::kText}, {"externalDocs", 3, Id::kExternalDocs}};
constexpr Slot kDocument2Slots[] = {
    {"swagger", 1, Id::kText}, {"info", 2, Id::kInfo2}, {"host", 3, Id::kText}, {"basePath", 4, Id::kText},
    {"schemes", 5, Id::kText, kRepeated}, {"consumes", 6, Id::kText, kRepeated},
    {"produces", 7, Id::kText, kRepeated}, {"paths", 8, Id::kPaths2}, {"definitions", 9, Id::kSchemaMap2},
    {"parameters", 10, Id::kParameterMap2}, {"responses", 11, Id::kResponseMap2},
    {"security", 12, Id::kRequirement, kRepeated}, {"securityDefinitions", 13, Id::kSecurityMap2},
    {"tags", 14, Id::kTag, kRepeated}, {"externalDocs", 15, Id::kExternalDocs}};
constexpr Slot kInfo2Slots[] = {
    {"title", 1, Id::kText}, {"version", 2, Id::kText}, {"description", 3, Id::kText},
    {"termsOfService", 4, Id::kText}, {"contact", 5, Id::kContact}, {"license", 6, Id::kLicense}};
constexpr Slot kPathItem2Slots[] = {
    {"$ref", 1, Id::kText}, {"get", 2, Id::kOperation2}, {"put", 3, Id::kOperation2}, {"post", 4, Id::kOperation2},
    {"delete", 5, Id::kOperation2}, {"options", 6, Id::kOperation2}, {"head", 7, Id::kOperation2},
    {"patch", 8, Id::kOperation2}, {"parameters", 9, Id::kParameterItem2, kRepeated}};
constexpr Slot kOperation2Slots[] = {
    {"tags", 1, Id::kText, kRepeated}, {"summary", 2, Id::kText}, {"description", 3, Id::kText},
    {"externalDocs", 4, Id::kExternalDocs}, {"operationId", 5, Id::kText}, {"produces", 6, Id::kText, kRepeated},
    {"consumes", 7, Id::kText, kRepeated}, {"parameters", 8, Id::kParameterItem2, kRepeated},
    {"responses", 9, Id::kResponses2}, {"schemes", 10, Id::kText, kRepeated}, {"deprecated", 11, Id::kBool},
    {"security", 12, Id::kRequirement, kRepeated}};
constexpr Slot kReference2Slots[] = {{"$ref", 1, Id::kText}, {"description", 2, Id::kText}};
constexpr Slot kBodyParameter2Slots[] = {
    {"description", 1, Id::kText}, {"name", 2, Id::kText}, {"in", 3, Id::kText}, {"required", 4, Id::kBool},
    {"schema", 5, Id::kSchema2}};
constexpr Slot kHeaderParameter2Slots[] = {
    {"required", 1, Id::kBool}, {"in", 2, Id::kText}, {"description", 3, Id::kText}, {"name", 4, Id::kText},
    {"type", 5, Id::kText}, {"format", 6, Id::kText}, {"items", 7, Id::kPrimitive2},
    {"collectionFormat", 8, Id::kText}, {"default", 9, Id::kAny}, {"maximum", 10, Id::kNumber},
    {"exclusiveMaximum", 11, Id::kBool}, {"minimum", 12, Id::kNumber}, {"exclusiveMinimum", 13, Id::kBool},
    {"maxLength", 14, Id::kInt}, {"minLength", 15, Id::kInt}, {"pattern", 16, Id::kText}, {"maxItems", 17, Id::kInt},
    {"minItems", 18, Id::kInt}, {"uniqueItems", 19, Id::kBool}, {"enum", 20, Id::kAny, kRepeated},
    {"multipleOf", 21, Id::kNumber}};
constexpr Slot kFormParameter2Slots[] = {
    {"required", 1, Id::kBool}, {"in", 2, Id::kText}, {"description", 3, Id::kText}, {"name", 4, Id::kText},
    {"allowEmptyValue", 5, Id::kBool}, {"type", 6, Id::kText}, {"format", 7, Id::kText},
    {"items", 8, Id::kPrimitive2}, {"collectionFormat", 9, Id::kText}, {"default", 10, Id::kAny},
    {"maximum", 11, Id::kNumber}, {"exclusiveMaximum", 12, Id::kBool}, {"minimum", 13, Id::kNumber},
    {"exclusiveMinimum", 14, Id::kBool}, {"maxLength", 15, Id::kInt}, {"minLength", 16, Id::kInt},
    {"pattern", 17, Id::kText}, {"maxItems", 18, Id::kInt}, {"minItems", 19, Id::kInt},
    {"uniqueItems", 20, Id::kBool}, {"enum", 21, Id::kAny, kRepeated}, {"multipleOf", 22, Id::kNumber}};
constexpr Slot kQueryParameter2Slots[] = {
    {"required", 1, Id::kBool}, {"in", 2, Id::kText}, {"description", 3, Id::kText}, {"name", 4, Id::kText},
    {"allowEmptyValue", 5, Id::kBool}, {"type", 6, Id::kText}, {"format", 7, Id::kText},
    {"items", 8, Id::kPrimitive2}, {"collectionFormat", 9, Id::kText}, {"default", 10, Id::kAny},
    {"maximum", 11, Id::kNumber}, {"exclusiveMaximum", 12, Id::kBool}, {"minimum", 13, Id::kNumber},
    {"exclusiveMinimum", 14, Id::kBool}, {"maxLength", 15, Id::kInt}, {"minLength", 16, Id::kInt},
    {"pattern", 17, Id::kText}, {"maxItems", 18, Id::kInt}, {"minItems", 19, Id::kInt},
    {"uniqueItems", 20, Id::kBool}, {"enum", 21, Id::kAny, kRepeated}, {"multipleOf", 22, Id::kNumber}};
constexpr Slot kPathParameter2Slots[] = {
    {"required", 1, Id::kBool}, {"in", 2, Id::kText}, {"description", 3, Id::kText}, {"name", 4, Id::kText},
    {"type", 5, Id::kText}, {"format", 6, Id::kText}, {"items", 7, Id::kPrimitive2},
    {"collectionFormat", 8, Id::kText}, {"default", 9, Id::kAny}, {"maximum", 10, Id::kNumber},
    {"exclusiveMaximum", 11, Id::kBool}, {"minimum", 12, Id::kNumber}, {"exclusiveMinimum", 13, Id::kBool},
    {"maxLength", 14, Id::kInt}, {"minLength", 15, Id::kInt}, {"pattern", 16, Id::kText}, {"maxItems", 17, Id::kInt},
    {"minItems", 18, Id::kInt}, {"uniqueItems", 19, Id::kBool}, {"enum", 20, Id::kAny, kRepeated},
    {"multipleOf", 21, Id::kNumber}};
constexpr Slot kPrimitive2Slots[] = {
    {"type", 1, Id::kText}, {"format", 2, Id::kText}, {"items", 3, Id::kPrimitive2},
    {"collectionFormat", 4, Id::kText}, {"default", 5, Id::kAny}, {"maximum", 6, Id::kNumber},
    {"exclusiveMaximum", 7, Id::kBool}, {"minimum", 8, Id::kNumber}, {"exclusiveMinimum", 9, Id::kBool},
    {"maxLength", 10, Id::kInt}, {"minLength", 11, Id::kInt}, {"pattern", 12, Id::kText}, {"maxItems", 13, Id::kInt},
    {"minItems", 14, Id::kInt}, {"uniqueItems", 15, Id::kBool}, {"enum", 16, Id::kAny, kRepeated},
    {"multipleOf", 17, Id::kNumber}};
constexpr Slot kResponse2Slots[] = {
    {"description", 1, Id::kText}, {"schema", 2, Id::kSchemaItem2}, {"headers", 3, Id::kHeaderMap2},
    {"examples", 4, Id::kAnyMap2}};
constexpr Slot kFileSchema2Slots[] = {
    {"format", 1, Id::kText}, {"title", 2, Id::kText}, {"description", 3, Id::kText}, {"default", 4, Id::kAny},
    {"required", 5, Id::kText, kRepeated}, {"type", 6, Id::kText}, {"readOnly", 7, Id::kBool},
    {"externalDocs", 8, Id::kExternalDocs}, {"example", 9, Id::kAny}};
constexpr Slot kHeader2Slots[] = {
    {"type", 1, Id::kText}, {"format", 2, Id::kText}, {"items", 3, Id::kPrimitive2},
    {"collectionFormat", 4, Id::kText}, {"default", 5, Id::kAny}, {"maximum", 6, Id::kNumber},
    {"exclusiveMaximum", 7, Id::kBool}, {"minimum", 8, Id::kNumber}, {"exclusiveMinimum", 9, Id::kBool},
    {"maxLength", 10, Id::kInt}, {"minLength", 11, Id::kInt}, {"pattern", 12, Id::kText}, {"maxItems", 13, Id::kInt},
    {"minItems", 14, Id::kInt}, {"uniqueItems", 15, Id::kBool}, {"enum", 16, Id::kAny, kRepeated},
    {"multipleOf", 17, Id::kNumber}, {"description", 18, Id::kText}};
constexpr Slot kSchema2Slots[] = {
    {"$ref", 1, Id::kText}, {"format", 2, Id::kText}, {"title", 3, Id::kText}, {"description", 4, Id::kText},
    {"default", 5, Id::kAny}, {"multipleOf", 6, Id::kNumber}, {"maximum", 7, Id::kNumber},
    {"exclusiveMaximum", 8, Id::kBool}, {"minimum", 9, Id::kNumber}, {"exclusiveMinimum", 10, Id::kBool},
    {"maxLength", 11, Id::kInt}, {"minLength", 12, Id::kInt}, {"pattern", 13, Id::kText}, {"maxItems", 14, Id::kInt},
    {"minItems", 15, Id::kInt}, {"uniqueItems", 16, Id::kBool}, {"maxProperties", 17, Id::kInt},
    {"minProperties", 18, Id::kInt}, {"required", 19, Id::kText, kRepeated}, {"enum", 20, Id::kAny, kRepeated},
    {"additionalProperties", 21, Id::kSchemaOrBool2}, {"type", 22, Id::kTexts}, {"items", 23, Id::kSchemas2},
    {"allOf", 24, Id::kSchema2, kRepeated}, {"properties", 25, Id::kSchemaMap2}, {"discriminator", 26, Id::kText},
    {"readOnly", 27, Id::kBool}, {"xml", 28, Id::kXml}, {"externalDocs", 29, Id::kExternalDocs},
    {"example", 30, Id::kAny}};
constexpr Slot kBasicSecurity2Slots[] = {{"type", 1, Id::kText}, {"description", 2, Id::kText}};
constexpr Slot kKeySecurity2Slots[] = {
    {"type", 1, Id::kText}, {"name", 2, Id::kText}, {"in", 3, Id::kText}, {"description", 4, Id::kText}};
constexpr Slot kImplicitFlow2Slots[] = {
    {"type", 1, Id::kText}, {"flow", 2, Id::kText}, {"scopes", 3, Id::kTextMap}, {"authorizationUrl", 4, Id::kText},
    {"description", 5, Id::kText}};
constexpr Slot kPasswordFlow2Slots[] = {
    {"type", 1, Id::kText}, {"flow", 2, Id::kText}, {"scopes", 3, Id::kTextMap}, {"tokenUrl", 4, Id::kText},
    {"description", 5, Id::kText}};
constexpr Slot kApplicationFlow2Slots[] = {
    {"type", 1, Id::kText}, {"flow", 2, Id::kText}, {"scopes", 3, Id::kTextMap}, {"tokenUrl", 4, Id::kText},
    {"description", 5, Id::kText}};
constexpr Slot kAccessCodeFlow2Slots[] = {
    {"type", 1, Id::kText}, {"flow", 2, Id::kText}, {"scopes", 3, Id::kTextMap}, {"authorizationUrl", 4, Id::kText},
    {"tokenUrl", 5, Id::kText}, {"description", 6, Id::kText}};
constexpr Slot kDocument3Slots[] = {
    {"openapi", 1, Id::kText}, {"info", 2, Id::kInfo3}, {"servers", 3, Id::kServer3, kRepeated},
    {"paths", 4, Id::kPaths3}, {"components", 5, Id::kComponents3}, {"security", 6, Id::kRequirement, kRepeated},
    {"tags", 7, Id::kTag, kRepeated}, {"externalDocs", 8, Id::kExternalDocs}};
constexpr Slot kInfo3Slots[] = {
    {"title", 1, Id::kText}, {"description", 2, Id::kText}, {"termsOfService", 3, Id::kText},
    {"contact", 4, Id::kContact}, {"license", 5, Id::kLicense}, {"version", 6, Id::kText}, {"summary", 8, Id::kText}};
constexpr Slot kServer3Slots[] = {
    {"url", 1, Id::kText}, {"description", 2, Id::kText}, {"variables", 3, Id::kServerVariableMap3}};
constexpr Slot kServerVariable3Slots[] = {
    {"enum", 1, Id::kText, kRepeated}, {"default", 2, Id::kText}, {"description", 3, Id::kText}};
constexpr Slot kPathItem3Slots[] = {
    {"$ref", 1, Id::kText}, {"summary", 2, Id::kText}, {"description", 3, Id::kText}, {"get", 4, Id::kOperation3},
    {"put", 5, Id::kOperation3}, {"post", 6, Id::kOperation3}, {"delete", 7, Id::kOperation3},
    {"options", 8, Id::kOperation3}, {"head", 9, Id::kOperation3}, {"patch", 10, Id::kOperation3},
    {"trace", 11, Id::kOperation3}, {"servers", 12, Id::kServer3, kRepeated},
    {"parameters", 13, Id::kParameterItem3, kRepeated}};
constexpr Slot kOperation3Slots[] = {
    {"tags", 1, Id::kText, kRepeated}, {"summary", 2, Id::kText}, {"description", 3, Id::kText},
    {"externalDocs", 4, Id::kExternalDocs}, {"operationId", 5, Id::kText},
    {"parameters", 6, Id::kParameterItem3, kRepeated}, {"requestBody", 7, Id::kBodyItem3},
    {"responses", 8, Id::kResponses3}, {"deprecated", 10, Id::kBool}, {"security", 11, Id::kRequirement, kRepeated},
    {"servers", 12, Id::kServer3, kRepeated}};
constexpr Slot kReference3Slots[] = {{"$ref", 1, Id::kText}, {"summary", 2, Id::kText}, {"description", 3, Id::kText}};
constexpr Slot kParameter3Slots[] = {
    {"name", 1, Id::kText}, {"in", 2, Id::kText}, {"description", 3, Id::kText}, {"required", 4, Id::kBool},
    {"deprecated", 5, Id::kBool}, {"allowEmptyValue", 6, Id::kBool}, {"style", 7, Id::kText},
    {"explode", 8, Id::kBool}, {"allowReserved", 9, Id::kBool}, {"schema", 10, Id::kSchemaItem3},
    {"example", 11, Id::kAny}, {"content", 13, Id::kMediaTypeMap3}};
constexpr Slot kBody3Slots[] = {
    {"description", 1, Id::kText}, {"content", 2, Id::kMediaTypeMap3}, {"required", 3, Id::kBool}};
constexpr Slot kResponses3Slots[] = {{"default", 1, Id::kResponseItem3}};
constexpr Slot kResponse3Slots[] = {
    {"description", 1, Id::kText}, {"headers", 2, Id::kHeaderMap3}, {"content", 3, Id::kMediaTypeMap3}};
constexpr Slot kMediaType3Slots[] = {{"schema", 1, Id::kSchemaItem3}, {"example", 2, Id::kAny}};
constexpr Slot kHeader3Slots[] = {
    {"description", 1, Id::kText}, {"required", 2, Id::kBool}, {"deprecated", 3, Id::kBool},
    {"allowEmptyValue", 4, Id::kBool}, {"style", 5, Id::kText}, {"explode", 6, Id::kBool},
    {"allowReserved", 7, Id::kBool}, {"schema", 8, Id::kSchemaItem3}, {"example", 9, Id::kAny},
    {"content", 11, Id::kMediaTypeMap3}};
constexpr Slot kComponents3Slots[] = {
    {"schemas", 1, Id::kSchemaMap3}, {"responses", 2, Id::kResponseMap3}, {"parameters", 3, Id::kParameterMap3},
    {"requestBodies", 5, Id::kBodyMap3}, {"headers", 6, Id::kHeaderMap3}, {"securitySchemes", 7, Id::kSecurityMap3}};
constexpr Slot kSchema3Slots[] = {
    {"nullable", 1, Id::kBool}, {"discriminator", 2, Id::kDiscriminator3}, {"readOnly", 3, Id::kBool},
    {"writeOnly", 4, Id::kBool}, {"xml", 5, Id::kXml}, {"externalDocs", 6, Id::kExternalDocs},
    {"example", 7, Id::kAny}, {"deprecated", 8, Id::kBool}, {"title", 9, Id::kText}, {"multipleOf", 10, Id::kNumber},
    {"maximum", 11, Id::kNumber}, {"exclusiveMaximum", 12, Id::kBool}, {"minimum", 13, Id::kNumber},
    {"exclusiveMinimum", 14, Id::kBool}, {"maxLength", 15, Id::kInt}, {"minLength", 16, Id::kInt},
    {"pattern", 17, Id::kText}, {"maxItems", 18, Id::kInt}, {"minItems", 19, Id::kInt},
    {"uniqueItems", 20, Id::kBool}, {"maxProperties", 21, Id::kInt}, {"minProperties", 22, Id::kInt},
    {"required", 23, Id::kText, kRepeated}, {"enum", 24, Id::kAny, kRepeated}, {"type", 25, Id::kText},
    {"allOf", 26, Id::kSchemaItem3, kRepeated}, {"oneOf", 27, Id::kSchemaItem3, kRepeated},
    {"anyOf", 28, Id::kSchemaItem3, kRepeated}, {"not", 29, Id::kSchema3}, {"items", 30, Id::kSchemas3},
    {"properties", 31, Id::kSchemaMap3}, {"additionalProperties", 32, Id::kSchemaOrBool3},
    {"default", 33, Id::kDefault3}, {"description", 34, Id::kText}, {"format", 35, Id::kText}};
constexpr Slot kDiscriminator3Slots[] = {{"propertyName", 1, Id::kText}, {"mapping", 2, Id::kTextMap}};
constexpr Slot kSecurity3Slots[] = {
    {"type", 1, Id::kText}, {"description", 2, Id::kText}, {"name", 3, Id::kText}, {"in", 4, Id::kText},
    {"scheme", 5, Id::kText}, {"bearerFormat", 6, Id::kText}, {"flows", 7, Id::kFlows3},
    {"openIdConnectUrl", 8, Id::kText}};
constexpr Slot kFlows3Slots[] = {
    {"implicit", 1, Id::kFlow3}, {"password", 2, Id::kFlow3}, {"clientCredentials", 3, Id::kFlow3},
    {"authorizationCode", 4, Id::kFlow3}};
constexpr Slot kFlow3Slots[] = {
    {"authorizationUrl", 1, Id::kText}, {"tokenUrl", 2, Id::kText}, {"refreshUrl", 3, Id::kText},
    {"scopes", 4, Id::kTextMap}};

// In the order of MessageId, from kContact on.
constexpr MessageShape kShapes[] = {
    {.slots = kContactSlots, .extensions = 4},  // kContact
    {.slots = kLicenseSlots, .extensions = 3},  // kLicense
    {.slots = kExternalDocsSlots, .extensions = 3},  // kExternalDocs
    {.slots = kXmlSlots, .extensions = 6},  // kXml
    {.slots = kTagSlots, .extensions = 4},  // kTag
    {.list_field = 1, .list_item = Id::kText},  // kTexts
    {.others = 1, .other = Id::kTexts},  // kRequirement
    {.others = 1, .other = Id::kText},  // kTextMap
    {.slots = kDocument2Slots, .extensions = 16},  // kDocument2
    {.slots = kInfo2Slots, .extensions = 7},  // kInfo2
    {.extensions = 1, .others = 2, .other = Id::kPathItem2},  // kPaths2
    {.slots = kPathItem2Slots, .extensions = 10},  // kPathItem2
    {.slots = kOperation2Slots, .extensions = 13},  // kOperation2
    {.choose = OrReference<Id::kParameter2, Id::kReference2>},  // kParameterItem2
    {.slots = kReference2Slots},  // kReference2
    {.choose = Parameter2},  // kParameter2
    {.slots = kBodyParameter2Slots, .extensions = 6},  // kBodyParameter2
    {.choose = NonBodyParameter},  // kNonBodyParameter2
    {.slots = kHeaderParameter2Slots, .extensions = 22},  // kHeaderParameter2
    {.slots = kFormParameter2Slots, .extensions = 23},  // kFormParameter2
    {.slots = kQueryParameter2Slots, .extensions = 23},  // kQueryParameter2
    {.slots = kPathParameter2Slots, .extensions = 22},  // kPathParameter2
    {.slots = kPrimitive2Slots, .extensions = 18},  // kPrimitive2
    {.others = 1, .other = Id::kParameter2},  // kParameterMap2
    {.extensions = 2, .others = 1, .other = Id::kResponseItem2},  // kResponses2
    {.choose = OrReference<Id::kResponse2, Id::kReference2>},  // kResponseItem2
    {.slots = kResponse2Slots, .extensions = 5},  // kResponse2
    {.others = 1, .other = Id::kResponse2},  // kResponseMap2
    {.choose = ResponseSchema2},  // kSchemaItem2
    {.slots = kFileSchema2Slots, .extensions = 10},  // kFileSchema2
    {.slots = kHeader2Slots, .extensions = 19},  // kHeader2
    {.others = 1, .other = Id::kHeader2},  // kHeaderMap2
    {.others = 1, .other = Id::kAny},  // kAnyMap2
    {.slots = kSchema2Slots, .extensions = 31},  // kSchema2
    {.list_field = 1, .list_item = Id::kSchema2},  // kSchemas2
    {.choose = OrBool<Id::kSchema2>},  // kSchemaOrBool2
    {.others = 1, .other = Id::kSchema2},  // kSchemaMap2
    {.choose = Security2},  // kSecurity2
    {.others = 1, .other = Id::kSecurity2},  // kSecurityMap2
    {.slots = kBasicSecurity2Slots, .extensions = 3},  // kBasicSecurity2
    {.slots = kKeySecurity2Slots, .extensions = 5},  // kKeySecurity2
    {.slots = kImplicitFlow2Slots, .extensions = 6},  // kImplicitFlow2
    {.slots = kPasswordFlow2Slots, .extensions = 6},  // kPasswordFlow2
    {.slots = kApplicationFlow2Slots, .extensions = 6},  // kApplicationFlow2
    {.slots = kAccessCodeFlow2Slots, .extensions = 7},  // kAccessCodeFlow2
    {.slots = kDocument3Slots, .extensions = 9},  // kDocument3
    {.slots = kInfo3Slots, .extensions = 7},  // kInfo3
    {.slots = kServer3Slots, .extensions = 4},  // kServer3
    {.slots = kServerVariable3Slots, .extensions = 4},  // kServerVariable3
    {.others = 1, .other = Id::kServerVariable3},  // kServerVariableMap3
    {.extensions = 2, .others = 1, .other = Id::kPathItem3},  // kPaths3
    {.slots = kPathItem3Slots, .extensions = 14},  // kPathItem3
    {.slots = kOperation3Slots, .extensions = 13},  // kOperation3
    {.slots = kReference3Slots},  // kReference3
    {.choose = OrReference<Id::kParameter3, Id::kReference3>},  // kParameterItem3
    {.slots = kParameter3Slots, .extensions = 14},  // kParameter3
    {.others = 1, .other = Id::kParameterItem3},  // kParameterMap3
    {.choose = OrReference<Id::kBody3, Id::kReference3>},  // kBodyItem3
    {.slots = kBody3Slots, .extensions = 4},  // kBody3
    {.others = 1, .other = Id::kBodyItem3},  // kBodyMap3
    {.slots = kResponses3Slots, .extensions = 3, .others = 2, .other = Id::kResponseItem3},  // kResponses3
    {.choose = OrReference<Id::kResponse3, Id::kReference3>},  // kResponseItem3
    {.slots = kResponse3Slots, .extensions = 5},  // kResponse3
    {.others = 1, .other = Id::kResponseItem3},  // kResponseMap3
    {.slots = kMediaType3Slots, .extensions = 5},  // kMediaType3
    {.others = 1, .other = Id::kMediaType3},  // kMediaTypeMap3
    {.choose = OrReference<Id::kHeader3, Id::kReference3>},  // kHeaderItem3
    {.slots = kHeader3Slots, .extensions = 12},  // kHeader3
    {.others = 1, .other = Id::kHeaderItem3},  // kHeaderMap3
    {.slots = kComponents3Slots, .extensions = 10},  // kComponents3
    {.choose = OrReference<Id::kSchema3, Id::kReference3>},  // kSchemaItem3
    {.slots = kSchema3Slots, .extensions = 36},  // kSchema3
    {.list_field = 1, .list_item = Id::kSchemaItem3},  // kSchemas3
    {.choose = OrBool<Id::kSchemaItem3>},  // kSchemaOrBool3
    {.others = 1, .other = Id::kSchemaItem3},  // kSchemaMap3
    {.choose = Default3},  // kDefault3
    {.slots = kDiscriminator3Slots, .extensions = 3},  // kDiscriminator3
    {.choose = OrReference<Id::kSecurity3, Id::kReference3>},  // kSecurityItem3
    {.slots = kSecurity3Slots, .extensions = 9},  // kSecurity3
    {.others = 1, .other = Id::kSecurityItem3},  // kSecurityMap3
    {.slots = kFlows3Slots, .extensions = 5},  // kFlows3
    {.slots = kFlow3Slots, .extensions = 5},  // kFlow3
};
static_assert(std::size(kShapes) == static_cast<size_t>(Id::kFlow3) - static_cast<size_t>(Id::kContact) + 1);

}  // namespace

const MessageShape& ShapeOf(MessageId id) {
  return kShapes[static_cast<size_t>(id) - static_cast<size_t>(MessageId::kContact)];
}

}  // namespace homeostat::schema::internal
