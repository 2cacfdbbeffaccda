#include "server/subresources/review.h"

namespace homeostat::server {

Task<Result<Value>> AdmitReview(RequestContext& context, Value review, ReviewCheck check) {
  CO_TRY_ASSIGN(WriteQuery query, ParseWriteQuery(context.query, WriteKind::kCreate));
  kinds::RuleContext rules = context.Rules(query.dry_run, "");
  std::string name(MetadataString(review, "name"));
  admission::Request change{admission::Operation::kCreate, context.kind(), "", context.info.ns, name, review, Value(), Value(), rules};
  auto mutate = context.parts.admission.Mutate(change);
  CO_TRY_ASSIGN(review, co_await std::move(mutate));
  CO_TRY(check(review));
  admission::Request verdict{admission::Operation::kCreate, context.kind(), "", context.info.ns, name, review, Value(), Value(), rules};
  auto validate = context.parts.admission.Validate(verdict);
  CO_TRY(co_await std::move(validate));
  co_return review;
}

}  // namespace homeostat::server
