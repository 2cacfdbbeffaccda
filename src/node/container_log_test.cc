#include "node/container_log.h"

#include <gtest/gtest.h>

#include "node/values.h"

namespace homeostat::node {
namespace {

TEST(ParseLogLine, ReadsTheFourParts) {
  std::optional<LogLine> line = ParseLogLine("2026-01-02T03:04:05.123456789Z stderr P some  text ");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->timestamp, "2026-01-02T03:04:05.123456789Z");
  EXPECT_EQ(line->stream, "stderr");
  EXPECT_TRUE(line->partial);
  EXPECT_EQ(line->content, "some  text ");
  line = ParseLogLine("2026-01-02T03:04:05Z stdout F:x ");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->content, "");
  EXPECT_FALSE(ParseLogLine("no log line"));
  EXPECT_FALSE(ParseLogLine("2026-01-02T03:04:05Z stdin F x"));
  EXPECT_FALSE(ParseLogLine(""));
}

constexpr const char* kLog =
    "2026-01-01T00:00:01Z stdout F one\n"
    "2026-01-01T00:00:02Z stderr F two\n"
    "2026-01-01T00:00:03Z stdout P thr\n"
    "2026-01-01T00:00:03.5Z stdout F ee\n"
    "2026-01-01T00:00:04Z stdout F four\n";

std::string Filtered(LogOptions options, size_t piece = 1000) {
  LogFilter filter(std::move(options));
  std::string out, log = kLog;
  for (size_t at = 0; at < log.size(); at += piece) {
    if (!filter.Feed(std::string_view(log).substr(at, piece), out)) break;
  }
  return out;
}

TEST(LogFilter, GivesWhatWasAskedFor) {
  for (size_t piece : {1, 7, 1000}) {
    EXPECT_EQ(Filtered({}, piece), "one\ntwo\nthree\nfour\n");
    EXPECT_EQ(Filtered({.stream = "Stderr"}, piece), "two\n");
    EXPECT_EQ(Filtered({.limit_bytes = 6}, piece), "one\ntw");
    EXPECT_EQ(Filtered({.since = ParseTime("2026-01-01T00:00:03Z")}, piece), "three\nfour\n");
    EXPECT_EQ(Filtered({.timestamps = true, .stream = "Stdout"}, piece),
              "2026-01-01T00:00:01Z one\n2026-01-01T00:00:03Z three\n2026-01-01T00:00:04Z four\n");
  }
}

TEST(TailOffset, CountsFromTheEnd) {
  EXPECT_EQ(TailOffset("a\nb\nc\n", 1, true), 4u);
  EXPECT_EQ(TailOffset("a\nb\nc\n", 2, true), 2u);
  EXPECT_EQ(TailOffset("a\nb\nc\n", 3, true), 0u);
  EXPECT_EQ(TailOffset("a\nb\nc\n", 9, true), 0u);
  EXPECT_EQ(TailOffset("a\nb\nc\n", 3, false), std::nullopt) << "the first line may begin earlier";
  EXPECT_EQ(TailOffset("a\nb\nc", 1, true), 4u);
  EXPECT_EQ(TailOffset("a\nb\n", 0, true), 4u);
  EXPECT_EQ(TailOffset("", 5, true), 0u);
}

TEST(ParseLogOptions, ReadsAndRefuses) {
  WallTime now = *ParseTime("2026-01-01T00:01:00Z");
  Result<LogOptions> options = ParseLogOptions(http::Query::Parse("follow=true&tailLines=5&sinceSeconds=60&timestamps=1&limitBytes=7"), now);
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->follow && options->timestamps && !options->previous);
  EXPECT_EQ(options->tail_lines, 5);
  EXPECT_EQ(options->limit_bytes, 7);
  EXPECT_EQ(options->since, ParseTime("2026-01-01T00:00:00Z"));
  struct Case {
    const char* query;
    int code;
  };
  for (const Case& c : {Case{"tailLines=x", 400}, Case{"tailLines=-1", 422}, Case{"limitBytes=0", 422}, Case{"sinceSeconds=0", 422},
                        Case{"follow=maybe", 400}, Case{"sinceTime=yesterday", 400}, Case{"stream=Both", 400},
                        Case{"sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 400}}) {
    options = ParseLogOptions(http::Query::Parse(c.query), now);
    ASSERT_FALSE(options) << c.query;
    EXPECT_EQ(options.error().code(), c.code) << c.query;
  }
}

}  // namespace
}  // namespace homeostat::node
