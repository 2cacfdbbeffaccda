// What reviews and the like share: a kind that is sent, answered at once and never stored.
#pragma once

#include <functional>

#include "server/body.h"
#include "server/change.h"
#include "server/encode.h"
#include "server/field_tracking.h"
#include "server/metadata.h"
#include "server/options.h"

namespace homeostat::server {

// A kind that is only ever sent to a subresource, such as Scale: its type and name, with no resource of its own.
inline schema::Kind BodyKind(schema::GroupVersionKind gvk, const schema::Type& type) {
  schema::Kind kind;
  kind.gvk = gvk;
  kind.type = &type;
  return kind;
}

// The decoded body of a POST, with managed fields as of any object that is created.
inline Result<Value> DecodeReview(RequestContext& context) {
  TRY_ASSIGN(WriteQuery query, ReadCreateQuery(context));
  TRY_ASSIGN(Value review, DecodeBody(context, context.kind(), query.field_validation));
  for (std::string_view field : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) {
    review = SetMetadata(context.arena(), *context.kind().type, review, field, Value());
  }
  TRY_ASSIGN(review, EnsureNamespace(context, *context.kind().type, review));
  return TrackUpdate(context, Value(), review, context.FieldManager(query.field_manager), "");
}

// The review after admission, which sees it like any object that is created. `check`: upstream's checks of the review itself, made
// between admission that changes and admission that refuses.
using ReviewCheck = std::function<Result<void>(Value review)>;
Task<Result<Value>> AdmitReview(RequestContext& context, Value review, ReviewCheck check);

// The review with its status, as the answer.
inline Result<http::Response> AnswerReview(RequestContext& context, Value review) {
  return EncodeAnswer(context, Answer{201, context.work, review, &context.kind(), nullptr});
}

}  // namespace homeostat::server
