#include "homeostat/base/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace homeostat {
namespace {

// Empty with a test failure if it isn't one whole gzip member of that size.
std::string Unpacked(std::string_view packed, size_t size) {
  std::string out(size + 1, '\0');  // never empty, for zlib
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  EXPECT_EQ(stream.avail_out, 1u);
  inflateEnd(&stream);
  out.resize(size);
  return out;
}

TEST(Gzip, ComesBack) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "{\"number\":" + std::to_string(i * 7919L % 10007) + "},";
  for (const std::string& bytes : {std::string(), std::string("a"), std::string(100000, '\0'), text}) {
    EXPECT_TRUE(Unpacked(Gzip(bytes), bytes.size()) == bytes) << bytes.size();
  }
  EXPECT_LT(Gzip(text).size(), text.size() / 3);
}

}  // namespace
}  // namespace homeostat
