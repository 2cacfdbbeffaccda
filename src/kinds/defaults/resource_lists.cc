// Quantities of resources are kept in thousandths at the finest: what is finer is rounded up.
#include "homeostat/api/core/v1.h"
#include "homeostat/object/quantity.h"
#include "kinds/defaults/hooks.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

// Only suffixes below thousandths, or a fraction or an exponent, can be too fine.
bool MayBeFine(std::string_view text) { return text.find_first_of("nu.eE") != text.npos; }

Value RoundList(Arena& arena, const Value& list) {
  Value result = list;
  for (const object::Member& entry : list.members()) {
    if (!MayBeFine(entry.value.AsString())) continue;
    auto quantity = object::Quantity::Parse(entry.value.AsString());
    if (!quantity || quantity->RoundUp(-3)) continue;
    result = WithEntry(arena, result, entry.name(), Value::String(arena, quantity->ToString()));
  }
  return result;
}

// Rounds every field of the type that is a map of quantities.
template <const schema::Type& kType>
Value Round(Arena& arena, const Value& holder) {
  Edit edit(arena, kType, holder);
  for (const object::Member& member : holder.members()) {
    if (member.field == object::kNoField) continue;
    const schema::Type& type = *kType.fields[member.field].type;
    if (type.form != schema::Form::kMap || type.element->form != schema::Form::kQuantity) continue;
    Value rounded = RoundList(arena, member.value);
    if (rounded.members().data() != member.value.members().data()) edit.Set(member.name(), rounded);
  }
  return edit.Build();
}

constexpr schema::DefaultHookEntry kHooks[] = {
    {"io.k8s.api.core.v1.ResourceRequirements", Round<types::kResourceRequirements>},
    {"io.k8s.api.core.v1.VolumeResourceRequirements", Round<types::kVolumeResourceRequirements>},
    {"io.k8s.api.core.v1.PodSpec", Round<types::kPodSpec>},
    {"io.k8s.api.core.v1.PodStatus", Round<types::kPodStatus>},
    {"io.k8s.api.core.v1.ContainerStatus", Round<types::kContainerStatus>},
    {"io.k8s.api.core.v1.NodeStatus", Round<types::kNodeStatus>},
    {"io.k8s.api.core.v1.LimitRangeItem", Round<types::kLimitRangeItem>},
    {"io.k8s.api.core.v1.ResourceQuotaSpec", Round<types::kResourceQuotaSpec>},
    {"io.k8s.api.core.v1.ResourceQuotaStatus", Round<types::kResourceQuotaStatus>},
    {"io.k8s.api.core.v1.PersistentVolumeSpec", Round<types::kPersistentVolumeSpec>},
    {"io.k8s.api.core.v1.PersistentVolumeClaimStatus", Round<types::kPersistentVolumeClaimStatus>},
};

}  // namespace

std::span<const schema::DefaultHookEntry> ResourceListDefaults() { return kHooks; }

}  // namespace homeostat::kinds
