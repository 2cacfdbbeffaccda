#include "server/served_kinds.h"

#include <algorithm>
#include <string>

#include "homeostat/schema/api_version.h"
#include "server/body.h"
#include "server/custom/conversion.h"

namespace homeostat::server {

using object::Value;

std::vector<const schema::Kind*> ServedResources::SharingStore(object::Arena& arena, const schema::Kind& kind) const {
  std::vector<const schema::Kind*> found;
  if (kind.storage_prefix.empty()) return found;
  bool custom = false;
  for (const Resource* resource : resources_.All()) {
    const schema::Kind& other = *resource->kind;
    if (other.storage_prefix != kind.storage_prefix || other.plural != kind.plural) continue;
    if (resource->owner) {
      resource->owner->Load();
      arena.Keep(resource->owner);
    }
    found.push_back(resource->kind);
    custom = custom || resource->custom;
  }
  // Those of a definition stay in its order, as upstream registers them.
  if (!custom) {
    std::ranges::stable_sort(found, [](const schema::Kind* a, const schema::Kind* b) {
      if (a->gvk.group != b->gvk.group) return a->gvk.group < b->gvk.group;
      return VersionBefore(std::string(a->gvk.version), std::string(b->gvk.version));
    });
  }
  return found;
}

Result<Value> ServedResources::Convert(object::Arena& arena, const Value& object, const schema::Kind& from, const schema::Kind& to) const {
  if (&from == &to || from.gvk == to.gvk) return object;
  if (IsConvertedElsewhere(from, to)) {
    return Fail(InternalError(schema::KindText(from.gvk) + " is converted by a webhook, which is not asked here"));
  }
  const Resource* source = Find(from);
  const Resource* target = Find(to);
  Value stored = object;
  if (source != nullptr && source->storage->gvk != from.gvk) {
    TRY_ASSIGN(stored, ToStorage(arena, *source, object));
  }
  if (target == nullptr || target->storage->gvk == to.gvk) return stored;
  return FromStorage(arena, *target, stored);
}

bool ServedResources::IsConvertedElsewhere(const schema::Kind& from, const schema::Kind& to) const {
  if (from.gvk == to.gvk) return false;
  const Resource* resource = Find(from);
  return resource != nullptr && resource->conversion != nullptr;
}

Task<Result<Value>> ServedResources::ConvertElsewhere(object::Arena& arena, Value object, const schema::Kind& from, const schema::Kind& to) const {
  if (!IsConvertedElsewhere(from, to)) co_return Convert(arena, object, from, to);
  const Resource resource = *Find(from);  // its definition may go meanwhile
  std::vector<Conversion::Item> items{{object, &from}};
  auto convert = resource.conversion->Convert(caller_, std::move(items), to);
  CO_TRY_ASSIGN(std::vector<object::OwnedValue> converted, co_await std::move(convert));
  arena.Keep(converted.front().document);
  co_return converted.front().value;
}

Result<Value> ServedResources::Default(object::Arena& arena, const Value& object, const schema::Kind& kind) const {
  const Resource* resource = Find(kind);
  bool own = kind.type->structural && resource != nullptr && resource->owner != nullptr;
  return (own ? resource->owner->defaults() : defaults_).Apply(arena, *kind.type, object);
}

}  // namespace homeostat::server
