// Logs: one line for each event, a fixed message and key-value fields. Text in klog's form on a terminal, JSON with
// component-base's keys otherwise.
//
//   log.Info("Listening", {{"address", listener->address()}});
//   log.V(4).Info("Skipped object", {{"key", key}, {"revision", revision}});
//   log.Error("Write failed", {{"err", result.error()}});
//
// Messages are constant texts that begin with a capital; what varies stands in fields. Fields whose name says that they
// hold a credential, bearer tokens and private keys inside texts are replaced by [redacted]; control characters are escaped.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat {

// One field. Borrows its texts: meant for argument lists.
class LogField {
 public:
  LogField(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  LogField(std::string_view key, const std::string& value) : key_(key), value_(std::string_view(value)) {}
  LogField(std::string_view key, const char* value) : key_(key), value_(std::string_view(value)) {}
  LogField(std::string_view key, bool value) : key_(key), value_(value) {}
  LogField(std::string_view key, double value) : key_(key), value_(value) {}
  LogField(std::string_view key, std::integral auto value) : key_(key), value_(static_cast<int64_t>(value)) {}
  LogField(std::string_view key, Duration value) : key_(key), value_(value) {}  // "1.5s"
  LogField(std::string_view key, const Status& value) : key_(key), value_(std::string_view(value.message())) {}

  using Value = std::variant<std::string_view, bool, double, int64_t, Duration>;
  std::string_view key() const { return key_; }
  const Value& value() const { return value_; }

 private:
  std::string_view key_;
  Value value_;
};
using LogFields = std::initializer_list<LogField>;

struct LogOptions {
  enum class Format { kAutomatic, kText, kJson };
  Format format = Format::kAutomatic;  // text if stderr is a terminal
  int verbosity = 0;                   // -v: events of a higher level than this are dropped
  // Where lines go (without their newline), in place of stderr: for tests.
  std::function<void(std::string_view line)> sink;
};

// A handle on where lines go, with a name and fields of its own. Cheap to copy. One made by default drops everything.
// May be used from any thread.
class Logger {
 public:
  Logger() = default;
  // The runtime gives the time of each event and must outlive the logger and its copies.
  static Logger Make(Runtime& runtime, const LogOptions& options);

  // With a further name ("a.b"), or with fields that stand in every line.
  Logger Named(std::string_view name) const;
  Logger With(LogFields fields) const;
  // Drops everything unless the verbosity is at least this. 0 always; 2 for steady operation, 4 for debugging, 6 and more
  // for traces: Kubernetes' conventions.
  Logger V(int level) const;
  bool Enabled(int level = 0) const;
  // Changes it for all copies.
  void SetVerbosity(int verbosity) const;

  void Info(std::string_view message, LogFields fields = {}, std::source_location at = std::source_location::current()) const {
    if (core_) Write('I', message, fields, at);
  }
  void Warning(std::string_view message, LogFields fields = {}, std::source_location at = std::source_location::current()) const {
    if (core_) Write('W', message, fields, at);
  }
  void Error(std::string_view message, LogFields fields = {}, std::source_location at = std::source_location::current()) const {
    if (core_) Write('E', message, fields, at);
  }

 private:
  struct Core;
  void Write(char severity, std::string_view message, LogFields fields, const std::source_location& at) const;

  std::shared_ptr<Core> core_;
  std::shared_ptr<const std::string> name_;
  std::shared_ptr<const std::string> bound_;  // fields of With, as they are written
  int level_ = 0;
};

}  // namespace homeostat
