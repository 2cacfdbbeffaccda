// Rules: what happens to every object on its way into the store, whatever its kind: what the client may not say, what
// is kept from the old object, when the generation rises, what is checked. The order is upstream's registry/rest
// BeforeCreate and BeforeUpdate; what differs between kinds is data in schema::Kind or a hook of its Behaviour.
#pragma once

#include "homeostat/base/result.h"
#include "kinds/behaviour.h"
#include "server/metadata.h"
#include "server/resources.h"

namespace homeostat::server {

// Fields that a write to `subresource` ("" for the object itself) can't change, as dotted paths.
std::vector<std::string_view> ResetFields(const schema::Kind& kind, std::string_view subresource);

// Makes a decoded, defaulted, admitted object ready to be stored: system fields, name, the kind's preparation. The
// checks come after it (ValidateForCreate), since a generated name may have to be drawn again.
Result<Value> PrepareForCreate(kinds::RuleContext& context, const Resource& resource, Value object);
Result<void> ValidateForCreate(kinds::RuleContext& context, const Resource& resource, const Value& object);

// The same for a changed object: `old` is what is stored. Says what is to be stored.
Result<Value> PrepareForUpdate(kinds::RuleContext& context, const Resource& resource, Value object, const Value& old);
Result<void> ValidateForUpdate(kinds::RuleContext& context, const Resource& resource, const Value& object, const Value& old);

// True when the stored object was marked for deletion, its period is over, and nothing holds the new one: the update is
// its removal.
bool IsRemovedByUpdate(const kinds::Behaviour& behaviour, const Value& object, const Value& old);
// Finalizers, or something of the kind's own, keep the object from going.
bool IsHeld(const kinds::Behaviour& behaviour, const Value& object);

}  // namespace homeostat::server
