#include "controllers/scaled_value.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace homeostat::controllers {

int32_t ScaledValue(const object::Value& int_or_percent, int32_t total, bool round_up) {
  if (int_or_percent.IsInt()) return static_cast<int32_t>(int_or_percent.AsInt());
  std::string_view text = int_or_percent.AsString();
  if (!text.ends_with('%')) return 0;
  text.remove_suffix(1);
  int32_t percent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  int64_t share = int64_t{percent} * total;
  return static_cast<int32_t>(std::clamp<int64_t>(round_up ? (share + 99) / 100 : share / 100, INT32_MIN, INT32_MAX));
}

}  // namespace homeostat::controllers
