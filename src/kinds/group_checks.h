// Checks and look-ups that kinds of several groups share, beside checks.h.
// Source of the rules: apimachinery's api/validation and meta/v1/validation, pkg/apis/apps/validation.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

// Each of the fields, where it is there: 0 or more.
void CheckNonNegativeFields(const Value& holder, std::initializer_list<std::string_view> fields, const FieldPath& path,
                            FieldErrors& errors);
// A quantity: 0 or more.
void CheckNonNegativeQuantity(const Value& quantity, const FieldPath& path, FieldErrors& errors);
// Each of the fields at most as large as the other one; `than` is how the message calls that.
void CheckNotGreater(const Value& holder, std::initializer_list<std::string_view> fields, std::string_view other, std::string_view than,
                     const FieldPath& path, FieldErrors& errors);
// A counter of name collisions, which only grows.
void CheckNotDecremented(const Value& status, const Value& old_status, std::string_view field, const FieldPath& path, FieldErrors& errors);

// The number of an IntOrString, the percentage of one, or what leading digits say.
int64_t IntOrPercent(const Value& value);

// One segment of a URL's path.
void CheckPathSegment(std::string_view value, const FieldPath& path, FieldErrors& errors);
// acme.io/foo; Required if there is none.
void CheckDomainPrefixedPath(std::string_view value, const FieldPath& path, FieldErrors& errors);
// Two labels or more, which a final dot may follow; Required if there is none.
void CheckFullyQualifiedDomainName(std::string_view value, const FieldPath& path, FieldErrors& errors);

std::vector<std::string> NameIsPathSegment(std::string_view name, bool prefix);
// A DNS subdomain, in the words of upstream's declarative checks.
std::vector<std::string> LongName(std::string_view name, bool prefix);
std::vector<std::string> NameIsAnything(std::string_view name, bool prefix);

// Whether a LabelSelector selects these labels; nullopt if it can't be understood. None selects nothing.
std::optional<bool> Selects(const Value& selector, const Value& labels);
// No requirements at all (but it is there).
bool SelectsEverything(const Value& selector);

bool HasCondition(const Value& conditions, std::string_view type, std::string_view status);
inline bool IsTrue(const Value& conditions, std::string_view type) { return HasCondition(conditions, type, "True"); }
// meta/v1 conditions.
void CheckConditions(const Value& conditions, const FieldPath& path, FieldErrors& errors);

// "field is immutable" if a field of the struct changed, shown as upstream's internal struct.
void CheckImmutableInternal(const schema::Type& struct_type, std::string_view field, const Value& object, const Value& old,
                            const FieldPath& path, FieldErrors& errors);

// Names that pods get from this object's had better be DNS labels.
void WarnOfPodNames(const Value& object, std::vector<std::string>& warnings);
bool GenerationChanged(const Value& object, const Value& old);

}  // namespace homeostat::kinds
