// Type: what is known of one type of data, as constant tables. Every generic algorithm (decode, default, prune,
// validate, patch, apply, print, document) works from a Type and a Value and knows no kind by name.
//
// Built-in types are compiled from api/*.proto by the protoc plugin into constant data, so that start-up costs nothing;
// a CustomResourceDefinition is compiled into the same structures at run time, in memory that its owner keeps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace homeostat::schema {

// How a value of the type is written.
enum class Form : uint8_t {
  kBool,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kDouble,
  kString,
  kBytes,        // base64 in JSON
  kQuantity,     // resource.Quantity: a string in canonical form; protobuf message {1: string}
  kTime,         // RFC 3339, whole seconds, UTC; protobuf {1: seconds, 2: nanos}
  kMicroTime,    // RFC 3339 with six digits of fraction; protobuf as kTime, nanos cut to microseconds
  kDuration,     // Go duration text such as 1h2m3s; protobuf {1: nanoseconds as int64}
  kIntOrString,  // protobuf {1: type 0 int, 1 string; 2: int32; 3: string}
  kFieldsV1,     // untyped JSON; protobuf {1: JSON bytes}
  kRawExtension, // any JSON object; protobuf {1: JSON bytes}
  kJson,         // any JSON value; protobuf {1: JSON bytes}
  kStruct,       // named fields
  kList,
  kMap,          // string keys
  // JSON schemas inside a CustomResourceDefinition; `element` is the schema's type.
  kSchemaOrBool,    // JSON: a boolean or a schema; protobuf {1: bool, 2: schema}
  kSchemaOrList,    // JSON: a schema or a list of them; protobuf {1: schema, 2: repeated schema}
  kSchemaOrStrings, // JSON: a schema or a list of strings; protobuf {1: schema, 2: repeated string}
};

// Server-side apply's view of a list (structured-merge-diff; list_type of types.tsv). Unset means atomic.
enum class ListType : uint8_t { kAtomic, kSet, kMap };

struct Type;
struct Condition;  // conditions.h

// Bits of Field::flags.
enum FieldFlag : uint32_t {
  kPointer = 1u << 0,        // presence is kept even for the zero value
  kOmitEmpty = 1u << 1,      // the zero value is left out of JSON (has no effect on structs, as in Go)
  kOmitZero = 1u << 2,       // a zero struct is left out of JSON
  kRequired = 1u << 3,       // listed as required in OpenAPI
  kNullable = 1u << 4,       // custom resources: null is a value
  kPatchMerge = 1u << 5,     // strategic merge: merge (lists by merge_key, or as sets of scalars)
  kPatchReplace = 1u << 6,   // strategic merge: replace
  kRetainKeys = 1u << 7,     // strategic merge: $retainKeys is honoured
  kJsonOnly = 1u << 8,       // not on the protobuf wire (kind and apiVersion)
  kDeclaredOptional = 1u << 9,
  kImmutable = 1u << 10,     // may not change after creation
  kDefaultToEmpty = 1u << 11,// an absent struct becomes {} before its own defaults are applied
};

struct Field {
  std::string_view name;          // JSON name
  std::string_view proto_name;    // the name in protobuf where it differs from JSON's, else the same
  uint32_t number = 0;            // protobuf number; 0 with kJsonOnly
  uint32_t inline_number = 0;     // the field lives, on the wire, in a message at this number of the parent (Go's inlined structs)
  uint32_t inline_inner_number = 0;  // … and in there in another message, at this number; 0 where there is but one
  uint32_t flags = 0;
  const Type* type = nullptr;
  std::string_view merge_key;     // strategic merge of lists of objects
  std::string_view default_json;  // applied when the field is absent; JSON text; "" means none
  std::string_view openapi_default;
  std::string_view feature_gate;  // comma separated; empty for none
  std::string_view documentation; // our own words
  std::string_view inline_name;   // Go's name of the inlined struct, e.g. VolumeSource, which decoding errors show; outer.inner if nested
  bool Has(FieldFlag flag) const { return (flags & flag) != 0; }
};

// Limits on a value, for the generic validation and OpenAPI. All optional.
struct Constraints {
  std::span<const std::string_view> enum_values;
  bool has_minimum = false, has_maximum = false, exclusive_minimum = false, exclusive_maximum = false;
  double minimum = 0, maximum = 0, multiple_of = 0;
  int64_t min_length = -1, max_length = -1, min_items = -1, max_items = -1, min_properties = -1, max_properties = -1;
  bool unique_items = false;
  std::string_view pattern;
  std::string_view format;       // OpenAPI format, or one of ours (see api/schema.proto)
};

struct Type {
  Form form = Form::kStruct;
  // OpenAPI definition name, e.g. io.k8s.api.apps.v1.DeploymentSpec; empty for lists, maps and plain scalars.
  std::string_view name;
  // Go's name, which decoding errors show, e.g. DeploymentSpec.
  std::string_view go_name;
  // The Go package shown before it ("v1" in v1.PodSpec, v1.RestartPolicy); empty for types without a name.
  std::string_view go_package;
  std::string_view documentation;

  // kStruct: fields in declared order, which is JSON's order of output and the order of field indexes.
  std::span<const Field> fields;
  std::span<const uint16_t> by_name;    // field indexes sorted by JSON name
  std::span<const uint16_t> by_number;  // field indexes in order of (inline_number or number, inline_inner_number or number, number): the wire order

  // kStruct: a bit for each of the first 64 fields that may be written where it is absent, in JSON and on the wire; there with all that
  // live in inlined structs. Writers need not look at the others. All bits is what nobody has worked out.
  uint64_t absent_in_json = ~uint64_t{0};
  uint64_t absent_on_wire = ~uint64_t{0};

  // kList, kMap, and kStruct with additional properties.
  const Type* element = nullptr;
  ListType list_type = ListType::kAtomic;
  bool list_type_declared = false;     // list_type (of a map or struct: atomic, or that it isn't) was stated, and is published in OpenAPI
  bool wrapped_on_wire = false;        // a list that protobuf writes as a message with the items at number 1 (ExtraValue)
  std::span<const std::string_view> list_map_keys;
  bool atomic = false;                 // struct_type/map_type atomic: apply treats it as one value
  bool preserve_unknown_fields = false;
  bool embedded_resource = false;
  bool element_nullable = false;
  std::string_view element_default_json;  // structural types: what null becomes where no element can be null; "" means nothing
  const Constraints* constraints = nullptr;
  // From a CustomResourceDefinition's schema: such objects are not Go structs, so zero values are kept as they were
  // sent, values of a wrong kind are left for validation to report, and JSON is written in order of names.
  bool structural = false;
  // What the schema of a structural type asks of values beyond their shape; null for other types.
  const Condition* condition = nullptr;

  // Index of the field of that JSON name, or -1.
  int FieldIndex(std::string_view json_name) const;
  const Field* FindField(std::string_view json_name) const {
    int index = FieldIndex(json_name);
    return index < 0 ? nullptr : &fields[static_cast<size_t>(index)];
  }
  bool IsScalar() const { return form < Form::kStruct; }
};

// Shared types of plain scalars, and the untyped one: any JSON, kept as it is.
const Type& ScalarType(Form form);
const Type& AnyType();

}  // namespace homeostat::schema
