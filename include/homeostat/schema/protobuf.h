// Kubernetes' protobuf: typed trees to bytes and back, equal to what the generated Go code writes.
//
// Fields stand in ascending order; scalars and structs that are no pointers are written even when zero; missing
// pointers, empty lists and maps are not; map entries are sorted by key. Reading takes what protobuf allows: any order,
// repeated numbers in packed form, later values over earlier ones, messages in parts merged, unknown fields skipped.
//
// Source of the rules: the generated.proto files of Kubernetes' API packages and gogo's generated code. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/object/wire.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Writes the message of a struct type, backwards, without a tag or length of its own (see WireWriter). Texts that are
// not canonical times, durations or quantities (Conform makes them so) are written as zero.
void EncodeProtobuf(const Type& type, const object::Value& value, object::WireWriter& writer);
std::string EncodeProtobuf(const Type& type, const object::Value& value);

// The same in Kubernetes' envelope: "k8s\0", then apiVersion and kind as the value's members of these names have them.
std::string EncodeProtobufObject(const Type& type, const object::Value& value);

// The typed tree of a message: canonical, as Conform makes it. Texts point into `bytes`, which must live as long as the
// tree (Arena::Keep). Any bytes are safe to give: what is no such message is 400, as is nesting deeper than 400.
Result<object::Value> DecodeProtobuf(object::Arena& arena, std::string_view bytes, const Type& type);

// The same for bytes in the envelope; kind and apiVersion of the tree come from there.
Result<object::Value> DecodeProtobufObject(object::Arena& arena, std::string_view bytes, const Type& type);

// The tree with kind and apiVersion set (empty ones are left out), as decoding the envelope does. Both are copied.
object::Value WithTypeMeta(object::Arena& arena, const Type& type, const object::Value& value,
                           std::string_view api_version, std::string_view kind);

}  // namespace homeostat::schema
