#include "homeostat/base/text.h"

#include <gtest/gtest.h>

namespace homeostat {
namespace {

TEST(Text, QuotesAsGoDoes) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"web", R"("web")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"\a\b\f\n\r\t\v", R"("\a\b\f\n\r\t\v")"},
      {std::string_view("\0\x1b\x7f", 3), R"("\x00\x1b\x7f")"},
      {"größe €😀", "\"größe €😀\""},
      {"\xc3\x28\xff", R"("\xc3(\xff")"},
      {"\xed\xa0\x80", R"("\xed\xa0\x80")"},
      {"\u00a0\u200b\ufeff", R"("\u00a0\u200b\ufeff")"},
      {"\U000e0001", R"("\U000e0001")"},
  };
  for (const auto& [text, quoted] : cases) EXPECT_EQ(GoQuote(text), quoted);
}

TEST(Text, KnowsSmallLettersOfAscii) {
  EXPECT_EQ(LowerCase("Größe-ÄB9@[Z"), "größe-Äb9@[z");
  EXPECT_TRUE(EqualsIgnoreCase("Content-Type", "content-TYPE"));
  for (const auto& [a, b] : std::initializer_list<std::pair<std::string_view, std::string_view>>{{"a", "ab"}, {"@", "`"}, {"[", "{"}, {"Ä", "ä"}}) {
    EXPECT_FALSE(EqualsIgnoreCase(a, b)) << a;
  }
}

TEST(Text, KeepsOneLine) {
  std::string out = "> ";
  AppendOneLine(out, "a\nb\x1b[31m\"c\"");
  EXPECT_EQ(out, R"(> a\nb\x1b[31m"c")");
}

TEST(Text, Base64) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff\xfe", "+//+"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(Base64Encode(bytes), text);
    EXPECT_EQ(Base64Decode(text), bytes);
    EXPECT_EQ(Base64UrlDecode(Base64UrlEncode(bytes)), bytes);
  }
  EXPECT_EQ(Base64UrlEncode("\xfb\xff\xfe\xff"), "-__-_w");
  EXPECT_EQ(Base64Decode("Zm9v\r\nZg==\n"), "foof");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "Z g=", "=Zg=", "Zg==Zg==", "-__-", "===="}) {
    EXPECT_EQ(Base64Decode(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(Base64UrlDecode("Zg=="), std::nullopt);
}

}  // namespace
}  // namespace homeostat
