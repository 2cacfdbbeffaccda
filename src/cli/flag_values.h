// Values of flags that need reading, the same for `up` and for the stand-in for kube-apiserver.
#pragma once

#include <string>
#include <string_view>

#include "auth/static_tokens.h"
#include "homeostat/base/runtime.h"
#include "server/audit/recorder.h"

namespace homeostat::cli {

// The tokens of a file; none without a path. `flag` goes before what is wrong.
Result<auth::StaticTokens> ReadStaticTokens(const std::string& path, std::string_view flag);

// A time as Go writes it ("5m0s"), not negative.
Result<Duration> ReadInterval(std::string_view text, std::string_view flag);

// The flags of the audit log, with kube-apiserver's names (--audit-log-maxage …), units and defaults.
struct AuditFlags {
  std::string policy_file, log_path;
  int max_age_days = 366, max_backups = 100, max_megabytes = 100;
};
Result<server::audit::AuditOptions> ReadAuditFlags(const AuditFlags& flags);

}  // namespace homeostat::cli
