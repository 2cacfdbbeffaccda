#include "cli/flag_values.h"

#include <fmt/format.h>

#include "homeostat/base/files.h"
#include "homeostat/object/time.h"

namespace homeostat::cli {

Result<auth::StaticTokens> ReadStaticTokens(const std::string& path, std::string_view flag) {
  if (path.empty()) return auth::StaticTokens();
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().WithContext(flag));
  auto tokens = auth::StaticTokens::Parse(*text);
  if (!tokens) return Fail(tokens.error().WithContext(flag));
  return tokens;
}

Result<Duration> ReadInterval(std::string_view text, std::string_view flag) {
  auto interval = object::ParseDuration(text);
  if (!interval) return Fail(SystemError(fmt::format("{}: {}", flag, interval.error().message())));
  if (*interval < std::chrono::nanoseconds::zero()) return Fail(SystemError(fmt::format("{}: {} is negative", flag, text)));
  return std::chrono::duration_cast<Duration>(*interval);
}

}  // namespace homeostat::cli
