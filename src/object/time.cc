#include "homeostat/object/time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "object/internal/utf8.h"

namespace homeostat::object {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsPoint(char c) { return c == '.' || c == ','; }

// Quotes as Go's time package does: octets of anything but printable ASCII in hexadecimal.
std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    uint8_t octet = static_cast<uint8_t>(c);
    if (octet < ' ' || octet >= 0x80) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", octet);
      out += escaped;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Reads the fields of a time from left to right. The first fault is kept, in words, and ends the reading.
class TimeParser {
 public:
  TimeParser(std::string_view text, std::string_view layout, bool micro)
      : text_(text), rest_(text), layout_(layout), micro_(micro) {}

  Result<Timestamp> Parse() {
    ReadDate();
    ReadClock();
    ReadFraction();
    ReadZone();
    if (fault_.empty() && !rest_.empty()) fault_ = ": extra text: " + Quote(rest_);
    if (fault_.empty() && !Date().ok()) fault_ = ": day out of range";
    if (!fault_.empty()) return Fail(BadRequestError("parsing time " + Quote(text_) + fault_));
    int64_t days = std::chrono::sys_days(Date()).time_since_epoch().count();
    return Timestamp{days * 86400 + hour_ * 3600 + minute_ * 60 + second_ - offset_, nanos_};
  }

 private:
  std::chrono::year_month_day Date() const {
    return std::chrono::year_month_day(std::chrono::year(year_), std::chrono::month(static_cast<unsigned>(month_)),
                                       std::chrono::day(static_cast<unsigned>(day_)));
  }

  void ReadDate() {
    bool digits = rest_.size() >= 4 && std::all_of(rest_.begin(), rest_.begin() + 4, IsDigit);
    if (!digits) return CannotParse(rest_, "2006");
    year_ = (rest_[0] - '0') * 1000 + (rest_[1] - '0') * 100 + (rest_[2] - '0') * 10 + (rest_[3] - '0');
    rest_.remove_prefix(4);
    ReadLiteral("-");
    month_ = ReadNumber("01", true);
    CheckRange(month_ >= 1 && month_ <= 12, "month");
    ReadLiteral("-");
    day_ = ReadNumber("02", true);
  }

  void ReadClock() {
    ReadLiteral("T");
    hour_ = ReadNumber("15", false);
    CheckRange(hour_ < 24, "hour");
    ReadLiteral(":");
    minute_ = ReadNumber("04", true);
    CheckRange(minute_ < 60, "minute");
    ReadLiteral(":");
    second_ = ReadNumber("05", true);
    CheckRange(second_ < 60, "second");
  }

  void ReadFraction() {
    if (!fault_.empty()) return;
    if (micro_) return ReadSixDigits();
    if (rest_.size() < 2 || !IsPoint(rest_[0]) || !IsDigit(rest_[1])) return;
    rest_.remove_prefix(1);
    int32_t unit = kNanosPerSecond / 10;
    for (; !rest_.empty() && IsDigit(rest_[0]); rest_.remove_prefix(1), unit /= 10) nanos_ += (rest_[0] - '0') * unit;
  }

  // Go reads the six characters as a number that may have a sign.
  void ReadSixDigits() {
    if (rest_.size() < 7 || !IsPoint(rest_[0])) return CannotParse(rest_, ".000000");
    std::string_view digits = rest_.substr(1, 6);
    bool negative = digits[0] == '-';
    if (negative || digits[0] == '+') digits.remove_prefix(1);
    if (!std::all_of(digits.begin(), digits.end(), IsDigit)) return CannotParse(rest_, ".000000");
    int32_t micros = 0;
    for (char c : digits) micros = micros * 10 + (c - '0');
    if (negative && micros != 0) return CheckRange(false, "fractional second");
    nanos_ = micros * 1000;
    rest_.remove_prefix(7);
  }

  void ReadZone() {
    if (!fault_.empty()) return;
    if (rest_.starts_with('Z')) return rest_.remove_prefix(1);
    std::string_view zone = rest_;
    if (zone.size() < 6 || zone[3] != ':') return CannotParse(zone, "Z07:00");
    bool hours_read = IsDigit(zone[1]) && IsDigit(zone[2]);
    bool minutes_read = hours_read && IsDigit(zone[4]) && IsDigit(zone[5]);
    int hours = hours_read ? (zone[1] - '0') * 10 + (zone[2] - '0') : 0;
    int minutes = minutes_read ? (zone[4] - '0') * 10 + (zone[5] - '0') : 0;
    CheckRange(minutes <= 60, "time zone offset minute");
    if (hours > 24 && minutes <= 60) CheckRange(false, "time zone offset hour");
    if (!minutes_read || (zone[0] != '+' && zone[0] != '-')) return CannotParse(zone, "Z07:00");
    offset_ = (hours * 60 + minutes) * 60 * (zone[0] == '-' ? -1 : 1);
    rest_.remove_prefix(6);
  }

  void ReadLiteral(std::string_view literal) {
    if (!fault_.empty()) return;
    if (!rest_.starts_with(literal)) return CannotParse(rest_, literal);
    rest_.remove_prefix(literal.size());
  }

  // Two digits; one will do if that is allowed.
  int ReadNumber(std::string_view element, bool two) {
    if (!fault_.empty()) return 0;
    if (rest_.empty() || !IsDigit(rest_[0]) || (two && (rest_.size() < 2 || !IsDigit(rest_[1])))) {
      CannotParse(rest_, element);
      return 0;
    }
    int number = rest_[0] - '0';
    rest_.remove_prefix(1);
    if (!rest_.empty() && IsDigit(rest_[0])) {
      number = number * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return number;
  }

  void CheckRange(bool within, std::string_view what) {
    if (fault_.empty() && !within) fault_ = ": " + std::string(what) + " out of range";
  }

  void CannotParse(std::string_view text, std::string_view element) {
    if (fault_.empty()) fault_ = " as " + Quote(layout_) + ": cannot parse " + Quote(text) + " as " + Quote(element);
  }

  std::string_view text_;
  std::string_view rest_;
  std::string_view layout_;
  bool micro_;
  std::string fault_;
  int year_ = 0, month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, offset_ = 0;
  int32_t nanos_ = 0;
};

// At least so many digits of a number that is not negative.
void AppendDigits(std::string& text, int64_t number, size_t width) {
  char digits[20];
  size_t count = static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), number).ptr - digits);
  if (count < width) text.append(width - count, '0');
  text.append(digits, count);
}

std::string Digits(int64_t number, size_t width) {
  std::string digits;
  AppendDigits(digits, number, width);
  return digits;
}

// Up to the seconds, without a zone.
std::string FormatSeconds(const Timestamp& time) {
  int64_t days = time.seconds / 86400, second = time.seconds % 86400;
  if (second < 0) {
    second += 86400;
    --days;
  }
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  int year = static_cast<int>(date.year());
  std::string text;
  text.reserve(24);
  if (year < 0) text += '-';
  AppendDigits(text, std::abs(year), 4);
  const std::pair<char, int64_t> parts[] = {{'-', static_cast<unsigned>(date.month())}, {'-', static_cast<unsigned>(date.day())},
                                            {'T', second / 3600}, {':', second / 60 % 60}, {':', second % 60}};
  for (auto [separator, number] : parts) {
    text += separator;
    AppendDigits(text, number, 2);
  }
  return text;
}

}  // namespace

Timestamp Timestamp::FromClock(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds.time_since_epoch().count(), static_cast<int32_t>((time - seconds).count())};
}

std::chrono::sys_time<std::chrono::nanoseconds> Timestamp::ToClock() const {
  using Clock = std::chrono::sys_time<std::chrono::nanoseconds>;
  int64_t result = 0;
  if (__builtin_mul_overflow(seconds, kNanosPerSecond, &result) || __builtin_add_overflow(result, nanos, &result)) {
    return seconds < 0 ? Clock::min() : Clock::max();
  }
  return Clock(std::chrono::nanoseconds(result));
}

Result<Timestamp> ParseTime(std::string_view text) { return TimeParser(text, kLayout, false).Parse(); }

Result<Timestamp> ParseMicroTime(std::string_view text) { return TimeParser(text, kMicroLayout, true).Parse(); }

std::string FormatTime(const Timestamp& time) { return FormatSeconds(time) + "Z"; }

std::string FormatMicroTime(const Timestamp& time) { return FormatSeconds(time) + "." + Digits(time.nanos / 1000, 6) + "Z"; }

std::string FormatTimeNano(const Timestamp& time) {
  if (time.nanos == 0) return FormatTime(time);
  std::string fraction = Digits(time.nanos, 9);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return FormatSeconds(time) + "." + fraction + "Z";
}

namespace {

struct Unit {
  std::string_view name;
  uint64_t nanos;
};
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1000},
                                      {"\u00b5s", 1000},  // the micro sign
                                      {"\u03bcs", 1000},  // the Greek letter
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};
constexpr uint64_t kMostNegative = uint64_t{1} << 63;

// Digits at the front; false if they are more than 2^63.
bool TakeInteger(std::string_view& text, uint64_t& number) {
  for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1)) {
    if (number > kMostNegative / 10) return false;
    number = number * 10 + static_cast<uint64_t>(text[0] - '0');
    if (number > kMostNegative) return false;
  }
  return true;
}

// Digits behind the point; those beyond what 63 bits hold say nothing any more.
void TakeFraction(std::string_view& text, uint64_t& number, double& scale) {
  bool full = false;
  for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1)) {
    full = full || number > (kMostNegative - 1) / 10;
    if (full) continue;
    number = number * 10 + static_cast<uint64_t>(text[0] - '0');
    scale *= 10;
  }
}

// One number with its unit at the front of the text, in nanoseconds; "invalid" as the fault where Go says only that.
Result<uint64_t> TakeTerm(std::string_view& text, std::string_view whole_text) {
  auto fault = [&](const std::string& what) { return Fail(BadRequestError("time: " + what + Quote(whole_text))); };
  constexpr const char* kInvalid = "invalid duration ";
  size_t before = text.size();
  uint64_t whole = 0, fraction = 0;
  double scale = 1;
  if (!IsDigit(text[0]) && text[0] != '.') return fault(kInvalid);
  if (!TakeInteger(text, whole)) return fault(kInvalid);
  bool digits = text.size() != before;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    before = text.size();
    TakeFraction(text, fraction, scale);
    digits = digits || text.size() != before;
  }
  if (!digits) return fault(kInvalid);
  std::string_view name = text.substr(0, text.find_first_of(".0123456789"));
  if (name.empty()) return fault("missing unit in duration ");
  text.remove_prefix(name.size());
  auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& entry) { return entry.name == name; });
  if (unit == kUnits.end()) return fault("unknown unit " + Quote(name) + " in duration ");
  if (whole > kMostNegative / unit->nanos) return fault(kInvalid);
  whole *= unit->nanos;
  if (fraction > 0) {
    whole += static_cast<uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit->nanos) / scale));
    if (whole > kMostNegative) return fault(kInvalid);
  }
  return whole;
}

}  // namespace

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  auto invalid = [&] { return Fail(BadRequestError("time: invalid duration " + Quote(text))); };
  std::string_view rest = text;
  bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::nanoseconds(0);
  if (rest.empty()) return invalid();
  uint64_t total = 0;
  while (!rest.empty()) {
    TRY_ASSIGN(uint64_t term, TakeTerm(rest, text));
    total += term;
    if (total > kMostNegative) return invalid();
  }
  if (negative) return std::chrono::nanoseconds(static_cast<int64_t>(0 - total));
  if (total == kMostNegative) return invalid();
  return std::chrono::nanoseconds(static_cast<int64_t>(total));
}

namespace {

// number / unit with the fraction's needed digits.
std::string WithFraction(uint64_t number, uint64_t unit, size_t digits) {
  std::string text = std::to_string(number / unit);
  if (number % unit == 0) return text;
  std::string fraction = Digits(static_cast<int64_t>(number % unit), digits);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

}  // namespace

std::string FormatDuration(std::chrono::nanoseconds duration) {
  int64_t count = duration.count();
  uint64_t nanos = count < 0 ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  std::string sign = count < 0 ? "-" : "";
  if (nanos == 0) return "0s";
  if (nanos < 1000) return sign + std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) return sign + WithFraction(nanos, 1000, 3) + "\u00b5s";
  if (nanos < 1'000'000'000) return sign + WithFraction(nanos, 1'000'000, 6) + "ms";
  uint64_t minutes = nanos / 60'000'000'000;
  std::string seconds = WithFraction(nanos % 60'000'000'000, 1'000'000'000, 9) + "s";
  if (minutes == 0) return sign + seconds;
  if (minutes < 60) return sign + std::to_string(minutes) + "m" + seconds;
  return sign + std::to_string(minutes / 60) + "h" + std::to_string(minutes % 60) + "m" + seconds;
}

}  // namespace homeostat::object
