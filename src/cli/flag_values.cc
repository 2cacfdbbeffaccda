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

Result<server::audit::AuditOptions> ReadAuditFlags(const AuditFlags& flags) {
  constexpr int64_t kMegabyte = 1 << 20;
  for (auto [name, value] : {std::pair("maxage", flags.max_age_days), std::pair("maxbackup", flags.max_backups), std::pair("maxsize", flags.max_megabytes)}) {
    if (value < 0) return Fail(SystemError(std::string("--audit-log-") + name + " " + std::to_string(value) + " can't be a negative number"));
  }
  server::audit::AuditOptions options;
  options.policy_file = flags.policy_file;
  options.log = {flags.log_path, flags.max_age_days, flags.max_backups, flags.max_megabytes * kMegabyte};
  return options;
}

}  // namespace homeostat::cli
