// Parts of points in time and of durations, in any zone.
#include <charconv>

#include "absl/time/time.h"
#include "cel/internal/functions.h"
#include "cel/internal/text_form.h"
#include "homeostat/base/text.h"

namespace homeostat::cel::internal {

namespace {

// Go's strconv.Atoi, and its message.
Value ParseOffsetPart(CallContext& context, std::string_view text, int64_t& value) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  bool bad = digits.empty() || end != digits.data() + digits.size() || (text.starts_with('+') && digits.starts_with('-'));
  if (!bad && error == std::errc()) return {};
  std::string message = "strconv.Atoi: parsing " + GoQuote(text) + ": ";
  return MakeError(context.arena, message + (error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax"));
}

bool IsZoneName(std::string_view name) {
  if (name.empty() || name[0] == '/' || name.find("..") != std::string_view::npos) return false;
  for (char c : name) {
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' || c == '+';
    if (!good) return false;
  }
  return !name.starts_with("Fixed/");
}

// Seconds east of UTC at that moment, or an error. A zone is a name (Europe/Rome) or an offset (+01:30).
Value ZoneOffset(CallContext& context, const Value& time, std::string_view zone, int& offset) {
  offset = 0;
  size_t colon = zone.find(':');
  if (colon != std::string_view::npos) {
    int64_t hours = 0, minutes = 0;
    if (Value error = ParseOffsetPart(context, zone.substr(0, colon), hours); error.IsError()) return error;
    if (Value error = ParseOffsetPart(context, zone.substr(colon + 1), minutes); error.IsError()) return error;
    // What a clock cannot show is cut off at a year: upstream's arithmetic wraps there.
    constexpr int64_t kLimit = 366 * 24 * 60;
    hours = std::clamp<int64_t>(hours, -kLimit, kLimit);
    minutes = std::clamp<int64_t>(minutes, -kLimit, kLimit);
    int64_t total = zone[0] == '-' ? hours * 60 - minutes : hours * 60 + minutes;
    offset = static_cast<int>(std::clamp<int64_t>(total, -kLimit, kLimit) * 60);
    return {};
  }
  if (zone.empty() || zone == "UTC" || zone == "Local") return {};
  absl::TimeZone loaded;
  if (!IsZoneName(zone)) {
    bool suspicious = zone[0] == '/' || zone[0] == '\\' || zone.find("..") != std::string_view::npos;
    if (suspicious) return Value::Error("time: invalid location name");
    return MakeError(context.arena, "unknown time zone " + std::string(zone));
  }
  if (!absl::LoadTimeZone(std::string(zone), &loaded)) return MakeError(context.arena, "unknown time zone " + std::string(zone));
  offset = loaded.At(absl::FromUnixSeconds(time.seconds())).offset;
  return {};
}

using Part = int64_t (*)(const CivilTime& civil, uint32_t nanos);

template <Part kPart>
Value Get(CallContext& context, std::span<const Value> args) {
  int offset = 0;
  if (args.size() > 1) {
    if (Value error = ZoneOffset(context, args[0], args[1].text(), offset); error.IsError()) return error;
  }
  return Value::Int(kPart(ToCivil(args[0].seconds(), offset), args[0].nanos()));
}

int64_t Year(const CivilTime& civil, uint32_t) { return civil.year; }
int64_t Month(const CivilTime& civil, uint32_t) { return civil.month - 1; }
int64_t DayOfYear(const CivilTime& civil, uint32_t) { return civil.year_day - 1; }
int64_t DayOfMonth(const CivilTime& civil, uint32_t) { return civil.day - 1; }
int64_t Date(const CivilTime& civil, uint32_t) { return civil.day; }
int64_t DayOfWeek(const CivilTime& civil, uint32_t) { return civil.weekday; }
int64_t Hours(const CivilTime& civil, uint32_t) { return civil.hour; }
int64_t Minutes(const CivilTime& civil, uint32_t) { return civil.minute; }
int64_t Seconds(const CivilTime& civil, uint32_t) { return civil.second; }
int64_t Milliseconds(const CivilTime&, uint32_t nanos) { return nanos / 1'000'000; }

template <int64_t kUnit>
Value InUnits(CallContext&, std::span<const Value> args) {
  return Value::Int(args[0].nanoseconds() / kUnit);
}

}  // namespace

std::span<const Binding> TimeBindings() {
  static constexpr Binding kBindings[] = {
      {"timestamp_to_year", Get<Year>}, {"timestamp_to_year_with_tz", Get<Year>},
      {"timestamp_to_month", Get<Month>}, {"timestamp_to_month_with_tz", Get<Month>},
      {"timestamp_to_day_of_year", Get<DayOfYear>}, {"timestamp_to_day_of_year_with_tz", Get<DayOfYear>},
      {"timestamp_to_day_of_month", Get<DayOfMonth>}, {"timestamp_to_day_of_month_with_tz", Get<DayOfMonth>},
      {"timestamp_to_day_of_month_1_based", Get<Date>}, {"timestamp_to_day_of_month_1_based_with_tz", Get<Date>},
      {"timestamp_to_day_of_week", Get<DayOfWeek>}, {"timestamp_to_day_of_week_with_tz", Get<DayOfWeek>},
      {"timestamp_to_hours", Get<Hours>}, {"timestamp_to_hours_with_tz", Get<Hours>},
      {"timestamp_to_minutes", Get<Minutes>}, {"timestamp_to_minutes_with_tz", Get<Minutes>},
      {"timestamp_to_seconds", Get<Seconds>}, {"timestamp_to_seconds_tz", Get<Seconds>},
      {"timestamp_to_milliseconds", Get<Milliseconds>}, {"timestamp_to_milliseconds_with_tz", Get<Milliseconds>},
      {"duration_to_hours", InUnits<3'600'000'000'000>}, {"duration_to_minutes", InUnits<60'000'000'000>},
      {"duration_to_seconds", InUnits<1'000'000'000>}, {"duration_to_milliseconds", InUnits<1'000'000>},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
