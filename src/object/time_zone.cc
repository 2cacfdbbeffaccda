#include "homeostat/object/time_zone.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "homeostat/base/files.h"
#include "homeostat/base/status.h"

namespace homeostat::object {
namespace {

constexpr std::string_view kDatabase = "/usr/share/zoneinfo/";
constexpr int64_t kDay = 86400;
constexpr size_t kHeader = 44;

std::unexpected<Status> Damaged() { return Fail(BadRequestError("malformed time zone information")); }

int64_t ReadBig(std::string_view octets, size_t at, size_t size) {
  uint64_t value = static_cast<uint8_t>(octets[at]) & 0x80 ? ~uint64_t{0} : 0;   // signed
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(octets[at + i]);
  return static_cast<int64_t>(value);
}

// The counts in a header.
struct Counts {
  size_t utc = 0, standard = 0, leaps = 0, times = 0, types = 0, letters = 0;
  size_t BodySize(size_t time_size) const { return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard + utc; }
};
std::optional<Counts> ReadHeader(std::string_view octets) {
  if (octets.size() < kHeader || !octets.starts_with("TZif")) return std::nullopt;
  size_t numbers[6];
  for (size_t i = 0; i < 6; ++i) {
    int64_t number = ReadBig(octets, 20 + 4 * i, 4);
    if (number < 0 || number > 1'000'000) return std::nullopt;
    numbers[i] = static_cast<size_t>(number);
  }
  return Counts{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

// What RFC 8536 allows.
bool IsOffset(int32_t seconds) { return seconds > -25 * 3600 && seconds < 26 * 3600; }

// --- The footer: CET-1CEST,M3.5.0,M10.5.0/3

bool TakeName(std::string_view& text) {
  size_t end = 0;
  if (text.starts_with('<')) {
    end = text.find('>');
    if (end == text.npos) return false;
    ++end;
  } else {
    while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || (text[end] >= 'A' && text[end] <= 'Z'))) ++end;
  }
  text.remove_prefix(end);
  return end > 0;
}

std::optional<int32_t> TakeNumber(std::string_view& text, int32_t limit) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > limit) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// [+-]h[h][:mm[:ss]] in seconds.
std::optional<int32_t> TakeTime(std::string_view& text) {
  int32_t sign = Take(text, '-') ? -1 : 1;
  if (sign > 0) Take(text, '+');
  int32_t total = 0, unit = 3600;
  for (int i = 0; i < 3; ++i, unit /= 60) {
    if (i > 0 && !Take(text, ':')) break;
    std::optional<int32_t> number = TakeNumber(text, i == 0 ? 167 : 59);
    if (!number) return std::nullopt;
    total += *number * unit;
  }
  return sign * total;
}

int64_t DaysTo(int32_t year, uint32_t month, uint32_t day) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day)).time_since_epoch().count();
}

int32_t YearOf(int64_t time) {
  auto days = std::chrono::sys_days(std::chrono::days((time - (((time % kDay) + kDay) % kDay)) / kDay));
  return static_cast<int32_t>(std::chrono::year_month_day(days).year());
}

}  // namespace

int64_t TimeZone::RuleDay::SecondsIn(int32_t year) const {
  int64_t first = DaysTo(year, 1, 1);
  if (kind == 'M') {
    int64_t day_one = DaysTo(year, static_cast<uint32_t>(month), 1);
    int64_t weekday = ((day_one + 4) % 7 + 7) % 7;   // the first of 1970 was a Thursday
    int64_t at = day_one + (day - weekday + 7) % 7 + (week - 1) * 7;
    int64_t next_month = month == 12 ? DaysTo(year + 1, 1, 1) : DaysTo(year, static_cast<uint32_t>(month) + 1, 1);
    if (at >= next_month) at -= 7;
    return at * kDay + time;
  }
  int64_t offset = day;
  if (kind == 'J') {
    bool leap = std::chrono::year(year).is_leap();
    offset = leap && day >= 60 ? day : day - 1;
  }
  return (first + offset) * kDay + time;
}

std::optional<TimeZone::Rule> TimeZone::ParseRule(std::string_view text) {
  Rule rule;
  if (!TakeName(text)) return std::nullopt;
  std::optional<int32_t> west = TakeTime(text);
  if (!west) return std::nullopt;
  rule.standard = -*west;
  if (text.empty()) return rule;
  if (!TakeName(text)) return std::nullopt;
  rule.has_summer = true;
  rule.summer = rule.standard + 3600;
  if (!text.starts_with(',')) {
    std::optional<int32_t> summer = TakeTime(text);
    if (!summer) return std::nullopt;
    rule.summer = -*summer;
  }
  for (RuleDay* day : {&rule.begin, &rule.end}) {
    if (!Take(text, ',')) return std::nullopt;
    std::optional<int32_t> first;
    if (Take(text, 'M')) {
      first = TakeNumber(text, 12);
      std::optional<int32_t> week, weekday;
      if (Take(text, '.')) week = TakeNumber(text, 5);
      if (Take(text, '.')) weekday = TakeNumber(text, 6);
      if (!first || !week || !weekday || *first < 1 || *week < 1) return std::nullopt;
      day->month = *first;
      day->week = *week;
      day->day = *weekday;
    } else {
      day->kind = Take(text, 'J') ? 'J' : '0';
      first = TakeNumber(text, 365);
      if (!first || (day->kind == 'J' && *first < 1)) return std::nullopt;
      day->day = *first;
    }
    if (!Take(text, '/')) continue;
    std::optional<int32_t> time = TakeTime(text);
    if (!time) return std::nullopt;
    day->time = *time;
  }
  if (!text.empty()) return std::nullopt;
  return rule;
}

Result<TimeZone> TimeZone::Parse(std::string_view octets) {
  // The first block has 32-bit times and is for old readers; where there is a second one, that counts.
  std::optional<Counts> counts = ReadHeader(octets);
  if (!counts) return Damaged();
  size_t time_size = 4, at = kHeader;
  if (octets[4] >= '2') {
    size_t skip = kHeader + counts->BodySize(4);
    if (octets.size() < skip) return Damaged();
    octets.remove_prefix(skip);
    counts = ReadHeader(octets);
    if (!counts) return Damaged();
    time_size = 8;
  }
  if (octets.size() < kHeader + counts->BodySize(time_size) || counts->types == 0) return Damaged();
  TimeZone zone;
  size_t types = at + counts->times * (time_size + 1);
  for (size_t i = 0; i < counts->times; ++i) {
    auto type = static_cast<uint8_t>(octets[at + counts->times * time_size + i]);
    if (type >= counts->types) return Damaged();
    zone.transitions_.push_back(ReadBig(octets, at + i * time_size, time_size));
    zone.offsets_.push_back(static_cast<int32_t>(ReadBig(octets, types + type * size_t{6}, 4)));
  }
  zone.first_ = static_cast<int32_t>(ReadBig(octets, types, 4));
  bool sane = std::ranges::all_of(zone.offsets_, IsOffset) && IsOffset(zone.first_) && std::ranges::is_sorted(zone.transitions_);
  if (!sane) return Damaged();
  if (time_size == 8) {
    std::string_view footer = octets.substr(kHeader + counts->BodySize(time_size));
    if (footer.starts_with('\n')) footer.remove_prefix(1);
    zone.rule_ = ParseRule(footer.substr(0, footer.find('\n')));
  }
  return zone;
}

bool TimeZone::IsKnown(std::string_view name) { return Find(name).has_value(); }

Result<TimeZone> TimeZone::Find(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "Local") return TimeZone();
  auto unknown = [&] { return Fail(BadRequestError("unknown time zone " + std::string(name))); };
  if (name.find("..") != name.npos || name.front() == '/' || name.front() == '\\' || name.find('\0') != name.npos) return unknown();
  auto octets = ReadFile(std::string(kDatabase) + std::string(name));
  if (!octets || !octets->starts_with("TZif")) return unknown();
  return Parse(*octets);
}

int32_t TimeZone::OffsetByRule(int64_t time) const {
  if (!rule_->has_summer) return rule_->standard;
  int32_t year = YearOf(time + rule_->standard);
  int64_t begin = rule_->begin.SecondsIn(year) - rule_->standard, end = rule_->end.SecondsIn(year) - rule_->summer;
  // South of the equator summer goes on over the new year.
  bool summer = begin < end ? time >= begin && time < end : time >= begin || time < end;
  return summer ? rule_->summer : rule_->standard;
}

int32_t TimeZone::OffsetAt(int64_t time) const {
  bool after_table = transitions_.empty() || time >= transitions_.back();
  if (after_table && rule_) return OffsetByRule(time);
  auto next = std::ranges::upper_bound(transitions_, time);
  return next == transitions_.begin() ? first_ : offsets_[static_cast<size_t>(next - transitions_.begin()) - 1];
}

int64_t TimeZone::FromLocal(int64_t local) const {
  // Guess with the offset that holds at that number of seconds, then with the one that holds there.
  int32_t offset = OffsetAt(local);
  if (offset == 0) return local;
  return local - OffsetAt(local - offset);
}

}  // namespace homeostat::object
