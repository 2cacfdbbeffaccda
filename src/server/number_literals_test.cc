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
      {"cannot unmarshal number -2 into Go", "\"\\\"-2", "cannot unmarshal number -2 into Go"},
  };
  for (const auto& c : cases) EXPECT_EQ(WithNumberAsSent(c.message, c.json), c.wanted);
}

}  // namespace
}  // namespace homeostat::server
