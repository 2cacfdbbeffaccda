#include "patch/manager_name.h"

#include <cstdio>

#include "patch/internal/printable.h"

namespace homeostat::patch {

using internal::CodePoint;
using internal::IsPrintable;
using internal::NextCodePoint;

std::string ManagerName(std::string_view asked, std::string_view user_agent) {
  if (!asked.empty()) return std::string(asked);
  std::string_view rest = user_agent.substr(0, user_agent.find('/'));
  std::string name;
  while (!rest.empty()) {
    CodePoint next = NextCodePoint(rest);
    // A byte that is no UTF-8 becomes the replacement character, which is three bytes long and can be printed.
    bool broken = next.value == 0xFFFD && next.length == 1;
    std::string_view text = broken ? std::string_view("\xEF\xBF\xBD") : rest.substr(0, next.length);
    rest.remove_prefix(next.length);
    if (!IsPrintable(next.value)) continue;
    if (name.size() + text.size() > kMostManagerNameBytes) break;
    name += text;
  }
  return name;
}

void ValidateManagerName(std::string_view name, const schema::FieldPath& path, schema::FieldErrors& errors) {
  if (name.size() > kMostManagerNameBytes) errors.TooLong(path, static_cast<int64_t>(kMostManagerNameBytes));
  for (size_t at = 0; at < name.size();) {
    CodePoint next = NextCodePoint(name.substr(at));
    if (!IsPrintable(next.value)) {
      char detail[64];
      std::snprintf(detail, sizeof detail, "invalid character U+%04X (at position %zu)", next.value, at);
      errors.Invalid(path, name, detail);
    }
    at += next.length;
  }
}

}  // namespace homeostat::patch
