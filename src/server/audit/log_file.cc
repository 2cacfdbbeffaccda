#include "server/audit/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "homeostat/base/files.h"
#include "homeostat/object/time.h"

namespace homeostat::server::audit {
namespace {

constexpr mode_t kMode = 0600, kFolderMode = 0700;

// Folder, name without extension, extension with its point.
struct Parts {
  std::string folder, stem, extension;
};

Parts Split(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string name = slash == path.npos ? path : path.substr(slash + 1);
  Parts parts{slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash), name, {}};
  if (size_t point = name.rfind('.'); point != name.npos) {
    parts.stem = name.substr(0, point);
    parts.extension = name.substr(point);
  }
  return parts;
}

}  // namespace

std::string BackupName(const std::string& path, WallTime now) {
  Parts parts = Split(path);
  object::Timestamp time = object::Timestamp::FromClock(now);
  std::string stamp = object::FormatTime(time);  // 2006-01-02T15:04:05Z
  stamp.pop_back();
  std::ranges::replace(stamp, ':', '-');
  char millis[8];
  std::snprintf(millis, sizeof millis, ".%03d", static_cast<int>(time.nanos / 1'000'000));
  return parts.folder + "/" + parts.stem + "-" + stamp + millis + parts.extension;
}

std::optional<WallTime> BackupTime(const std::string& path, std::string_view name) {
  Parts parts = Split(path);
  std::string start = parts.stem + "-";
  constexpr size_t kStampSize = std::string_view("2006-01-02T15-04-05.000").size();
  if (name.size() != start.size() + kStampSize + parts.extension.size() || !name.starts_with(start) || !name.ends_with(parts.extension)) {
    return std::nullopt;
  }
  std::string stamp(name.substr(start.size(), kStampSize));
  if (stamp[13] != '-' || stamp[16] != '-') return std::nullopt;
  stamp[13] = stamp[16] = ':';
  auto time = object::ParseTime(stamp + "Z");
  if (!time) return std::nullopt;
  return time->ToClock();
}

LogFile::LogFile(LogFile&& other) noexcept
    : options_(std::move(other.options_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

LogFile::~LogFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

Result<LogFile> LogFile::Open(LogFileOptions options) {
  LogFile file(std::move(options));
  if (file.options_.path == "-") {
    file.fd_ = STDOUT_FILENO;
    return file;
  }
  TRY(MakeDirectories(Split(file.options_.path).folder, kFolderMode));
  TRY(file.OpenFile(false));
  return file;
}

Result<void> LogFile::OpenFile(bool truncate) {
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0);
  fd_ = open(options_.path.c_str(), flags, kMode);
  if (fd_ < 0) return Fail(SystemError("open " + options_.path, errno));
  struct stat about;
  size_ = fstat(fd_, &about) == 0 ? about.st_size : 0;
  return {};
}

Result<void> LogFile::MoveAway(WallTime now) {
  close(std::exchange(fd_, -1));
  std::string backup = BackupName(options_.path, now);
  // No two in the same millisecond have one name.
  for (WallTime later = now; access(backup.c_str(), F_OK) == 0;) backup = BackupName(options_.path, later += std::chrono::milliseconds(1));
  // A file that somebody else has moved away is no fault.
  if (rename(options_.path.c_str(), backup.c_str()) != 0 && errno != ENOENT) {
    Status fault = SystemError("rename " + options_.path, errno);
    TRY(OpenFile(false));
    return Fail(fault);
  }
  TRY(OpenFile(true));
  RemoveOld(now);
  return {};
}

void LogFile::RemoveOld(WallTime now) const {
  std::string folder = Split(options_.path).folder;
  std::vector<std::pair<WallTime, std::string>> backups;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::string name = at->path().filename().string();
    if (auto time = BackupTime(options_.path, name)) backups.emplace_back(*time, name);
  }
  std::ranges::sort(backups, std::greater());
  for (size_t i = 0; i < backups.size(); ++i) {
    bool many = options_.max_backups > 0 && i >= static_cast<size_t>(options_.max_backups);
    bool old = options_.max_age_days > 0 && backups[i].first < now - std::chrono::hours(24) * options_.max_age_days;
    if (many || old) unlink((folder + "/" + backups[i].second).c_str());
  }
}

Result<void> LogFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail(SystemError("write " + options_.path, errno));
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> LogFile::Append(const std::vector<std::string>& lines, WallTime now) {
  const bool bounded = options_.path != "-" && options_.max_bytes > 0;
  if (fd_ < 0) TRY(OpenFile(false));
  Result<void> result;
  std::string batch;
  for (const std::string& line : lines) {
    auto size = static_cast<int64_t>(line.size());
    if (bounded && size > options_.max_bytes) {
      result = Fail(SystemError("write length " + std::to_string(size) + " exceeds maximum file size " + std::to_string(options_.max_bytes)));
      continue;
    }
    if (bounded && size_ + static_cast<int64_t>(batch.size()) + size > options_.max_bytes) {
      TRY(Write(batch));
      batch.clear();
      TRY(MoveAway(now));
    }
    batch += line;
  }
  TRY(Write(batch));
  return result;
}

}  // namespace homeostat::server::audit
