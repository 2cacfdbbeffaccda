// update: PUT of an object, or of a subresource that is a part of it (status and the like).
#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/field_tracking.h"
#include "server/metadata.h"
#include "server/object_store.h"
#include "server/options.h"
#include "server/verbs.h"

namespace homeostat::server {
namespace {

// The body as the new state of what is stored.
Task<Result<Value>> ComputeFromBody(RequestContext& context, Value body, std::string manager, bool dry_run, Value current) {
  object::Arena& arena = context.arena();
  Value live;
  // What is not there has no uid, which then differs. A version is passed over: who puts what is not there makes it.
  std::string_view uid = MetadataString(body, "uid");
  if (!uid.empty() && uid != MetadataString(current, "uid")) {
    co_return Fail(PreconditionFailed(context, context.info.name, dry_run, "UID", uid, MetadataString(current, "uid")));
  }
  if (current) {
    CO_TRY_ASSIGN(live, FromWorking(arena, *context.resource, current));
  }
  auto track = TrackUpdateOf(context, live, body, manager, context.info.subresource, context.resets_managed_fields);
  Value tracked = co_await std::move(track);
  co_return ToWorking(arena, *context.resource, tracked);
}

}  // namespace

Task<Result<http::Response>> UpdateObject(RequestContext& context) {
  CO_TRY_ASSIGN(WriteQuery query, ParseWriteQuery(context.query, WriteKind::kUpdate));
  const schema::Kind& kind = context.kind();
  CO_TRY_ASSIGN(Value body, DecodeBody(context, kind, query.field_validation));
  CO_TRY_ASSIGN(body, EnsureNamespace(context, *kind.type, body));
  CO_TRY(CheckNameAndNamespace(context, body, context.info.name));
  ChangeOptions options;
  options.ns = context.info.ns;
  options.name = context.info.name;
  options.subresource = context.info.subresource;
  options.field_manager = context.FieldManager(query.field_manager);
  options.dry_run = query.dry_run;
  options.allow_create = context.storage().create_on_update;  // by a part of it, too
  Compute compute = [&context, body, manager = options.field_manager, dry_run = options.dry_run](Value current) {
    return ComputeFromBody(context, body, manager, dry_run, current);
  };
  auto change = ChangeObject(context, options, compute);
  CO_TRY_ASSIGN(Answer answer, co_await std::move(change));
  co_return EncodeAnswer(context, answer);
}

}  // namespace homeostat::server
