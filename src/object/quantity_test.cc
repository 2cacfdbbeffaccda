#include "homeostat/object/quantity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

std::string_view FormatName(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::kDecimalSI:
      return "DecimalSI";
    case Quantity::Format::kBinarySI:
      return "BinarySI";
    case Quantity::Format::kDecimalExponent:
      return "DecimalExponent";
  }
  return "";
}

std::vector<std::string> Answer(const std::string& text) {
  Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return {"err", quantity.error().message()};
  Quantity sum = *quantity, rounded = *quantity, negative = *quantity;
  sum.Add(Quantity());
  rounded.RoundUp(0);
  negative.Neg();
  std::optional<int64_t> exact = quantity->AsInt64();
  return {"ok",
          quantity->ToString(),
          sum.ToString(),
          std::string(FormatName(quantity->format())),
          std::to_string(quantity->Value()),
          std::to_string(quantity->MilliValue()),
          rounded.ToString(),
          negative.ToString(),
          (exact ? std::to_string(*exact) : "") + "," + (exact ? "true" : "false")};
}

TEST(QuantityTest, IsUpstreams) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("quantity_cases.tsv");
  ASSERT_GT(rows.size(), 400u);
  for (std::vector<std::string>& row : rows) {
    std::string text = row[0];
    row.erase(row.begin());
    EXPECT_EQ(Answer(text), row) << text;
  }
}

TEST(QuantityTest, ComputesAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("qpair_cases.tsv");
  ASSERT_GT(rows.size(), 200u);
  for (const std::vector<std::string>& row : rows) {
    size_t bar = row[0].find('|');
    Result<Quantity> a = Quantity::Parse(row[0].substr(0, bar)), b = Quantity::Parse(row[0].substr(bar + 1));
    if (!a || !b) {
      EXPECT_EQ(row[1], "err") << row[0];
      continue;
    }
    ASSERT_EQ(row.size(), 5u) << row[0];
    Quantity sum = *a, difference = *a, triple = *a;
    sum.Add(*b);
    difference.Sub(*b);
    triple.Mul(3);
    EXPECT_EQ(std::to_string(a->Compare(*b)), row[1]) << row[0];
    EXPECT_EQ(sum.ToString(), row[2]) << row[0];
    EXPECT_EQ(difference.ToString(), row[3]) << row[0];
    EXPECT_EQ(triple.ToString(), row[4]) << row[0];
  }
}

TEST(QuantityTest, MadeFromNumbers) {
  EXPECT_EQ(Quantity::Of(1536, Quantity::Format::kBinarySI).ToString(), "1536");
  EXPECT_EQ(Quantity::Of(2048, Quantity::Format::kBinarySI).ToString(), "2Ki");
  EXPECT_EQ(Quantity::OfMilli(1500).ToString(), "1500m");
  EXPECT_EQ(Quantity::OfMilli(2000).ToString(), "2");
  EXPECT_EQ(Quantity::Of(5, Quantity::Format::kDecimalExponent, 6).ToString(), "5e6");
  EXPECT_EQ(Quantity().ToString(), "0");
  EXPECT_LT(Quantity::OfMilli(999), Quantity::Of(1));
  EXPECT_EQ(*Quantity::Parse("1Ki"), Quantity::Of(1024));
}

TEST(QuantityTest, AbsurdNumbersCostLittle) {
  for (std::string text : {"1e2000000000", "0e2000000000", "1e-2000000000", "1234567890123456789012345e-2000000000"}) {
    Result<Quantity> quantity = Quantity::Parse(text);
    ASSERT_TRUE(quantity.has_value()) << text;
    EXPECT_FALSE(quantity->ToString().empty());
    quantity->Value();
    quantity->MilliValue();
    Quantity sum = *quantity;
    sum.Add(Quantity::Of(1));
    sum.Sub(*Quantity::Parse("0.5"));
    sum.Mul(1234567890123);
    EXPECT_EQ(sum.Compare(sum), 0);
    EXPECT_EQ(quantity->Compare(Quantity::Of(7)) > 0, text == "1e2000000000");
  }
  Quantity sum = *Quantity::Parse("1Ki");
  sum.Add(*Quantity::Parse("9e999999993"));
  EXPECT_FALSE(sum.ToString().empty());
  EXPECT_TRUE(std::isinf(Quantity::Parse("123456789012345678901234567890e302")->AsApproximateDouble()));
  EXPECT_EQ(Quantity::Parse("-18446744073709551617e1")->AsApproximateDouble(), -18446744073709551617e1);
  // One more than fits wraps, as upstream's does.
  EXPECT_EQ(Quantity::Parse("9223372036854775807.000000001")->Value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Quantity::Parse("1234567890123456789012345e2000000000")->ToString(), "123456789012345678901234500e1999999998");
  EXPECT_EQ(Quantity::Parse(std::string(1000000, '9')).error().message(), "unable to parse numeric part of quantity");
  std::string long_number(900, '9');
  long_number += "Mi";
  EXPECT_TRUE(Quantity::Parse(long_number).has_value());
}

}  // namespace
}  // namespace homeostat::object
