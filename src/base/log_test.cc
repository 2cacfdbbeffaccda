#include "homeostat/base/log.h"

#include <gtest/gtest.h>

#include "homeostat/base/metrics.h"

namespace homeostat {
namespace {

struct Captured {
  std::vector<std::string> lines;
  std::unique_ptr<SimulatedRuntime> runtime = SimulatedRuntime::Make(1);
  Logger logger;
  explicit Captured(LogOptions::Format format, int verbosity = 0) {
    LogOptions options;
    options.format = format;
    options.verbosity = verbosity;
    options.sink = [this](std::string_view line) { lines.emplace_back(line); };
    logger = Logger::Make(*runtime, options);
  }
  // Without what differs from run to run: the text's head up to the message, JSON's caller.
  std::string Last() const {
    std::string line = lines.back();
    if (line[0] != '{') return line[0] + line.substr(line.find(']'));
    size_t begin = line.find(",\"caller\""), end = line.find(",\"msg\"");
    return line.erase(begin, end - begin);
  }
};

TEST(Log, TextLines) {
  Captured captured(LogOptions::Format::kText);
  captured.logger.Info("Listening", {{"address", "127.0.0.1:6443"}, {"count", 3}, {"ready", true}, {"ratio", 0.5},
                                     {"took", std::chrono::milliseconds(1500)}});
  EXPECT_EQ(captured.Last(), R"(I] "Listening" address="127.0.0.1:6443" count=3 ready=true ratio=0.5 took="1.5s")");
  EXPECT_NE(captured.lines.back().find("log_test.cc:"), std::string::npos);
  captured.logger.Named("store").Named("log").With({{"shard", 1}}).Error("Write failed", {{"err", NotFoundError("", "pods", "a")}});
  EXPECT_EQ(captured.Last(), R"(E] "Write failed" logger="store.log" shard=1 err="pods \"a\" not found")");
}

TEST(Log, JsonLines) {
  Captured captured(LogOptions::Format::kJson);
  captured.logger.Named("api").With({{"request", "a1"}}).Info("Done \"now\"", {{"code", 200}, {"path", "/a\nb\x01"}});
  EXPECT_EQ(captured.Last(),
            R"({"ts":1735689600000.000,"msg":"Done \"now\"","v":0,"logger":"api","request":"a1","code":200,"path":"/a\u000ab\u0001"})");
}

TEST(Log, VerbosityAndSilence) {
  Captured captured(LogOptions::Format::kJson, 2);
  captured.logger.V(3).Info("Hidden");
  EXPECT_TRUE(captured.lines.empty());
  captured.logger.V(2).Info("Shown");
  EXPECT_NE(captured.lines.back().find("\"v\":2"), std::string::npos);
  Logger copy = captured.logger.Named("x");
  captured.logger.SetVerbosity(4);
  EXPECT_TRUE(copy.Enabled(4));
  Logger().Named("a").With({{"b", 1}}).Error("Dropped");
  EXPECT_EQ(captured.lines.size(), 1u);
}

TEST(Log, NeverACredentialNorASecondLine) {
  for (auto format : {LogOptions::Format::kText, LogOptions::Format::kJson}) {
    Captured captured(format);
    captured.logger.Info("Sent Bearer eyJhbGciOi now",
                         {{"token", "hunter2"}, {"Authorization", "Bearer hunter2"}, {"headers", "authorization: bearer hunter2, accept"},
                          {"pem", "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\n"},
                          {"basic", "Basic aHVudGVyMjpodW50ZXIy"}});
    const std::string& line = captured.lines.back();
    for (const char* secret : {"hunter2", "eyJ", "aHVud"}) EXPECT_EQ(line.find(secret), std::string::npos) << line;
    EXPECT_NE(line.find(", accept"), std::string::npos);
    captured.logger.Info("User text", {{"name", "a\r\nI1129 forged\x1b[2J"}});
    EXPECT_EQ(captured.lines.back().find_first_of("\r\n\x1b"), std::string::npos);
  }
}

TEST(Metrics, RendersTheTextFormat) {
  MetricsRegistry registry;
  auto& requests = registry.Counters("requests_total", "Requests\nby \\ verb.", {"verb", "code"});
  requests.With({"POST", "201"}).Add(2);
  requests.With({"GET", "200"}).Add();
  requests.With({"GET", "200"}).Add(1234566);
  requests.With({"G\"\\\n", "404"}).Add();
  registry.Gauges("queue_depth", "Waiting.").Only().Set(-0.5);
  registry.Gauges("empty", "Nothing.", {"a"});
  auto& seconds = registry.Histograms("seconds", "Time.", {"verb"}, {0.005, 1, 2.5});
  for (double value : {0.001953125, 0.5, 1.5, 7.0}) seconds.With({"GET"}).Observe(value);
  EXPECT_EQ(registry.Render(), R"(# HELP queue_depth Waiting.
# TYPE queue_depth gauge
queue_depth -0.5
# HELP requests_total Requests\nby \\ verb.
# TYPE requests_total counter
requests_total{verb="G\"\\\n",code="404"} 1
requests_total{verb="GET",code="200"} 1.234567e+06
requests_total{verb="POST",code="201"} 2
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{verb="GET",le="0.005"} 1
seconds_bucket{verb="GET",le="1"} 2
seconds_bucket{verb="GET",le="2.5"} 3
seconds_bucket{verb="GET",le="+Inf"} 4
seconds_sum{verb="GET"} 9.001953125
seconds_count{verb="GET"} 4
)");
}

TEST(Metrics, FamiliesAreFoundAgainAndSeriesRemoved) {
  MetricsRegistry registry;
  auto& first = registry.Gauges("g", "h", {"a"});
  EXPECT_EQ(&first, &registry.Gauges("g", "h", {"a"}));
  first.With({"x"}).Set(1);
  first.With({"y"}).Set(1);
  first.Remove({"x"});
  EXPECT_EQ(registry.Render(), "# HELP g h\n# TYPE g gauge\ng{a=\"y\"} 1\n");
  EXPECT_DEATH(registry.Counters("g", "h", {"a"}), "metric g exists with another type");
  EXPECT_EQ(ExponentialBounds(1, 2, 4), (std::vector<double>{1, 2, 4, 8}));
}

TEST(Metrics, OfTheProcess) {
  MetricsRegistry registry;
  registry.AddProcessMetrics();
  registry.Render();
  EXPECT_GT(registry.Gauges("process_resident_memory_bytes", "").Only().value(), 100'000);
  EXPECT_GE(registry.Gauges("process_open_fds", "").Only().value(), 3);
  EXPECT_GE(registry.Gauges("process_threads", "").Only().value(), 1);
  double started = registry.Gauges("process_start_time_seconds", "").Only().value();
  EXPECT_NEAR(started, static_cast<double>(time(nullptr)), 120);
}

}  // namespace
}  // namespace homeostat
