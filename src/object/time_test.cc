#include "homeostat/object/time.h"

#include <gtest/gtest.h>

#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

void CheckTimes(std::string_view table, Result<Timestamp> (*parse)(std::string_view), std::string (*format)(const Timestamp&)) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable(table);
  ASSERT_GT(rows.size(), 20u);
  for (std::vector<std::string>& row : rows) {
    std::string text = row[0];
    row.erase(row.begin());
    Result<Timestamp> time = parse(text);
    std::vector<std::string> answer = {"err", time ? "" : time.error().message()};
    if (time) answer = {"ok", format(*time), std::to_string(time->seconds), std::to_string(time->nanos)};
    EXPECT_EQ(answer, row) << text;
  }
}

TEST(TimeTest, IsUpstreams) { CheckTimes("time_cases.tsv", ParseTime, FormatTime); }
TEST(TimeTest, MicroTimeIsUpstreams) { CheckTimes("micro_cases.tsv", ParseMicroTime, FormatMicroTime); }

TEST(TimeTest, EveryDayOfFourCenturiesComesBack) {
  for (int64_t day = -719528; day < 2932897; day += 97) {
    Timestamp time{day * 86400 + (day % 86400 + 86400) % 86400, 0};
    Result<Timestamp> back = ParseTime(FormatTime(time));
    ASSERT_TRUE(back.has_value()) << FormatTime(time);
    ASSERT_EQ(*back, time) << FormatTime(time);
  }
}

TEST(TimeTest, Clock) {
  Timestamp before{-1, 999'999'999};
  EXPECT_EQ(before.ToClock().time_since_epoch().count(), -1);
  EXPECT_EQ(Timestamp::FromClock(before.ToClock()), before);
  EXPECT_EQ(Timestamp::FromClock(Timestamp{1700000000, 5}.ToClock()), (Timestamp{1700000000, 5}));
  EXPECT_EQ(Timestamp{int64_t{1} << 60}.ToClock(), std::chrono::sys_time<std::chrono::nanoseconds>::max());
  EXPECT_EQ(FormatTimeNano({0, 120'000'000}), "1970-01-01T00:00:00.12Z");
  EXPECT_EQ(FormatTimeNano({0, 1}), "1970-01-01T00:00:00.000000001Z");
  EXPECT_EQ(FormatTimeNano({0, 0}), "1970-01-01T00:00:00Z");
}

TEST(DurationTest, IsGos) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("duration_cases.tsv");
  ASSERT_GT(rows.size(), 200u);
  for (std::vector<std::string>& row : rows) {
    std::string text = row[0];
    row.erase(row.begin());
    Result<std::chrono::nanoseconds> duration = ParseDuration(text);
    std::vector<std::string> answer = {"err", duration ? "" : duration.error().message()};
    if (duration) answer = {"ok", FormatDuration(*duration), std::to_string(duration->count())};
    EXPECT_EQ(answer, row) << text;
  }
  EXPECT_EQ(FormatDuration(std::chrono::nanoseconds::min()), "-2562047h47m16.854775808s");
}

}  // namespace
}  // namespace homeostat::object
