#include "homeostat/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "homeostat/base/text.h"

namespace homeostat {
namespace {

constexpr std::string_view kRedacted = "[redacted]";

size_t FindIgnoringCase(std::string_view text, std::string_view word, size_t from = 0) {
  for (size_t i = from; i + word.size() <= text.size(); ++i) {
    if (EqualsIgnoreCase(text.substr(i, word.size()), word)) return i;
  }
  return std::string_view::npos;
}

bool NamesCredential(std::string_view key) {
  for (std::string_view word : {"password", "passwd", "token", "authorization", "cookie", "credential", "private", "secretvalue"}) {
    if (FindIgnoringCase(key, word) != std::string_view::npos) return true;
  }
  return false;
}

// Replaces what stands after "Bearer " and "Basic ", and private keys in PEM.
std::string Redact(std::string_view text) {
  std::string out(text);
  for (std::string_view scheme : {"bearer ", "basic "}) {
    for (size_t at = 0; (at = FindIgnoringCase(out, scheme, at)) != std::string::npos;) {
      at += scheme.size();
      size_t end = std::min(out.find_first_of(" ,;\"'\r\n\t", at), out.size());
      // Shorter words are prose: "Bearer token authentication".
      if (end - at < 8 && scheme == "basic ") continue;
      out.replace(at, end - at, kRedacted);
    }
  }
  for (size_t at = 0; (at = out.find("PRIVATE KEY-----", at)) != std::string::npos;) {
    at += 16;
    size_t end = std::min(out.find("-----END", at), out.size());
    out.replace(at, end - at, kRedacted);
    size_t after = out.find("PRIVATE KEY-----", at);
    at = after == std::string::npos ? out.size() : after + 16;
  }
  return out;
}

bool MayHoldCredential(std::string_view text) {
  return FindIgnoringCase(text, "bearer ") != std::string_view::npos ||
         FindIgnoringCase(text, "basic ") != std::string_view::npos || text.find("PRIVATE KEY-----") != std::string_view::npos;
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char escape[8];
      out.append(escape, static_cast<size_t>(std::snprintf(escape, sizeof escape, "\\u%04x", c)));
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendNumber(std::string& out, auto value) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string DurationText(Duration value) {
  std::string out;
  AppendNumber(out, std::chrono::duration<double>(value).count());
  return out + "s";
}

struct FieldWriter {
  bool json;
  std::string& out;

  void Text(std::string_view text) const {
    if (json) {
      AppendJsonString(out, text);
    } else {
      out += GoQuote(text);
    }
  }
  void Append(std::string_view key, const LogField::Value& value) const {
    out += json ? ',' : ' ';
    if (json) {
      AppendJsonString(out, key);
      out += ':';
    } else {
      AppendOneLine(out, key);
      out += '=';
    }
    if (NamesCredential(key) && std::holds_alternative<std::string_view>(value)) return Text(kRedacted);
    std::visit([this](auto typed) { Value(typed); }, value);
  }
  void Value(std::string_view text) const { MayHoldCredential(text) ? Text(Redact(text)) : Text(text); }
  void Value(bool value) const { out += value ? "true" : "false"; }
  void Value(int64_t value) const { AppendNumber(out, value); }
  void Value(Duration value) const { Text(DurationText(value)); }
  void Value(double value) const {
    if (json && !std::isfinite(value)) return Text(std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    AppendNumber(out, value);
  }
};

std::string_view FileName(const std::source_location& at) {
  std::string_view path = at.file_name();
  return path.substr(path.rfind('/') + 1);
}

// "I1129 15:04:05.123456    4711 "
std::string TextHead(char severity, WallTime now) {
  auto since = now.time_since_epoch();
  time_t seconds = std::chrono::floor<std::chrono::seconds>(since).count();
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since - std::chrono::seconds(seconds)).count();
  tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 64> text;
  int size = std::snprintf(text.data(), text.size(), "%c%02d%02d %02d:%02d:%02d.%06d %7d ", severity, parts.tm_mon + 1,
                           parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(micros), ::getpid());
  return std::string(text.data(), static_cast<size_t>(size));
}

}  // namespace

struct Logger::Core {
  Core(Runtime& runtime, const LogOptions& options)
      : runtime(runtime), verbosity(options.verbosity), sink(options.sink) {
    json = options.format == LogOptions::Format::kJson ||
           (options.format == LogOptions::Format::kAutomatic && ::isatty(STDERR_FILENO) == 0);
    if (!sink) {
      output = std::make_unique<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
      output->set_pattern("%v");
      output->set_level(spdlog::level::trace);
    }
  }
  void Put(std::string_view line) const {
    if (sink) {
      sink(line);
    } else {
      output->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    }
  }

  Runtime& runtime;
  std::atomic<int> verbosity;
  std::function<void(std::string_view)> sink;
  bool json = false;
  std::unique_ptr<spdlog::logger> output;
};

Logger Logger::Make(Runtime& runtime, const LogOptions& options) {
  Logger out;
  out.core_ = std::make_shared<Core>(runtime, options);
  return out;
}

Logger Logger::Named(std::string_view name) const {
  Logger out = *this;
  out.name_ = std::make_shared<std::string>(name_ ? *name_ + "." + std::string(name) : std::string(name));
  return out;
}

Logger Logger::With(LogFields fields) const {
  if (!core_) return *this;
  Logger out = *this;
  std::string bound = bound_ ? *bound_ : std::string();
  for (const LogField& field : fields) FieldWriter{core_->json, bound}.Append(field.key(), field.value());
  out.bound_ = std::make_shared<std::string>(std::move(bound));
  return out;
}

bool Logger::Enabled(int level) const { return core_ && level <= core_->verbosity.load(std::memory_order_relaxed); }

Logger Logger::V(int level) const {
  if (!Enabled(level)) return Logger();
  Logger out = *this;
  out.level_ = level;
  return out;
}

void Logger::SetVerbosity(int verbosity) const {
  if (core_) core_->verbosity = verbosity;
}

void Logger::Write(char severity, std::string_view message, LogFields fields, const std::source_location& at) const {
  std::string line;
  FieldWriter writer{core_->json, line};
  WallTime now = core_->runtime.WallNow();
  if (core_->json) {
    double millis = std::chrono::duration<double, std::milli>(std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch())).count();
    char ts[32];
    line.append("{\"ts\":").append(ts, static_cast<size_t>(std::snprintf(ts, sizeof ts, "%.3f", millis)));
    line.append(",\"caller\":\"").append(FileName(at)).append(":");
    AppendNumber(line, at.line());
    line.append("\",\"msg\":");
    AppendJsonString(line, MayHoldCredential(message) ? Redact(message) : std::string(message));
    if (severity == 'I') writer.Append("v", int64_t{level_});
    if (severity == 'W') writer.Append("severity", std::string_view("warning"));
    if (name_) writer.Append("logger", std::string_view(*name_));
  } else {
    line = TextHead(severity, now);
    line.append(FileName(at)).append(":");
    AppendNumber(line, at.line());
    line.append("] ");
    line += GoQuote(MayHoldCredential(message) ? Redact(message) : std::string(message));
    if (name_) writer.Append("logger", std::string_view(*name_));
  }
  if (bound_) line += *bound_;
  for (const LogField& field : fields) writer.Append(field.key(), field.value());
  if (core_->json) line += '}';
  core_->Put(line);
}

}  // namespace homeostat
