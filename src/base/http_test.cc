#include "homeostat/base/http.h"

#include <gtest/gtest.h>

namespace homeostat::http {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(HeadersTest, NamesCompareWithoutCaseAndOrderIsKept) {
  Headers headers{{"Accept", "a"}, {"X-One", "1"}, {"accept", "b"}};
  EXPECT_EQ(headers.Get("ACCEPT"), "a");
  EXPECT_EQ(headers.GetAll("Accept"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(headers.Get("Missing"), "");
  EXPECT_FALSE(headers.Has("Missing"));
  headers.Set("aCCept", "c");
  EXPECT_EQ(headers.lines(), (Pairs{{"X-One", "1"}, {"aCCept", "c"}}));
  headers.Remove("x-one");
  EXPECT_EQ(headers.lines(), (Pairs{{"aCCept", "c"}}));
}

TEST(HeadersTest, SetMayBeGivenAViewOfItself) {
  Headers headers{{"A", "a long enough value to live on the heap"}};
  headers.Set(headers.lines()[0].first, headers.Get("A"));
  EXPECT_EQ(headers.Get("A"), "a long enough value to live on the heap");
}

TEST(QueryTest, Parse) {
  const std::pair<std::string_view, Pairs> kCases[] = {
      {"", {}},
      {"watch", {{"watch", ""}}},
      {"a=1&b=x%20y&a=2", {{"a", "1"}, {"b", "x y"}, {"a", "2"}}},
      {"labelSelector=app%3Dweb%2Ctier+in+%28a%29", {{"labelSelector", "app=web,tier in (a)"}}},
      {"a=b=c", {{"a", "b=c"}}},
      {"&&a=1&", {{"a", "1"}}},
      {"=v", {{"", "v"}}},
      {"bad=%zz&good=1", {{"good", "1"}}},
      {"cut=%2&good=1", {{"good", "1"}}},
      {"a=1;b=2&c=3", {{"c", "3"}}},
  };
  for (const auto& [text, want] : kCases) EXPECT_EQ(Query::Parse(text).parameters(), want) << text;
}

TEST(QueryTest, EncodeIsReadBackAsItWas) {
  Query query;
  query.Add("fieldSelector", "metadata.name=a b&c+d%");
  query.Add("empty", "");
  EXPECT_EQ(query.Encode(), "fieldSelector=metadata.name%3Da%20b%26c%2Bd%25&empty=");
  EXPECT_EQ(Query::Parse(query.Encode()).parameters(), query.parameters());
}

TEST(PercentTest, EveryByteComesBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(PercentDecode(PercentEncode(all), true), all);
  EXPECT_EQ(PercentDecode("a+b%2", false), "a+b%2");
  EXPECT_EQ(PercentDecode("%41%", true), "A%");
}

TEST(PercentTest, WhatStaysPlain) {
  EXPECT_EQ(PercentEncode("aZ09-._~ /\xE9%"), "aZ09-._~%20%2F%E9%25");
  EXPECT_EQ(PercentEncode("a/b c:d", "/:"), "a/b%20c:d");
}

TEST(ReasonPhraseTest, KnownAndUnknown) {
  EXPECT_EQ(ReasonPhrase(404), "Not Found");
  EXPECT_EQ(ReasonPhrase(799), "");
}

}  // namespace
}  // namespace homeostat::http
