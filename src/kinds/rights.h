// Rights: what the writer of an object may do beside the write itself. Asked by kinds whose objects hand rights on (roles and
// their bindings), so that nobody gives away what they do not have, and by those with parts that not every writer may change.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "homeostat/object/value.h"
#include "kinds/user.h"

namespace homeostat::kinds {

struct AskedRight {
  std::string_view verb, group, resource, subresource, ns, name;
};

// Loop only. Answers from caches.
class Rights {
 public:
  virtual ~Rights() = default;
  // Whether the user may do that to a resource; ns "" asks cluster-wide, name "" for all of them.
  virtual bool May(const User& user, std::string_view verb, std::string_view group, std::string_view resource, std::string_view ns,
                   std::string_view name) const = 0;
  // Nothing if the user may do that; else what a request for it would be told.
  virtual std::optional<std::string> Refusal(const User& user, const AskedRight& asked) const = 0;
  // Nothing if the user has every right that the rules (a list of rbac/v1 PolicyRules) give, in that namespace ("": cluster-wide);
  // else upstream's text that names the missing ones. `asked` is the resource that is written, e.g. roles: the text calls by it a
  // role that is bound but missing, as upstream does.
  virtual std::optional<std::string> Lacking(const User& user, std::string_view ns, const object::Value& rules,
                                             std::string_view asked) const = 0;
};

}  // namespace homeostat::kinds
