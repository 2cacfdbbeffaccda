// Times and quantities as the API writes them, and the numbers the node agent computes with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/runtime.h"
#include "homeostat/object/quantity.h"
#include "homeostat/object/time.h"

namespace homeostat::node {

inline std::string FormatTime(WallTime time) { return object::FormatTime(object::Timestamp::FromClock(time)); }
inline std::string FormatMicroTime(WallTime time) { return object::FormatMicroTime(object::Timestamp::FromClock(time)); }
// nullopt for what is no time.
inline std::optional<WallTime> ParseTime(std::string_view text) {
  Result<object::Timestamp> time = object::ParseTime(text);
  if (!time) return std::nullopt;
  return time->ToClock();
}
inline WallTime FromNanoseconds(int64_t since_epoch) { return WallTime(Duration(since_epoch)); }

// A quantity in thousandths, and in whole units; both rounded up. 0 for what is none.
inline int64_t MilliValue(std::string_view quantity) {
  Result<object::Quantity> parsed = object::Quantity::Parse(quantity);
  return parsed ? parsed->MilliValue() : 0;
}
inline int64_t UnitValue(std::string_view quantity) {
  Result<object::Quantity> parsed = object::Quantity::Parse(quantity);
  return parsed ? parsed->Value() : 0;
}

}  // namespace homeostat::node
