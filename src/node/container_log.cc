#include "node/container_log.h"

#include <charconv>

#include "homeostat/base/text.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

std::string_view TakeWord(std::string_view& line) {
  size_t space = line.find(' ');
  if (space == std::string_view::npos) return {};
  std::string_view word = line.substr(0, space);
  line.remove_prefix(space + 1);
  return word;
}

Result<bool> BoolParameter(const http::Query& query, std::string_view name) {
  std::string_view text = query.Get(name);
  if (text.empty() || text == "false" || text == "0") return false;
  if (text == "true" || text == "1") return true;
  return Fail(BadRequestError("parsing " + GoQuote(text) + " as " + std::string(name) + ": invalid syntax"));
}

Result<std::optional<int64_t>> NumberParameter(const http::Query& query, std::string_view name, int64_t least) {
  std::string_view text = query.Get(name);
  if (text.empty()) return std::optional<int64_t>();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(BadRequestError("parsing " + GoQuote(text) + " as " + std::string(name) + ": invalid syntax"));
  }
  if (value < least) {
    std::string detail = least == 0 ? "must be greater than or equal to 0" : "must be greater than 0";
    StatusCause cause{"FieldValueInvalid", "Invalid value: " + std::to_string(value) + ": " + detail, std::string(name)};
    return Fail(InvalidError("", "PodLogOptions", "", {std::move(cause)}));
  }
  return std::optional<int64_t>(value);
}

}  // namespace

std::optional<LogLine> ParseLogLine(std::string_view line) {
  LogLine parsed;
  parsed.timestamp = TakeWord(line);
  parsed.stream = TakeWord(line);
  // Tags are separated by colons; the first says whether the line is whole. An empty line has no content after it.
  std::string_view tags = line.find(' ') == std::string_view::npos ? std::exchange(line, {}) : TakeWord(line);
  std::string_view tag = tags.substr(0, tags.find(':'));
  if (parsed.timestamp.empty() || (parsed.stream != "stdout" && parsed.stream != "stderr")) return std::nullopt;
  if (tag != "F" && tag != "P") return std::nullopt;
  parsed.partial = tag == "P";
  parsed.content = line;
  return parsed;
}

Result<LogOptions> ParseLogOptions(const http::Query& query, WallTime now) {
  LogOptions options;
  TRY_ASSIGN(options.follow, BoolParameter(query, "follow"));
  TRY_ASSIGN(options.previous, BoolParameter(query, "previous"));
  TRY_ASSIGN(options.timestamps, BoolParameter(query, "timestamps"));
  TRY_ASSIGN(options.tail_lines, NumberParameter(query, "tailLines", 0));
  TRY_ASSIGN(options.limit_bytes, NumberParameter(query, "limitBytes", 1));
  TRY_ASSIGN(std::optional<int64_t> since_seconds, NumberParameter(query, "sinceSeconds", 1));
  std::string_view since_time = query.Get("sinceTime");
  if (since_seconds && !since_time.empty()) {
    return Fail(BadRequestError("at most one of `sinceTime` or `sinceSeconds` may be specified"));
  }
  if (since_seconds) options.since = now - std::chrono::seconds(*since_seconds);
  if (!since_time.empty()) {
    options.since = ParseTime(since_time);
    if (!options.since) return Fail(BadRequestError("parsing time " + GoQuote(since_time) + " failed"));
  }
  options.stream = query.Get("stream");
  if (options.stream == "All") options.stream.clear();
  if (!options.stream.empty() && options.stream != "Stdout" && options.stream != "Stderr") {
    return Fail(BadRequestError("stream must be one of All, Stdout, Stderr"));
  }
  return options;
}

void LogFilter::Write(std::string_view text, std::string& out) {
  text = text.substr(0, static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(text.size()))));
  out += text;
  left_ -= static_cast<int64_t>(text.size());
}

void LogFilter::Line(std::string_view line, std::string& out) {
  std::optional<LogLine> parsed = ParseLogLine(line);
  if (!parsed) return;
  if (!options_.stream.empty() && (options_.stream == "Stdout") != (parsed->stream == "stdout")) return;
  if (options_.since) {
    std::optional<WallTime> time = ParseTime(parsed->timestamp);
    if (time && *time < *options_.since) return;
  }
  if (options_.timestamps && at_line_start_) {
    Write(parsed->timestamp, out);
    Write(" ", out);
  }
  Write(parsed->content, out);
  if (!parsed->partial) Write("\n", out);
  at_line_start_ = !parsed->partial;
}

bool LogFilter::Feed(std::string_view bytes, std::string& out) {
  while (left_ > 0) {
    size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      pending_ += bytes;
      return true;
    }
    if (pending_.empty()) {
      Line(bytes.substr(0, end), out);
    } else {
      pending_ += bytes.substr(0, end);
      Line(pending_, out);
      pending_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return false;
}

std::optional<size_t> TailOffset(std::string_view tail, int64_t lines, bool complete) {
  if (lines <= 0) return tail.size();
  // The newline that ends the last line begins nothing.
  size_t at = tail.ends_with('\n') ? tail.size() - 1 : tail.size();
  while (at > 0) {
    size_t newline = tail.rfind('\n', at - 1);
    if (newline == std::string_view::npos) break;
    if (--lines == 0) return newline + 1;
    at = newline;
  }
  if (complete) return 0;
  return std::nullopt;
}

}  // namespace homeostat::node
