#include "server/go_text.h"

#include <algorithm>
#include <vector>

#include "homeostat/base/go_text.h"

namespace homeostat::server {

using object::Value;

std::string GoText(const Value& value) {
  std::string text;
  switch (value.kind()) {
    case object::ValueKind::kObject: {
      std::vector<object::Member> members(value.members().begin(), value.members().end());
      std::ranges::sort(members, {}, &object::Member::name);
      for (const object::Member& member : members) {
        text += (text.empty() ? "" : " ") + std::string(member.name()) + ":" + GoText(member.value);
      }
      return "map[" + text + "]";
    }
    case object::ValueKind::kList:
      for (size_t i = 0; i < value.size(); ++i) text += (i == 0 ? "" : " ") + GoText(value.items()[i]);
      return "[" + text + "]";
    case object::ValueKind::kBool:
      return value.AsBool() ? "true" : "false";
    case object::ValueKind::kInt:
      return std::to_string(value.AsInt());
    case object::ValueKind::kDouble:
      return GoFloat(value.AsDouble());
    case object::ValueKind::kString:
    case object::ValueKind::kBytes:
      return std::string(value.AsString());
    default:
      return "<nil>";
  }
}

}  // namespace homeostat::server
