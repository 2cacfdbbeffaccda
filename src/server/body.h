// Body: a request's bytes become a typed tree of the kind the URL expects, with the strictness the client asked for.
// The words of every refusal are upstream's, as clients match them.
#pragma once

#include <span>

#include "server/context.h"
#include "server/options.h"

namespace homeostat::server {

// Decodes the body as `expected` (the resource's own kind, or what a subresource takes) and applies its defaults.
// Unknown and duplicate fields become warnings or an error, by `validation`. The tree is of `expected`'s version.
// also_version: another version of the group that is as good, having the same fields (Eviction's v1beta1).
Result<object::Value> DecodeBody(RequestContext& context, const schema::Kind& expected, FieldValidation validation,
                                 std::string_view also_version = {});

// The options of a request that creates. Before them upstream looks at the content type and the size of the body.
Result<WriteQuery> ReadCreateQuery(RequestContext& context);

// A tree that a patch made of an object.
struct Patched {
  object::Value tree;
  std::span<const std::string> problems;  // what strict decoding of the patch itself found
  bool strategic = false;                 // converted from Go's maps, not decoded from JSON
};
// The same for such a tree: conform, strictness, defaults. Errors are what is wrong, for a 422 about the patch.
Result<object::Value> DecodePatched(RequestContext& context, const schema::Kind& expected, const Patched& patched,
                                    FieldValidation validation);

// A body that holds options of a request, of any group's version.
Result<object::Value> DecodeOptions(RequestContext& context, const schema::Type& type, std::string_view kind);

// Parses JSON or YAML without a type: patches, and options.
Result<object::Value> ParseUntyped(object::Arena& arena, std::string_view text, Encoding encoding,
                                   std::vector<std::string>* duplicate_fields);

// From the request's version to the one that writes are checked in, from that to the stored one, and back; and from the
// request's to the stored one at once. The same value where they are one.
Result<object::Value> ToWorking(object::Arena& arena, const Resource& resource, const object::Value& object);
Result<object::Value> FromWorking(object::Arena& arena, const Resource& resource, const object::Value& object);
Result<object::Value> WorkingToStored(object::Arena& arena, const Resource& resource, const object::Value& object);
Result<object::Value> StoredToWorking(object::Arena& arena, const Resource& resource, const object::Value& object);
Result<object::Value> ToStorage(object::Arena& arena, const Resource& resource, const object::Value& object);
Result<object::Value> FromStorage(object::Arena& arena, const Resource& resource, const object::Value& object);

}  // namespace homeostat::server
