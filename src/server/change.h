// Change: what every write of an object goes through, whoever computed the new state: admission, the generic rules, the
// kind's rules, and the store. create.cc, update.cc, patch.cc and the subresources end here.
#pragma once

#include <functional>
#include <string>

#include "server/context.h"
#include "server/object_store.h"

namespace homeostat::server {

struct ChangeOptions {
  std::string ns, name;
  std::string subresource;        // "" for the object itself
  std::string field_manager;      // who writes, for history
  bool dry_run = false;
  std::string sent_version;       // create: the resourceVersion that the client named; refused last, but not by a dry run
  bool allow_create = false;      // a missing object is created
  // Where admission sees something else than the object (scale): asked to refuse in the place of the usual plugins' call, which is
  // not made, nor that of those that change. Objects are of the working version.
  std::function<Task<Result<void>>(kinds::RuleContext& rules, Value object, Value old)> admit;
};

// The new object (storage version, managed fields already tracked), given the stored one (absent: there is none).
// Called again when the object changed meanwhile.
using Compute = std::function<Task<Result<Value>>(Value current)>;

// Stores a new object. Names made from generateName are drawn again while they are taken.
Task<Result<Answer>> CreateNew(RequestContext& context, Value object, ChangeOptions options);

// Changes a stored object: 404 if there is none (unless it may be created), 409 if it is at another version than the new
// object names. An object whose last finalizer goes is removed.
Task<Result<Answer>> ChangeObject(RequestContext& context, ChangeOptions options, Compute compute);

// Whether an object can be in the store at all where the URL puts it: 400 for a namespace that is named but empty.
Result<void> CheckKeyNamespace(const RequestContext& context);
// The same with a name in it.
Result<void> CheckKey(const RequestContext& context, std::string_view name);

// 409 for a precondition on the stored object that does not hold: `what` ("UID", "ResourceVersion") is `found` and not
// `wanted`. Names the storage's key, which a dry run sees without the prefix of the store.
Status PreconditionFailed(RequestContext& context, std::string_view name, bool dry_run, std::string_view what, std::string_view wanted,
                          std::string_view found);

// 400 unless the object's name and namespace are those of the URL.
Result<void> CheckNameAndNamespace(const RequestContext& context, const Value& object, std::string_view name);
// The object with the request's namespace, or 400 if it names another.
Result<Value> EnsureNamespace(RequestContext& context, const schema::Type& type, const Value& object);

}  // namespace homeostat::server
