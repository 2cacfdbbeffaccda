// What a body says it is: its kind and apiVersion, and whether the URL takes those. A part of decoding (body.h), with upstream's words.
#pragma once

#include <string>
#include <string_view>

#include "server/context.h"

namespace homeostat::server {

struct TypeMeta {
  std::string api_version, kind;
  std::string group, version;  // of the apiVersion
};

// Group and version from the apiVersion; false if that is none.
bool SplitApiVersion(TypeMeta& meta);

// kind and apiVersion of a parsed body, or why they can't be read.
Result<TypeMeta> ReadTypeMeta(const Value& untyped);

// What a body leaves out is taken from the URL.
void FillTypeMeta(TypeMeta& meta, const schema::Kind& expected);

// A body of this version that is of the expected kind otherwise.
Status WrongVersion(std::string_view api_version, const schema::Kind& expected);

Status CannotBeHandled(const TypeMeta& meta, const schema::Kind& expected, std::string_view why);

// How a body stands to the kind that is expected.
struct KindMatch {
  bool fits = false;
  // Not null: it is of another version that holds the same objects, to be read as this type.
  const schema::Type* other_version = nullptr;
  Status refusal;  // where it does not fit
};

// also_version: see DecodeBody. `body`, if it is a tree, may not even be of its own kind, which is then what is wrong.
KindMatch MatchKind(RequestContext& context, const TypeMeta& meta, const schema::Kind& expected, std::string_view also_version, const Value& body);

// A patch may have made something else of an object: the type to read it as. An error where that has no way to `expected`.
Result<const schema::Type*> TypeOfPatched(RequestContext& context, const schema::Kind& expected, const Value& tree);

// What was read as such another type, as the version that is expected. `tree`: what it was read from.
Result<Value> ToExpectedVersion(RequestContext& context, const schema::Kind& expected, const Value& tree, const Value& object);

}  // namespace homeostat::server
