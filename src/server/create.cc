// create: POST to a collection.
#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/field_tracking.h"
#include "server/metadata.h"
#include "server/options.h"
#include "server/verbs.h"

namespace homeostat::server {

Task<Result<http::Response>> CreateObject(RequestContext& context) {
  CO_TRY_ASSIGN(WriteQuery query, ReadCreateQuery(context));
  const schema::Kind& kind = context.kind();
  CO_TRY_ASSIGN(Value object, DecodeBody(context, kind, query.field_validation));
  // What only the server says is not the client's to send.
  object = SetMetadata(context.arena(), *kind.type, object,
                       {{"uid", Value()}, {"creationTimestamp", Value()}, {"deletionTimestamp", Value()},
                        {"deletionGracePeriodSeconds", Value()}, {"selfLink", Value()}});
  CO_TRY_ASSIGN(object, EnsureNamespace(context, *kind.type, object));
  ChangeOptions options;
  options.sent_version = MetadataString(object, "resourceVersion");
  options.ns = context.info.ns;
  options.field_manager = context.FieldManager(query.field_manager);
  options.dry_run = query.dry_run;
  auto track = TrackUpdateOf(context, Value(), object, options.field_manager, "");
  object = co_await std::move(track);
  CO_TRY_ASSIGN(object, ToWorking(context.arena(), *context.resource, object));
  auto create = CreateNew(context, object, options);
  CO_TRY_ASSIGN(Answer answer, co_await std::move(create));
  co_return EncodeAnswer(context, answer);
}

}  // namespace homeostat::server
