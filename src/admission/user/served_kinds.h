// ServedKinds: what policies and webhooks must know of the kinds a server serves, beyond the one that is written.
#pragma once

#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/task.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"

namespace homeostat::admission {

// Loop only.
class ServedKinds {
 public:
  virtual ~ServedKinds() = default;
  // The served kinds, in their order of preference, whose objects are those of `kind`: its other versions, and those of another
  // group that shares its store (events). Their resources have one name. `kind` itself is among them if it is served. The arena
  // keeps them: their definition may go while the request waits for a webhook.
  virtual std::vector<const schema::Kind*> SharingStore(object::Arena& arena, const schema::Kind& kind) const = 0;
  // An object of one of those kinds as one of another. New values go to the arena.
  virtual Result<object::Value> Convert(object::Arena& arena, const object::Value& object, const schema::Kind& from,
                                        const schema::Kind& to) const = 0;
  // Whether only the webhook of a definition brings objects from the one to the other: Convert refuses then, ConvertElsewhere asks it.
  virtual bool IsConvertedElsewhere(const schema::Kind& from, const schema::Kind& to) const {
    static_cast<void>(from), static_cast<void>(to);
    return false;
  }
  virtual Task<Result<object::Value>> ConvertElsewhere(object::Arena& arena, object::Value object, const schema::Kind& from,
                                                       const schema::Kind& to) const {
    co_return Convert(arena, object, from, to);
  }
  // The object with the defaults of its kind.
  virtual Result<object::Value> Default(object::Arena& arena, const object::Value& object, const schema::Kind& kind) const = 0;
};

}  // namespace homeostat::admission
