#include "server/object_store.h"

#include "server/body.h"
#include "server/metadata.h"
#include "server/request_metrics.h"
#include "server/views.h"

#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "homeostat/schema/conform.h"
#include "homeostat/object/json.h"

namespace homeostat::server {
namespace {

Value WithRevision(object::Arena& arena, const schema::Kind& kind, const Value& object, uint64_t revision) {
  return SetMetadata(arena, *kind.type, object, "resourceVersion", Value::String(arena, std::to_string(revision)));
}

// The request's tree with its final root, as an answer.
Answer AnswerWith(RequestContext& context, Value object, int code) {
  context.work->set_root(object);
  return Answer{code, context.work, object, &context.working(), nullptr};
}

// The new state as a document, once its revision is known: the request's own tree, which lives as long as the request.
cache::DocumentMaker MakeDocument(RequestContext& context, Value object) {
  return [&context, object](uint64_t revision) -> object::DocumentPtr {
    const Resource& resource = *context.resource;
    const schema::Kind& stored = StoredKind(resource);
    Value shown = object;
    if (resource.custom) {
      // As it will be read: what was taken off on the way in (the status of a new object) may have a default.
      auto filled = context.defaults(stored).Apply(context.arena(), *stored.type, object);
      if (filled) shown = *filled;
    }
    context.work->set_root(WithRevision(context.arena(), stored, shown, revision));
    bool shareable = !resource.owner || !resource.owner->retired();
    // Written in another version, it has not been given yet what its stored version adds by default when it is read.
    if (resource.custom && resource.kind != &stored) shareable = false;
    return shareable ? object::DocumentPtr(context.work) : nullptr;
  };
}

// The largest object that is stored, with its key: what upstream's store takes by default. Its key stands three times in what
// upstream sends, with some octets around.
constexpr size_t kMostStored = 1536 * 1024;
constexpr size_t kCommitOverhead = 64;

bool IsTooLarge(std::string_view key, const Bytes& bytes) { return bytes.size() + 3 * key.size() + kCommitOverhead > kMostStored; }

// The bytes to store. An object that is too large goes without its managed fields if that helps (but an apply needs them).
Result<Bytes> EncodeWithinLimit(RequestContext& context, std::string_view key, Value& object) {
  const schema::Kind& kind = StoredKind(*context.resource);
  TRY_ASSIGN(Bytes bytes, EncodeStored(context.arena(), kind, object, context.resource->custom));
  if (!IsTooLarge(key, bytes)) return bytes;
  bool applies = context.request.headers.Get("Content-Type").starts_with("application/apply-patch");
  if (!applies && object.Path({"metadata", "managedFields"})) {
    object = SetMetadata(context.arena(), *kind.type, object, "managedFields", Value());
    TRY_ASSIGN(bytes, EncodeStored(context.arena(), kind, object, context.resource->custom));
    if (!IsTooLarge(key, bytes)) return bytes;
  }
  // Upstream answers its store's words, without a reason.
  return Fail(Status(500, "", "etcdserver: request is too large"));
}

// What was stored, as the request sees it. Read back through the webhook where one converts.
Task<Result<Answer>> AnswerCommitted(RequestContext& context, cache::CommitResult result, int code) {
  if (&StoredKind(*context.resource) == &context.storage()) {
    co_return Answer{code, context.work, context.work->root(), &context.storage(), result.entry};
  }
  auto view = ViewOf(context.parts, *context.resource, result.entry);
  CO_TRY_ASSIGN(cache::EntryPtr shown, co_await std::move(view));
  CO_TRY_ASSIGN(object::DocumentPtr document, shown->document());
  co_return Answer{code, document, document->root(), &context.storage(), shown};
}

}  // namespace

Task<Result<cache::CommitResult>> CommitWrite(RequestContext& context, const schema::Kind& kind, std::string_view operation,
                                              store::Write write, cache::DocumentMaker document) {
  MonotonicTime start = context.runtime().Now();
  auto commit = context.parts.cache.Commit(std::move(write), std::move(document));
  Result<cache::CommitResult> result = co_await std::move(commit);
  if (StoreMetrics* metrics = context.parts.store_metrics) {
    metrics->Finished(operation, kind.gvk.group, kind.plural, !result.has_value(), context.runtime().Now() - start);
  }
  co_return result;
}

Result<object::DocumentPtr> DecodeStored(const schema::Kind& storage, const Bytes& stored, uint64_t revision) {
  auto document = std::make_shared<object::Document>();
  object::Arena& arena = document->arena();
  Value object;
  if (object::HasProtobufPrefix(stored)) {
    arena.Keep(std::make_shared<Bytes>(stored));
    TRY_ASSIGN(object, schema::DecodeProtobufObject(arena, stored, *storage.type));
  } else {
    TRY_ASSIGN(Value untyped, object::ParseJson(arena, stored));
    schema::ConformReport report;
    TRY_ASSIGN(object, schema::Conform(arena, untyped, *storage.type, report));
  }
  document->set_root(WithRevision(arena, storage, object, revision));
  return object::DocumentPtr(document);
}

Result<Bytes> EncodeStored(object::Arena& arena, const schema::Kind& storage, const Value& object, bool custom) {
  Value bare = SetMetadata(arena, *storage.type, object, "resourceVersion", Value());
  bare = schema::WithTypeMeta(arena, *storage.type, bare, storage.gvk.ApiVersion(), storage.gvk.kind);
  if (!custom) return Bytes(schema::EncodeProtobufObject(*storage.type, bare));
  std::string json;
  schema::EncodeJson(*storage.type, bare, json);
  json.push_back('\n');
  return Bytes(std::move(json));
}

store::WriteInfo MakeWriteInfo(RequestContext& context, std::string_view field_manager) {
  store::WriteInfo info;
  info.user = context.user.name;
  info.field_manager = field_manager;
  info.verb = context.info.verb;
  info.subresource = context.info.subresource;
  info.audit_id = context.audit_id;
  info.time = context.runtime().WallNow();
  return info;
}

// What a dry run shows: custom objects of which only the stored version's fields and defaults are kept.
Value AsRead(RequestContext& context, const Value& object) {
  const Resource& resource = *context.resource;
  if (!resource.custom || resource.conversion != nullptr) return object;
  object::Arena& arena = context.arena();
  const schema::Kind& kind = StoredKind(resource);
  Result<Value> read = WorkingToStored(arena, resource, object);
  if (read) read = context.defaults(kind).Apply(arena, *kind.type, *read);
  if (read) read = StoredToWorking(arena, resource, *read);
  return read.value_or(object);
}

// There is one of that name already; that it is on its way out is said.
Status AlreadyThere(RequestContext& context, std::string_view key, std::string_view name) {
  Status exists = AlreadyExistsError(context.kind().gvk.group, context.kind().plural, name);
  cache::EntryPtr entry = context.parts.cache.Get(key);
  auto document = entry ? entry->document() : Result<object::DocumentPtr>(nullptr);
  bool leaving = document && *document && (*document)->root().Path({"metadata", "deletionTimestamp"});
  return leaving ? exists.WithMessage("object is being deleted: " + exists.message()) : exists;
}

Task<Result<Answer>> StoreNew(RequestContext& context, Value object, store::WriteInfo info, bool dry_run) {
  const schema::Kind& kind = context.storage();
  std::string name(MetadataString(object, "name"));
  std::string key = StorageKey(kind, context.info.ns, name);
  if (dry_run) {
    if (context.parts.cache.Get(key)) co_return Fail(AlreadyThere(context, key, name));
    co_return AnswerWith(context, AsRead(context, object), 201);
  }
  auto convert = ToStoredForm(context, object);
  CO_TRY_ASSIGN(Value stored, co_await std::move(convert));
  CO_TRY_ASSIGN(Bytes bytes, EncodeWithinLimit(context, key, stored));
  store::Write write{key, std::move(bytes), store::Expectation::Absent(), std::move(info)};
  auto commit = CommitWrite(context, kind, "create", std::move(write), MakeDocument(context, stored));
  CO_TRY_ASSIGN(cache::CommitResult result, co_await std::move(commit));
  if (!result.committed) co_return Fail(AlreadyThere(context, key, name));
  auto answer = AnswerCommitted(context, std::move(result), 201);
  co_return co_await std::move(answer);
}

Task<Result<Answer>> StoreUpdate(RequestContext& context, std::string ns, std::string name, store::WriteInfo info, bool dry_run,
                                 const UpdateFunction& function) {
  const schema::Kind& kind = context.storage();
  std::string key = StorageKey(kind, ns, name);
  for (int attempt = 0; attempt < kUpdateAttempts; ++attempt) {
    auto view = ViewOf(context.parts, *context.resource, context.parts.cache.Get(key));
    CO_TRY_ASSIGN(cache::EntryPtr entry, co_await std::move(view));
    object::DocumentPtr document;
    Value current;
    if (entry) {
      CO_TRY_ASSIGN(document, entry->document());
      context.arena().Keep(document);
      CO_TRY_ASSIGN(current, StoredToWorking(context.arena(), *context.resource, document->root()));
    }
    auto decide = function(document, current);
    CO_TRY_ASSIGN(UpdateDecision decision, co_await std::move(decide));
    if (decision.action == UpdateDecision::Action::kKeep) co_return Answer{200, document, document->root(), &kind, entry};

    store::Write write{key, std::nullopt, entry ? store::Expectation::At(entry->revision()) : store::Expectation::Absent(), info};
    Value stored;
    if (decision.action == UpdateDecision::Action::kStore) {
      auto convert = ToStoredForm(context, decision.object);
      CO_TRY_ASSIGN(stored, co_await std::move(convert));
      CO_TRY_ASSIGN(write.value, dry_run ? EncodeStored(context.arena(), StoredKind(*context.resource), stored, context.resource->custom)
                                         : EncodeWithinLimit(context, key, stored));
      if (entry && *write.value == entry->stored()) co_return Answer{200, document, document->root(), &kind, entry};
    }
    int code = entry ? 200 : 201;
    bool removes = decision.action == UpdateDecision::Action::kRemove;
    if (dry_run) co_return AnswerWith(context, removes ? decision.object : AsRead(context, decision.object), code);
    cache::DocumentMaker maker = removes ? nullptr : MakeDocument(context, stored);
    auto commit = CommitWrite(context, kind, removes ? "delete" : "update", std::move(write), std::move(maker));
    CO_TRY_ASSIGN(cache::CommitResult result, co_await std::move(commit));
    if (result.committed && removes) co_return AnswerWith(context, decision.object, code);
    if (result.committed) {
      auto answer = AnswerCommitted(context, std::move(result), code);
      co_return co_await std::move(answer);
    }
    auto settle = WaitForRival(context, result);
    CO_TRY(co_await std::move(settle));
  }
  co_return Fail(ConflictError(kind.gvk.group, context.kind().plural, name,
                               "the object has been modified; please apply your changes to the latest version and try again"));
}

Task<Result<std::optional<uint64_t>>> StoreRemoval(RequestContext& context, const schema::Kind& kind, const cache::Entry& entry,
                                store::WriteInfo info) {
  store::Write write{std::string(entry.key()), std::nullopt, store::Expectation::At(entry.revision()), std::move(info)};
  auto commit = CommitWrite(context, kind, "delete", std::move(write));
  CO_TRY_ASSIGN(cache::CommitResult result, co_await std::move(commit));
  if (result.committed) co_return std::optional<uint64_t>(result.revision);
  auto settle = WaitForRival(context, result);
  CO_TRY(co_await std::move(settle));
  co_return std::optional<uint64_t>();
}

Task<Result<void>> WaitForRival(RequestContext& context, const cache::CommitResult& result) {
  if (result.current) {
    auto wait = context.parts.cache.WaitFor(result.current->revision(), std::chrono::seconds(10));
    co_return co_await std::move(wait);
  }
  auto turn = Yield(context.runtime());
  co_await std::move(turn);
  co_return Done();
}

}  // namespace homeostat::server
