#include "node/log_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "node/errors.h"
#include "node/files.h"

namespace homeostat::node {

namespace {

constexpr size_t kPiece = 64 * 1024;
constexpr Duration kPoll = std::chrono::milliseconds(100);

Result<FileDescriptor> OpenFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about;
  if (!file) return Fail(FileError(path, errno));
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return Fail(NodeError(path + " is no regular file"));
  return file;
}

// Reads at an offset; empty at the end.
Result<std::string> ReadAt(int fd, off_t offset, size_t size) {
  std::string bytes(size, '\0');
  ssize_t got;
  do {
    got = pread(fd, bytes.data(), size, offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Fail(FileError("can't read log", errno));
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

// Where the last lines begin. Looks at ever more of the end, so that a short tail of a long log is cheap.
Result<off_t> FindTail(int fd, int64_t lines) {
  struct stat about;
  if (fstat(fd, &about) != 0) return Fail(FileError("can't read log", errno));
  for (off_t look = static_cast<off_t>(kPiece);; look *= 4) {
    off_t begin = std::max<off_t>(0, about.st_size - look);
    TRY_ASSIGN(std::string tail, ReadAt(fd, begin, static_cast<size_t>(about.st_size - begin)));
    if (std::optional<size_t> offset = TailOffset(tail, lines, begin == 0)) return begin + static_cast<off_t>(*offset);
  }
}

// True if the path now leads to another file than the open one.
bool WasReplaced(int fd, const std::string& path) {
  struct stat open_one, now;
  if (fstat(fd, &open_one) != 0 || lstat(path.c_str(), &now) != 0) return false;
  return open_one.st_ino != now.st_ino || open_one.st_dev != now.st_dev;
}

// What is shared with the blocking pool while a read is under way: the reader may be destroyed meanwhile.
struct LogFile {
  std::string path;
  FileDescriptor file;
  off_t offset = 0;
};

// The next piece; empty at the end. Moves on to a file that took the place of the one that was read.
Result<std::string> NextPiece(LogFile& log) {
  TRY_ASSIGN(std::string piece, ReadAt(log.file.get(), log.offset, kPiece));
  if (piece.empty() && WasReplaced(log.file.get(), log.path)) {
    TRY_ASSIGN(FileDescriptor next, OpenFile(log.path));
    log.file = std::move(next);
    log.offset = 0;
    TRY_ASSIGN(piece, ReadAt(log.file.get(), 0, kPiece));
  }
  log.offset += static_cast<off_t>(piece.size());
  return piece;
}

class LogReader : public http::BodyReader {
 public:
  LogReader(Runtime& runtime, std::shared_ptr<LogFile> log, LogOptions options, std::function<bool()> still_running)
      : runtime_(runtime), log_(std::move(log)), follow_(options.follow), filter_(std::move(options)),
        still_running_(std::move(still_running)) {}

  Task<Result<Bytes>> Read() override {
    std::string out;
    while (!ended_ && out.empty()) {
      // Asked before reading: what was written before the end is then read for sure.
      bool may_grow = follow_ && still_running_();
      std::move_only_function<Result<std::string>()> work = [log = log_] { return NextPiece(*log); };
      auto read = RunOffLoop<Result<std::string>>(runtime_, std::move(work));
      CO_TRY_ASSIGN(std::string piece, co_await std::move(read));
      if (!piece.empty()) {
        ended_ = !filter_.Feed(piece, out);
      } else if (may_grow) {
        co_await Sleep(runtime_, kPoll);
      } else {
        ended_ = true;
      }
    }
    co_return Bytes(std::move(out));
  }

 private:
  Runtime& runtime_;
  std::shared_ptr<LogFile> log_;
  bool follow_, ended_ = false;
  LogFilter filter_;
  std::function<bool()> still_running_;
};

Result<std::shared_ptr<LogFile>> Open(const std::string& path, const LogOptions& options) {
  auto log = std::make_shared<LogFile>();
  log->path = path;
  TRY_ASSIGN(log->file, OpenFile(path));
  if (options.tail_lines) {
    TRY_ASSIGN(log->offset, FindTail(log->file.get(), *options.tail_lines));
  }
  return log;
}

}  // namespace

Task<Result<std::unique_ptr<http::BodyReader>>> OpenLog(Runtime& runtime, std::string path, LogOptions options,
                                                        std::function<bool()> still_running) {
  using Opened = Result<std::shared_ptr<LogFile>>;
  std::move_only_function<Opened()> work = [path, options] { return Open(path, options); };
  auto open = RunOffLoop<Opened>(runtime, std::move(work));
  CO_TRY_ASSIGN(std::shared_ptr<LogFile> log, co_await std::move(open));
  std::unique_ptr<http::BodyReader> reader =
      std::make_unique<LogReader>(runtime, std::move(log), std::move(options), std::move(still_running));
  co_return reader;
}

std::string LastLogText(const std::string& path, int64_t lines, size_t bytes) {
  Result<FileDescriptor> file = OpenFile(path);
  if (!file) return "";
  Result<off_t> begin = FindTail(file->get(), lines);
  if (!begin) return "";
  struct stat about;
  if (fstat(file->get(), &about) != 0) return "";
  off_t from = std::max(*begin, about.st_size - static_cast<off_t>(kPiece));
  Result<std::string> raw = ReadAt(file->get(), from, kPiece);
  std::string text;
  LogFilter filter(LogOptions{});
  if (raw) filter.Feed(*raw, text);
  return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

}  // namespace homeostat::node
