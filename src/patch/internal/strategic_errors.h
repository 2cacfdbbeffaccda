// What upstream says is wrong with a strategic merge patch, and how its server answers that.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/status.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::patch::internal {

// 400: a directive is not of the right shape.
Status BadPrimitiveList();
Status BadRetainKeys();
Status BadSetElementOrder();
// 422, without saying why.
Status NoListOfLists();
// 500, all of these.
Status NoMergeKey(const object::Value& item, std::string_view merge_key);
Status BadDirective(const object::Value& directive, const object::Value& in);
Status NotAList(const object::Value& found);
Status NotAMap(const object::Value& found);
Status Other(std::string_view text);

// The field of that name, whatever its case if there is no exact match. Null, with the reason in `status`, if the type
// is no struct or has no such field.
const schema::Field* LookUpField(const schema::Type& type, std::string_view name, Status& status);

// The items of all lists given are of one kind; null is none. Else the status says what is wrong.
bool SameKinds(std::span<const object::Value> first, std::span<const object::Value> second, Status& status);

}  // namespace homeostat::patch::internal
