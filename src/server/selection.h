// Selection: a request's label and field selectors, checked against what the kind allows and ready to be asked of objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/selectors.h"
#include "homeostat/object/value.h"
#include "server/options.h"
#include "server/resources.h"

namespace homeostat::server {

class Selection {
 public:
  // 400 with upstream's words for selectors that can't be read or that name a field the kind does not offer.
  static Result<Selection> Make(const ListQuery& query, const Resource& resource);

  bool Everything() const { return labels_.IsEverything() && fields_.IsEverything(); }
  // Asked of an object in storage version.
  bool Matches(const object::Value& object) const;
  // metadata.name, if the selector pins it.
  std::optional<std::string> name() const;

 private:
  std::string FieldText(const object::Value& object, std::string_view label) const;

  object::LabelSelector labels_;
  object::FieldSelector fields_;
  Resource resource_;  // a copy: a watch asks long after its request is gone
};

}  // namespace homeostat::server
