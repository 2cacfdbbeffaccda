#include "homeostat/object/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace homeostat::object {
namespace {

std::string Hex(std::string_view digits) {
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

TEST(WireTest, VarintsRoundTrip) {
  std::vector<uint64_t> values = {0, 1, 127, 128, 300, 16383, 16384, std::numeric_limits<uint64_t>::max(),
                                  static_cast<uint64_t>(int64_t{-1}), uint64_t{1} << 63};
  for (int bit = 0; bit < 64; ++bit) values.push_back(uint64_t{1} << bit);
  for (uint64_t value : values) {
    std::string forward;
    AppendVarintField(forward, 3, value);
    EXPECT_EQ(forward.size(), 1 + VarintSize(value));
    WireWriter writer;
    writer.VarintField(3, value);
    EXPECT_EQ(writer.view(), forward);
    WireReader reader(forward);
    ASSERT_TRUE(reader.Next());
    EXPECT_EQ(reader.field(), 3u);
    EXPECT_EQ(reader.Varint(), value);
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.ok());
  }
}

TEST(WireTest, NestedMessagesAreWrittenBackwards) {
  WireWriter writer;
  size_t outer = writer.size();
  writer.DoubleField(9, 1.5);
  writer.Field(3, std::string(200, 'x'));
  size_t inner = writer.size();
  writer.VarintField(2, 150);
  writer.Field(1, "testing");
  writer.Message(2, inner);
  writer.Message(1, outer);
  std::string bytes = std::move(writer).Take();

  WireReader top(bytes);
  ASSERT_TRUE(top.Next());
  WireReader reader(top.Bytes());
  EXPECT_FALSE(top.Next());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 2u);
  WireReader nested(reader.Bytes());
  ASSERT_TRUE(nested.Next());
  EXPECT_EQ(nested.Bytes(), "testing");
  ASSERT_TRUE(nested.Next());
  EXPECT_EQ(nested.Varint(), 150u);
  EXPECT_FALSE(nested.Next());
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Bytes(), std::string(200, 'x'));
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Double(), 1.5);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok() && nested.ok() && top.ok());
}

struct BadCase {
  const char* hex;
  const char* message;
};

// What the generated Go code says to the same bytes (field 1 is a string, all else is skipped).
TEST(WireTest, FaultsAreFoundAndNamed) {
  const BadCase cases[] = {
      {"0a", "unexpected EOF"},
      {"0a05616263", "unexpected EOF"},
      {"80", "unexpected EOF"},
      {"ffffffffffffffffffffff", "proto: integer overflow"},
      {"0affffffffffffffffff01", "proto: negative length found during unmarshaling"},
      {"0affffffffffffffff7f", "unexpected EOF"},
      {"0801", "proto: wrong wireType = 0 for field Name"},
      {"0c", "proto: Pod: wiretype end group for non-group"},
      {"02", "proto: Pod: illegal tag 0 (wire type 2)"},
      {"16", "proto: illegal wireType 6"},
      {"17", "proto: illegal wireType 7"},
      {"11010203", "unexpected EOF"},
      {"15010203", "unexpected EOF"},
      {"13", "unexpected EOF"},
      {"1317", "proto: illegal wireType 7"},
  };
  for (const BadCase& bad : cases) {
    std::string bytes = Hex(bad.hex);
    WireReader reader(bytes, "Pod");
    while (reader.Next()) {
      if (reader.field() == 1) {
        if (reader.Expect(WireType::kLength, "Name")) reader.Bytes();
      } else {
        reader.Skip();
      }
    }
    ASSERT_FALSE(reader.status().has_value()) << bad.hex;
    EXPECT_EQ(reader.status().error().message(), bad.message) << bad.hex;
    EXPECT_EQ(reader.status().error().code(), 400);
  }
}

TEST(WireTest, SkipsEveryTypeAndDeepGroups) {
  std::string bytes = Hex("1001") + Hex("190102030405060708") + Hex("2203616263") + Hex("2d01020304");
  for (int i = 0; i < 1000000; ++i) bytes += '\x33';
  bytes += Hex("1001");
  for (int i = 0; i < 1000000; ++i) bytes += '\x34';
  AppendLengthField(bytes, 1, "end");
  WireReader reader(bytes);
  std::string name;
  while (reader.Next()) {
    if (reader.field() == 1) {
      name = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(name, "end");
}

TEST(EnvelopeTest, IsUpstreamsBytes) {
  std::string expected = Hex("6b3873000a0a0a0276311204") + "Node" + Hex("120461626364") + Hex("1a002200");
  std::string forward;
  AppendProtobufEnvelope(forward, {.api_version = "v1", .kind = "Node", .raw = "abcd"});
  EXPECT_EQ(forward, expected);
  WireWriter writer;
  size_t mark = BeginProtobufEnvelope(writer);
  writer.Raw("abcd");
  EndProtobufEnvelope(writer, mark, "v1", "Node");
  EXPECT_EQ(writer.view(), expected);

  Result<ProtobufEnvelope> parsed = ParseProtobufEnvelope(expected);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->api_version, "v1");
  EXPECT_EQ(parsed->kind, "Node");
  EXPECT_EQ(parsed->raw, "abcd");
  EXPECT_EQ(parsed->content_type, "");
}

TEST(EnvelopeTest, RefusesWhatIsNone) {
  EXPECT_EQ(ParseProtobufEnvelope("").error().message(), "empty data");
  EXPECT_EQ(ParseProtobufEnvelope(kProtobufPrefix).error().message(), "empty body");
  EXPECT_EQ(ParseProtobufEnvelope("{}").error().message(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  EXPECT_EQ(ParseProtobufEnvelope(Hex("6b387300") + Hex("0a050a09")).error().message(), "unexpected EOF");
  EXPECT_EQ(ParseProtobufEnvelope(Hex("6b387300") + Hex("0a020a09")).error().message(), "unexpected EOF");
}

}  // namespace
}  // namespace homeostat::object
