// ObjectStore: commits objects and reads them back. Between the verbs and the cache: encoding for the store, keys, and the
// loop that recomputes an update when somebody else was faster.
#pragma once

#include <functional>
#include <optional>

#include "server/context.h"

namespace homeostat::server {

// What an update wants done with the object it was shown.
struct UpdateDecision {
  enum class Action : uint8_t { kStore, kRemove, kKeep } action = Action::kStore;
  Value object;   // kStore: the new object, storage version, in the request's arena
};

// Called with the stored object (absent: there is none). May be called several times. Errors end the update.
using UpdateFunction = std::function<Task<Result<UpdateDecision>>(object::DocumentPtr current_document, Value current)>;

// The tree of a stored object, in storage version, with its resourceVersion.
Result<object::DocumentPtr> DecodeStored(const schema::Kind& storage, const Bytes& stored, uint64_t revision);
// The bytes under which an object is stored: without resourceVersion.
Result<Bytes> EncodeStored(object::Arena& arena, const schema::Kind& storage, const Value& object, bool custom);

// How often an update is computed anew before its conflict is the client's to solve.
inline constexpr int kUpdateAttempts = 64;

// The one way to the store for writes: what Cache::Commit does, counted as `operation` (create, update, delete; a literal) on
// an object of that kind.
Task<Result<cache::CommitResult>> CommitWrite(RequestContext& context, const schema::Kind& kind, std::string_view operation,
                                              store::Write write, cache::DocumentMaker document = nullptr);

// Stores a new object under its name. AlreadyExists if there is one; 500 for one of more than 1.5 MiB. A dry run checks and stores nothing.
Task<Result<Answer>> StoreNew(RequestContext& context, Value object, store::WriteInfo info, bool dry_run);

// Reads, computes, stores; again if the object has changed meanwhile. An unchanged object is not written.
Task<Result<Answer>> StoreUpdate(RequestContext& context, std::string ns, std::string name, store::WriteInfo info, bool dry_run,
                                 const UpdateFunction& function);

// Removes the object of that kind if it is still at that revision: the revision of the removal, nothing when it is not.
Task<Result<std::optional<uint64_t>>> StoreRemoval(RequestContext& context, const schema::Kind& kind, const cache::Entry& entry,
                                store::WriteInfo info);

// After a commit that found another state than expected: completes when the cache has that state, so that the next
// attempt sees it.
Task<Result<void>> WaitForRival(RequestContext& context, const cache::CommitResult& result);

// What history remembers of the writer.
store::WriteInfo MakeWriteInfo(RequestContext& context, std::string_view field_manager);

}  // namespace homeostat::server
