#include "kinds/cells.h"

#include "homeostat/object/time.h"

namespace homeostat::kinds {
namespace {

// Two units while the smaller one still says something.
std::string Pair(int64_t big, char big_unit, int64_t small, char small_unit) {
  std::string text = std::to_string(big) + big_unit;
  if (small != 0) text += std::to_string(small) + small_unit;
  return text;
}

}  // namespace

std::string HumanDuration(Duration duration) {
  int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return std::to_string(seconds) + "s";
  int64_t minutes = seconds / 60, hours = seconds / 3600, days = hours / 24;
  if (minutes < 10) return Pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return std::to_string(minutes) + "m";
  if (hours < 8) return Pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return std::to_string(hours) + "h";
  if (days < 8) return Pair(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return std::to_string(days) + "d";
  if (days < 8 * 365) return Pair(days / 365, 'y', days % 365, 'd');
  return std::to_string(days / 365) + "y";
}

Duration Between(WallTime earlier, WallTime later) {
  int64_t nanos = 0;
  const int64_t from = earlier.time_since_epoch().count(), to = later.time_since_epoch().count();
  if (__builtin_sub_overflow(to, from, &nanos)) return to < from ? Duration::min() : Duration::max();
  return Duration(nanos);
}

std::string Since(const object::Value& timestamp, WallTime now) {
  constexpr int64_t kGoZero = -62135596800;  // the year 1, which is no time to Go
  auto then = object::ParseTime(timestamp.AsString());
  if (!then || (then->seconds == kGoZero && then->nanos == 0)) return "<unknown>";
  return HumanDuration(Between(then->ToClock(), now));
}

}  // namespace homeostat::kinds
