// LogFile: a file of lines that is moved away when it gets large, with a bounded number of those that were.
//
// Names and rules are those that kube-apiserver's audit log has (lumberjack): DIR/NAME-2006-01-02T15-04-05.000.EXT, in UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::server::audit {

struct LogFileOptions {
  std::string path;             // "-": standard output, which is never moved
  int max_age_days = 366;       // of files that were moved away; 0: any
  int max_backups = 100;        // files that were moved away; 0: any number
  int64_t max_bytes = 100 << 20;  // 0: it is never moved away
};

// One thread at a time. Every call blocks.
class LogFile {
 public:
  // Opens the file, made if it is missing, its folder too.
  static Result<LogFile> Open(LogFileOptions options);
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  // Appends lines that were made by `now`. A line that is larger than a whole file may be is refused, and lost.
  Result<void> Append(const std::vector<std::string>& lines, WallTime now);

 private:
  explicit LogFile(LogFileOptions options) : options_(std::move(options)) {}
  Result<void> OpenFile(bool truncate);
  Result<void> MoveAway(WallTime now);
  Result<void> Write(std::string_view bytes);
  void RemoveOld(WallTime now) const;

  LogFileOptions options_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// The name of a file that is moved away at that moment.
std::string BackupName(const std::string& path, WallTime now);
// When the file of that name was moved away from `path`; nullopt: it was not.
std::optional<WallTime> BackupTime(const std::string& path, std::string_view name);

}  // namespace homeostat::server::audit
