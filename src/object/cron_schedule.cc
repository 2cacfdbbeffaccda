#include "homeostat/object/cron_schedule.h"

#include <array>
#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "homeostat/base/status.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"

namespace homeostat::object {
namespace {

struct Bounds {
  int64_t low, high;
  std::span<const std::string_view> names;  // of the values from `low` on
};

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
const Bounds kMinute{0, 59, {}}, kHour{0, 23, {}}, kDayOfMonth{1, 31, {}}, kMonth{1, 12, kMonths}, kDayOfWeek{0, 6, kDays};

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t found = text.find(at);
    parts.push_back(text.substr(0, found));
    if (found == text.npos) return parts;
    text.remove_prefix(found + 1);
  }
}

std::vector<std::string_view> Fields(std::string_view text) {
  std::vector<std::string_view> fields;
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  while (true) {
    size_t begin = text.find_first_not_of(kSpace);
    if (begin == text.npos) return fields;
    size_t end = text.find_first_of(kSpace, begin);
    fields.push_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
    if (end == text.npos) return fields;
    text.remove_prefix(end);
  }
}

std::string Text(std::string_view text) { return std::string(text); }
std::string Text(int64_t number) { return std::to_string(number); }

Result<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    std::string why = error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax";
    return Fail(BadRequestError("failed to parse int from " + Text(text) + ": strconv.Atoi: parsing " + GoQuote(text) + ": " + why));
  }
  if (number < 0) return Fail(BadRequestError("negative number (" + Text(number) + ") not allowed: " + Text(text)));
  return number;
}

Result<int64_t> ParseNumberOrName(std::string_view text, const Bounds& bounds) {
  for (size_t i = 0; i < bounds.names.size(); ++i) {
    if (EqualsIgnoreCase(bounds.names[i], text)) return bounds.low + static_cast<int64_t>(i);
  }
  return ParseNumber(text);
}

struct Range {
  int64_t low = 0, high = 0, step = 1;
  bool star = false;
};

Result<void> ParseEnds(std::string_view expression, std::string_view ends, const Bounds& bounds, Range& range) {
  std::vector<std::string_view> parts = Split(ends, '-');
  if (parts[0] == "*" || parts[0] == "?") {
    range = {bounds.low, bounds.high, 1, true};
    return {};
  }
  TRY_ASSIGN(range.low, ParseNumberOrName(parts[0], bounds));
  if (parts.size() > 2) return Fail(BadRequestError("too many hyphens: " + Text(expression)));
  range.high = range.low;
  if (parts.size() == 2) {
    TRY_ASSIGN(range.high, ParseNumberOrName(parts[1], bounds));
  }
  return {};
}

Result<uint64_t> ParseRange(std::string_view expression, const Bounds& bounds) {
  std::vector<std::string_view> parts = Split(expression, '/');
  Range range;
  TRY(ParseEnds(expression, parts[0], bounds, range));
  if (parts.size() > 2) return Fail(BadRequestError("too many slashes: " + Text(expression)));
  if (parts.size() == 2) {
    TRY_ASSIGN(range.step, ParseNumber(parts[1]));
    if (parts[0].find('-') == parts[0].npos) range.high = bounds.high;  // n/step: from n on
    if (range.step > 1) range.star = false;
  }
  auto fault = [&](const std::string& what) { return Fail(BadRequestError(what + ": " + Text(expression))); };
  if (range.low < bounds.low) return fault("beginning of range (" + Text(range.low) + ") below minimum (" + Text(bounds.low) + ")");
  if (range.high > bounds.high) return fault("end of range (" + Text(range.high) + ") above maximum (" + Text(bounds.high) + ")");
  if (range.low > range.high) {
    return fault("beginning of range (" + Text(range.low) + ") beyond end of range (" + Text(range.high) + ")");
  }
  if (range.step == 0) return fault("step of range should be a positive number");
  uint64_t bits = range.star ? CronSchedule::kStar : 0;
  for (int64_t value = range.low; value <= range.high; value += range.step) bits |= 1ull << value;
  return bits;
}

Result<uint64_t> ParseField(std::string_view field, const Bounds& bounds) {
  uint64_t bits = 0;
  for (std::string_view expression : Split(field, ',')) {
    if (expression.empty()) continue;
    TRY_ASSIGN(uint64_t some, ParseRange(expression, bounds));
    bits |= some;
  }
  return bits;
}

Result<CronSchedule> ParseFields(std::string_view text) {
  std::vector<std::string_view> fields = Fields(text);
  if (fields.size() != 5) {
    std::string shown;
    for (std::string_view field : fields) shown += (shown.empty() ? "" : " ") + Text(field);
    return Fail(BadRequestError("expected exactly 5 fields, found " + std::to_string(fields.size()) + ": [" + shown + "]"));
  }
  CronSchedule schedule;
  TRY_ASSIGN(schedule.minutes, ParseField(fields[0], kMinute));
  TRY_ASSIGN(schedule.hours, ParseField(fields[1], kHour));
  TRY_ASSIGN(schedule.days_of_month, ParseField(fields[2], kDayOfMonth));
  TRY_ASSIGN(schedule.months, ParseField(fields[3], kMonth));
  TRY_ASSIGN(schedule.days_of_week, ParseField(fields[4], kDayOfWeek));
  return schedule;
}

Result<CronSchedule> ParseDescriptor(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNamed = {{
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"}, {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
  }};
  for (const auto& [name, meaning] : kNamed) {
    if (text == name) return ParseFields(meaning);
  }
  constexpr std::string_view kEvery = "@every ";
  if (!text.starts_with(kEvery)) return Fail(BadRequestError("unrecognized descriptor: " + Text(text)));
  auto duration = object::ParseDuration(text.substr(kEvery.size()));
  if (!duration) {
    return Fail(BadRequestError("failed to parse duration " + Text(text) + ": " + std::string(duration.error().message())));
  }
  CronSchedule schedule;
  schedule.every = std::max(std::chrono::duration_cast<std::chrono::seconds>(*duration), std::chrono::seconds(1));
  return schedule;
}

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text) {
  if (text.empty()) return Fail(BadRequestError("empty spec string"));
  std::string zone;
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    size_t equals = text.find('='), space = text.find(' ');
    if (space == text.npos) return Fail(BadRequestError("unterminated time zone: " + Text(text)));
    zone = text.substr(equals + 1, space - equals - 1);
    if (!TimeZone::IsKnown(zone)) return Fail(BadRequestError("provided bad location " + zone + ": unknown time zone " + zone));
    text = text.substr(space);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  auto schedule = text.starts_with('@') ? ParseDescriptor(text) : ParseFields(text);
  if (schedule) schedule->time_zone = zone;
  return schedule;
}

namespace {

// A time as the clocks of a zone show it.
class Clock {
 public:
  Clock(int64_t time, const TimeZone& zone) : zone_(zone), time_(time) { Read(); }
  int64_t time() const { return time_; }
  int year() const { return static_cast<int>(date_.year()); }
  unsigned month() const { return static_cast<unsigned>(date_.month()); }
  unsigned day() const { return static_cast<unsigned>(date_.day()); }
  unsigned weekday() const { return std::chrono::weekday(std::chrono::sys_days(date_)).c_encoding(); }
  int64_t hour() const { return of_day_ / 3600; }
  int64_t minute() const { return of_day_ % 3600 / 60; }
  int64_t second() const { return of_day_ % 60; }

  void Add(int64_t seconds) {
    time_ += seconds;
    Read();
  }
  void SetDate(std::chrono::year_month_day date, int64_t hour) {
    int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    time_ = zone_.FromLocal(days * 86400 + hour * 3600);
    Read();
  }
  std::chrono::year_month_day date() const { return date_; }

 private:
  void Read() {
    int64_t local = time_ + zone_.OffsetAt(time_);
    of_day_ = (local % 86400 + 86400) % 86400;
    date_ = std::chrono::year_month_day(std::chrono::sys_days(std::chrono::days((local - of_day_) / 86400)));
  }
  const TimeZone& zone_;
  int64_t time_;
  std::chrono::year_month_day date_;
  int64_t of_day_ = 0;
};

bool Has(uint64_t bits, uint64_t value) { return (bits >> value & 1) != 0; }

bool DayFits(const CronSchedule& schedule, const Clock& clock) {
  bool of_month = Has(schedule.days_of_month, clock.day()), of_week = Has(schedule.days_of_week, clock.weekday());
  bool star = ((schedule.days_of_month | schedule.days_of_week) & CronSchedule::kStar) != 0;
  return star ? of_month && of_week : of_month || of_week;
}

// The next midnight, or what comes nearest to it on a day without.
void NextDay(Clock& clock) {
  clock.SetDate(std::chrono::year_month_day(std::chrono::sys_days(clock.date()) + std::chrono::days(1)), 0);
  if (clock.hour() > 12) {
    clock.Add((24 - clock.hour()) * 3600);
  } else if (clock.hour() != 0) {
    clock.Add(-clock.hour() * 3600);
  }
}

}  // namespace

std::optional<int64_t> CronSchedule::Next(int64_t after, const TimeZone& zone) const {
  if (every.count() > 0) return after + every.count();
  Clock clock(after + 1, zone);
  int last_year = clock.year() + 5;
  // Each unit from the largest down is raised until it fits; what is below then starts from its beginning. A unit that wraps
  // begins all over.
  // Whatever a damaged zone says, this ends.
  constexpr int kMostSteps = 100'000;
  bool begun = false;
  auto begin = [&](auto reset) {
    if (!std::exchange(begun, true)) reset();
  };
  for (int step = 0; step < kMostSteps && clock.year() <= last_year; ++step) {
    if (!Has(months, clock.month())) {
      begin([&] { clock.SetDate(clock.date().year() / clock.date().month() / 1, 0); });
      clock.SetDate((clock.date() + std::chrono::months(1)).year() / (clock.date() + std::chrono::months(1)).month() / 1, 0);
      continue;
    }
    if (!DayFits(*this, clock)) {
      begin([&] { clock.SetDate(clock.date(), 0); });
      NextDay(clock);
      continue;
    }
    if (!Has(hours, static_cast<uint64_t>(clock.hour()))) {
      begin([&] { clock.SetDate(clock.date(), clock.hour()); });
      clock.Add(3600);
      continue;
    }
    if (!Has(minutes, static_cast<uint64_t>(clock.minute()))) {
      begin([&] { clock.Add(-clock.second()); });
      clock.Add(60);
      continue;
    }
    if (clock.second() == 0) return clock.time();
    begun = true;
    clock.Add(1);
  }
  return std::nullopt;
}

}  // namespace homeostat::object
