#include "server/number_literals.h"

#include <gtest/gtest.h>

namespace homeostat::server {
namespace {

TEST(WithNumberAsSent, ShowsTheTextThatWasSent) {
  const struct {
    const char *message, *json, *wanted;
  } cases[] = {
      {"cannot unmarshal number 1e-7 into Go", R"({"a":"1e-07","b":1e-07})", "cannot unmarshal number 1e-07 into Go"},
      {"cannot unmarshal number 5 into Go", R"([4,5.0])", "cannot unmarshal number 5.0 into Go"},
      {"cannot unmarshal number 2 into Go", R"({"a":2,"b":2.0})", "cannot unmarshal number 2.0 into Go"},
      {"cannot unmarshal number into Go struct", R"({"a":0})", "cannot unmarshal number into Go struct"},
      {"cannot unmarshal number 7 into Go", R"([4,5.0])", "cannot unmarshal number 7 into Go"},
      {"cannot unmarshal string into Go", R"({"a":1})", "cannot unmarshal string into Go"},
      {"cannot unmarshal number 1", R"(1)", "cannot unmarshal number 1"},
      {"cannot unmarshal number 1.7976931348623157e+308 into Go", R"({"a":1E400})", "cannot unmarshal number 1E400 into Go"},
      {"cannot unmarshal number -2 into Go", "\"\\\"-2", "cannot unmarshal number -2 into Go"},
  };
  for (const auto& c : cases) EXPECT_EQ(WithNumberAsSent(c.message, c.json), c.wanted);
}

TEST(WithNumberFromYaml, ShowsWhatBecomesOfItInJson) {
  const struct {
    const char *message, *yaml, *wanted;
  } cases[] = {
      {"cannot unmarshal number 18446744073709551616 into Go", "a: 18446744073709551615", "cannot unmarshal number 18446744073709551615 into Go"},
      {"cannot unmarshal number 18446744073709551616 into Go", "a: 18446744073709551616", "cannot unmarshal number 18446744073709552000 into Go"},
      {"cannot unmarshal number 12345678901234567168 into Go", "a: 12345678901234567890.0", "cannot unmarshal number 12345678901234567000 into Go"},
      {"cannot unmarshal number 1.5 into Go", "a: 1.5", "cannot unmarshal number 1.5 into Go"},
      {"cannot unmarshal number into Go struct", "a: 1", "cannot unmarshal number into Go struct"},
  };
  for (const auto& c : cases) EXPECT_EQ(WithNumberFromYaml(c.message, c.yaml), c.wanted);
}

}  // namespace
}  // namespace homeostat::server
