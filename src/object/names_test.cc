#include "homeostat/object/names.h"

#include <gtest/gtest.h>

#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

TEST(NamesTest, SayWhatUpstreamSays) {
  Messages (*const functions[])(std::string_view) = {
      IsDNS1123Label, IsDNS1123Subdomain, IsDNS1123SubdomainCaseless, IsDNS1123SubdomainWithUnderscore, IsDNS1035Label,
      IsWildcardDNS1123Subdomain, IsQualifiedName, IsValidLabelValue, IsConfigMapKey, IsValidPathSegmentName,
      IsValidPathSegmentPrefix, IsValidPortName, IsValidPercent, IsHTTPHeaderName, IsEnvVarName, IsRelaxedEnvVarName,
      IsCIdentifier, IsDecimalInteger, [](std::string_view name) { return NameIsDNSSubdomain(name, true); },
      [](std::string_view name) { return NameIsDNSLabel(name, true); },
      [](std::string_view name) { return NameIsDNS1035Label(name, true); }};
  std::vector<std::vector<std::string>> rows = internal::ReadTable("names_cases.tsv");
  ASSERT_GT(rows.size(), 100u);
  for (const std::vector<std::string>& row : rows) {
    ASSERT_EQ(row.size(), std::size(functions) + 1);
    for (size_t i = 0; i < std::size(functions); ++i) {
      EXPECT_EQ(internal::Join(functions[i](row[0]), "; "), row[i + 1]) << row[0] << " by function " << i;
    }
  }
}

TEST(NamesTest, Ranges) {
  EXPECT_TRUE(IsValidPortNum(1).empty());
  EXPECT_TRUE(IsValidPortNum(65535).empty());
  EXPECT_EQ(IsValidPortNum(0), Messages{"must be between 1 and 65535, inclusive"});
  EXPECT_EQ(IsValidPortNum(65536), Messages{"must be between 1 and 65535, inclusive"});
  EXPECT_TRUE(IsValidUserID(0).empty());
  EXPECT_EQ(IsValidUserID(2147483648), Messages{"must be between 0 and 2147483647, inclusive"});
  EXPECT_EQ(IsValidGroupID(-1), Messages{"must be between 0 and 2147483647, inclusive"});
}

TEST(NamesTest, PathCharacters) {
  EXPECT_TRUE(IsHTTPPath("a/B-._~%!$&'()*+,;=:9"));
  for (const char* bad : {"", "a b", "a?b", "a#b", "\u00e9"}) EXPECT_FALSE(IsHTTPPath(bad)) << bad;
}

}  // namespace
}  // namespace homeostat::object
