// What reviews and the like share: a kind that is sent, answered at once and never stored.
#pragma once

#include "server/body.h"
#include "server/encode.h"
#include "server/field_tracking.h"
#include "server/options.h"

namespace homeostat::server {

// A kind that is only ever sent to a subresource, such as Scale: its type and name, with no resource of its own.
inline schema::Kind BodyKind(schema::GroupVersionKind gvk, const schema::Type& type) {
  schema::Kind kind;
  kind.gvk = gvk;
  kind.type = &type;
  return kind;
}

// The decoded body of a POST, with managed fields as upstream leaves them in the answer (none).
inline Result<Value> DecodeReview(RequestContext& context) {
  TRY_ASSIGN(WriteQuery query, ParseWriteQuery(context.query, WriteKind::kCreate));
  return DecodeBody(context, context.kind(), query.field_validation);
}

// The review with its status, as the answer.
inline Result<http::Response> AnswerReview(RequestContext& context, Value review) {
  return EncodeAnswer(context, Answer{201, context.work, review, &context.kind(), nullptr});
}

}  // namespace homeostat::server
