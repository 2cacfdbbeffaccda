// Container logs as runtimes write them, and as people ask for them. Pure.
//
// A line is "2016-10-06T00:17:09.669794202Z stdout F text": when, which stream, F for a full line or P for one that goes
// on in the next. Source: the container runtime interface's logging document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::node {

struct LogLine {
  std::string_view timestamp;      // as written
  std::string_view stream;         // stdout or stderr
  bool partial = false;
  std::string_view content;        // without a newline
};
// nullopt for what is no such line.
std::optional<LogLine> ParseLogLine(std::string_view line);

// The parameters of a request for logs.
struct LogOptions {
  bool follow = false, previous = false, timestamps = false;
  std::optional<int64_t> tail_lines, limit_bytes;
  std::optional<WallTime> since;
  std::string stream;              // "", "Stdout" or "Stderr"
};
// From the query of /containerLogs; the error is BadRequest or Invalid as the API answers it.
Result<LogOptions> ParseLogOptions(const http::Query& query, WallTime now);

// Turns what was read from a log into what is answered. Keeps what is left of a line until the rest comes.
class LogFilter {
 public:
  explicit LogFilter(LogOptions options) : options_(std::move(options)), left_(options_.limit_bytes.value_or(INT64_MAX)) {}
  // Appends what the bytes give to `out`. False once the limit is reached: nothing more is wanted.
  bool Feed(std::string_view bytes, std::string& out);

 private:
  void Line(std::string_view line, std::string& out);
  void Write(std::string_view text, std::string& out);

  LogOptions options_;
  int64_t left_;
  std::string pending_;
  bool at_line_start_ = true;
};

// Where the last `lines` lines of a log begin, given its end: an offset into `tail`, or nullopt if the log must be read
// further back. `complete`: tail is the whole log.
std::optional<size_t> TailOffset(std::string_view tail, int64_t lines, bool complete);

}  // namespace homeostat::node
