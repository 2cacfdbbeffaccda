#include "kinds/write_helpers.h"

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/time.h"
#include "kinds/edit.h"

namespace homeostat::kinds {

Value Now(const RuleContext& context) {
  return Value::String(context.arena, object::FormatTime(object::Timestamp::FromClock(context.runtime.WallNow())));
}

Value MetadataForPartialWrite(object::Arena& arena, const Value& metadata, const Value& old) {
  return Edited(arena, api::meta::v1::ObjectMeta::SchemaType(), metadata, [&](Edit& edit) {
    for (std::string_view field : {"deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"}) {
      edit.Set(field, old.Get(field));
    }
  });
}

}  // namespace homeostat::kinds
