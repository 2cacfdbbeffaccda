// Schedules and time zone files: reading ends, and so does looking for the next time.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "homeostat/object/cron_schedule.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // A schedule, a line's end, and the contents of a time zone file.
  size_t end = text.find('\n');
  auto zone = TimeZone::Parse(end == text.npos ? text : text.substr(end + 1));
  auto schedule = CronSchedule::Parse(text.substr(0, end));
  if (!schedule) return 0;
  constexpr int64_t kNow = 1'800'000'000;
  auto next = schedule->Next(kNow, zone ? *zone : TimeZone());
  if (next && *next <= kNow && !zone) std::abort();
  return 0;
}
