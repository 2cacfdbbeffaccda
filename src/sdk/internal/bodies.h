// Objects to request bodies and back, in protobuf or JSON, and errors out of answers.
#pragma once

#include <string_view>

#include "homeostat/base/bytes.h"
#include "homeostat/base/http.h"
#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "homeostat/sdk/client.h"

namespace homeostat::sdk {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kJsonMediaType = "application/json";

// A type with the names that its objects carry.
struct BodyType {
  const schema::Type* type = nullptr;
  schema::GroupVersionKind gvk;
};

// Whether objects of the type exist in protobuf: built-in ones do, custom resources don't.
inline bool SpeaksProtobuf(const schema::Type& type) { return !type.structural; }

// The object as a body. Kind and apiVersion are added where the object has none.
Bytes EncodeBody(const BodyType& type, const object::Value& object, bool protobuf);

// An answer's object, which is of the type expected or any other that the built-in API knows (a Status, a Scale). Texts may
// point into the bytes, which the document then keeps.
Result<object::DocumentPtr> DecodeBody(const BodyType& expected, Bytes body);

// What a list is and holds.
struct ListType {
  BodyType item;
  const schema::Type* type = nullptr;   // null: the list can't be read as protobuf
  std::string_view kind;
};
// What reading a kind gives, whole objects or their metadata alone.
BodyType ItemTypeOf(const schema::Kind& kind, bool metadata_only);
ListType ListTypeOf(const schema::Kind& kind, bool metadata_only);

// An answer to a list; each item becomes a document of its own that does not keep the others' memory.
Result<ListResult> DecodeList(const ListType& list, Bytes body);

// The error that an answer of code 400 or more stands for.
Status StatusFromResponse(const http::Response& head, Bytes body);
// A Status object as the value it stands for.
Status StatusFromObject(const object::Value& status);

}  // namespace homeostat::sdk
