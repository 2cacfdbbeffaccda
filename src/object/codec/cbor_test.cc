#include "homeostat/object/cbor.h"

#include <gtest/gtest.h>

#include <limits>

#include "homeostat/object/json.h"
#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

std::string Hex(std::string_view octets) {
  std::string out;
  for (char c : octets) {
    out += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    out += "0123456789abcdef"[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

std::string Message(std::string_view data) {
  Arena arena;
  Result<Value> value = ParseCbor(arena, data);
  return value ? "ok" : value.error().message();
}

TEST(CborTest, ReadsAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("cbor_cases.tsv");
  ASSERT_GT(rows.size(), 300u);
  for (const std::vector<std::string>& row : rows) {
    Arena arena;
    Result<Value> value = ParseCbor(arena, row[0]);
    ASSERT_EQ(value ? "ok" : "err", row[1]) << Hex(row[0]) << (value ? "" : value.error().message());
    if (value) {
      EXPECT_EQ(*WriteJson(*value, {.sort_names = true}), row[2]) << Hex(row[0]);
    }
  }
}

TEST(CborTest, WritesAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("cbor_write_cases.tsv");
  ASSERT_GT(rows.size(), 100u);
  for (const std::vector<std::string>& row : rows) {
    Arena arena;
    Value value = *ParseJson(arena, row[0]);
    std::string written;
    ASSERT_TRUE(AppendCborItem(written, value).has_value());
    EXPECT_EQ(Hex(written), row[1]) << row[0];
    Arena other;
    EXPECT_TRUE(Equal(*ParseCbor(other, written), value)) << row[0];
  }
}

TEST(CborTest, BytesTakeTheDetourThroughBase64) {
  Arena arena;
  ObjectBuilder builder(arena);
  builder.Append("data", Value::BytesRef("hello"));
  std::string written;
  ASSERT_TRUE(AppendCbor(written, builder.Build()).has_value());
  EXPECT_EQ(Hex(written), "d9d9f7a14464617461d64568656c6c6f");
  EXPECT_EQ(ParseCbor(arena, written)->Get("data").AsString(), "aGVsbG8=");
}

TEST(CborTest, TimesBecomeText) {
  Arena arena;
  EXPECT_EQ(ParseCbor(arena, internal::FromHex("c074323031332d30332d32315432303a30343a30305a"))->AsString(), "2013-03-21T20:04:00Z");
  EXPECT_EQ(ParseCbor(arena, internal::FromHex("c11a514b67b0"))->AsString(), "2013-03-21T20:04:00Z");
  EXPECT_EQ(ParseCbor(arena, internal::FromHex("c1fb41d452d9ec200000"))->AsString(), "2013-03-21T20:04:00.5Z");
}

TEST(CborTest, Refuses) {
  using internal::FromHex;
  const std::pair<std::string, const char*> cases[] = {
      {"", "EOF"},
      {FromHex("a1"), "unexpected EOF"},
      {FromHex("9affffffff"), "unexpected EOF"},
      {FromHex("5bffffffffffffffff"), "unexpected EOF"},
      {FromHex("0000"), "cbor: 1 bytes of extraneous data starting at index 1"},
      {FromHex("a2416100416101"), "cbor: found duplicate map key \"a\""},
      {FromHex("a10000"), "cbor: cannot use a value that is no string as a map key"},
      {FromHex("61ff"), "cbor: invalid UTF-8 string"},
      {FromHex("f97e00"), "cbor: NaN is not allowed"},
      {FromHex("f97c00"), "cbor: infinity is not allowed"},
      {FromHex("f7"), "cbor: simple value 23 is not recognized"},
      {FromHex("c24101"), "cbor: bignum is not allowed"},
      {FromHex("ff"), "cbor: unexpected \"break\" code"},
      {FromHex("bf4161ff"), "cbor: unexpected \"break\" code"},
      {FromHex("1bffffffffffffffff"), "cbor: integer overflows Go's int64"},
      {FromHex("1c"), "cbor: invalid additional information 28 for type 0"},
  };
  for (const auto& [data, message] : cases) EXPECT_EQ(Message(data), message) << Hex(data);
}

TEST(CborTest, DepthIsBounded) {
  for (char opening : {'\x81', '\x9f', '\xc5'}) {
    EXPECT_EQ(Message(std::string(2000000, opening)), "cbor: exceeded max nested level 10000");
  }
  std::string arrays(9999, '\x81');
  arrays += '\x80';
  EXPECT_EQ(Message(arrays), "ok");
  std::string maps;
  for (int i = 0; i < 20000; ++i) maps += "\xa1\x41\x61";
  EXPECT_EQ(Message(maps), "cbor: exceeded max nested level 10000");
}

TEST(CborTest, DoesNotWriteWhatIsNoNumber) {
  std::string out = "before";
  EXPECT_FALSE(AppendCbor(out, Value::Double(std::numeric_limits<double>::quiet_NaN())).has_value());
  EXPECT_EQ(out, "before");
}

}  // namespace
}  // namespace homeostat::object
