#include "homeostat/object/cron_schedule.h"

#include <gtest/gtest.h>

#include "homeostat/object/time.h"

namespace homeostat::object {
namespace {

TEST(CronSchedule, IsRefusedWithUpstreamsWords) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"*/5 0-6 1,15 jan-mar mon", ""},
      {"@daily", ""},
      {"@every 90s", ""},
      {"every day", "expected exactly 5 fields, found 2: [every day]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"@often", "unrecognized descriptor: @often"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
  };
  for (const auto& [text, fault] : cases) {
    auto schedule = CronSchedule::Parse(text);
    EXPECT_EQ(schedule ? "" : std::string(schedule.error().message()), fault) << text;
  }
  auto schedule = CronSchedule::Parse("30 4 * * 1");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->minutes, 1ull << 30);
  EXPECT_TRUE(schedule->days_of_month & CronSchedule::kStar);
  EXPECT_EQ(schedule->days_of_week, 1ull << 1);
}

int64_t At(std::string_view text) { return ParseTime(text).value().seconds; }
std::string Text(std::optional<int64_t> time) { return time ? FormatTime({*time, 0}) : "never"; }

TEST(CronSchedule, NextTimes) {
  struct Case {
    std::string_view schedule, zone, after, next;
  };
  for (const Case& c : {
           Case{"* * * * *", "", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"},
           Case{"* * * * *", "", "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"},
           Case{"*/15 * * * *", "", "2026-01-01T00:45:00Z", "2026-01-01T01:00:00Z"},
           Case{"30 4 * * *", "", "2026-12-31T05:00:00Z", "2027-01-01T04:30:00Z"},
           Case{"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
           Case{"0 0 30 2 *", "", "2026-01-01T00:00:00Z", "never"},
           // Either day will do, unless one of them is every day.
           Case{"0 0 13 * 5", "", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"},
           Case{"0 0 * * 1", "", "2026-11-03T00:00:00Z", "2026-11-09T00:00:00Z"},
           Case{"@every 90s", "", "2026-01-01T00:00:05Z", "2026-01-01T00:01:35Z"},
           Case{"0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T03:30:00Z"},
           Case{"0 0 * * *", "America/New_York", "2026-01-01T00:00:00Z", "2026-01-01T05:00:00Z"},
           // The hour from two to three is left out in spring; in autumn it comes twice and counts once.
           Case{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
           Case{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"},
           // Midnight is left out.
           Case{"0 1 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
           // After the table, by the rule.
           Case{"0 12 1 7 *", "Europe/Berlin", "2060-01-01T00:00:00Z", "2060-07-01T10:00:00Z"},
           Case{"0 12 1 1 *", "Australia/Sydney", "2059-06-01T00:00:00Z", "2060-01-01T01:00:00Z"},
       }) {
    auto schedule = CronSchedule::Parse(c.schedule);
    auto zone = TimeZone::Find(c.zone);
    ASSERT_TRUE(schedule.has_value() && zone.has_value()) << c.schedule << " " << c.zone;
    EXPECT_EQ(Text(schedule->Next(At(c.after), *zone)), c.next) << c.schedule << " " << c.zone << " after " << c.after;
  }
}

TEST(TimeZone, UnknownAndDamagedOnesAreRefused) {
  for (std::string_view name : {"Nowhere/Land", "../etc/passwd", "/etc/localtime", "zone.tab"}) EXPECT_FALSE(TimeZone::IsKnown(name)) << name;
  EXPECT_TRUE(TimeZone::IsKnown("UTC"));
  EXPECT_EQ(TimeZone::Find("Nowhere/Land").error().message(), "unknown time zone Nowhere/Land");
  std::string damaged = std::string("TZif2") + std::string(39, '\x7f');
  EXPECT_FALSE(TimeZone::Parse(damaged).has_value());
  EXPECT_FALSE(TimeZone::Parse("TZif").has_value());
}

TEST(TimeZone, LocalTimesAreFound) {
  TimeZone berlin = TimeZone::Find("Europe/Berlin").value();
  EXPECT_EQ(berlin.OffsetAt(At("2026-01-01T00:00:00Z")), 3600);
  EXPECT_EQ(berlin.OffsetAt(At("2026-07-01T00:00:00Z")), 7200);
  EXPECT_EQ(berlin.FromLocal(At("2026-07-01T12:00:00Z")), At("2026-07-01T10:00:00Z"));
}

}  // namespace
}  // namespace homeostat::object
