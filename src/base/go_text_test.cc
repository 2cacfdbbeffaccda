#include "homeostat/base/go_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace homeostat {
namespace {

TEST(GoFloat, PrintsAsGoDoes) {
  struct Case {
    double value;
    const char* text;
  } cases[] = {{0, "0"}, {2, "2"}, {1.5, "1.5"}, {-0.25, "-0.25"}, {100000, "100000"}, {1e6, "1e+06"}, {1234567, "1.234567e+06"},
               {123456.5, "123456.5"}, {2147483648.0, "2.147483648e+09"}, {1e21, "1e+21"}, {0.0001, "0.0001"}, {0.00001, "1e-05"},
               {1e-300, "1e-300"}, {std::numeric_limits<double>::infinity(), "+Inf"}};
  for (const Case& c : cases) EXPECT_EQ(GoFloat(c.value), c.text);
}

TEST(AggregateText, PrintsEachErrorOnce) {
  EXPECT_EQ(AggregateText({"a"}), "a");
  EXPECT_EQ(AggregateText({"a", "a"}), "a");
  EXPECT_EQ(AggregateText({"b", "a", "b"}), "[b, a]");
  EXPECT_EQ(JoinTexts(std::vector<std::string>{}, ","), "");
}

}  // namespace
}  // namespace homeostat
