#include "server/compression.h"

#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class CompressionTest : public internal::TestServer {};

TEST(NamesGzip, KnowsTheTokenAlone) {
  for (const char* takes : {"gzip", "deflate, gzip", " gzip ,br", "gzip,gzip;q=0"}) EXPECT_TRUE(NamesGzip(takes)) << takes;
  for (const char* refuses : {"", "deflate", "gzip;q=1", "*", "x-gzip", "GZIP"}) EXPECT_FALSE(NamesGzip(refuses)) << refuses;
}

TEST_F(CompressionTest, LargeAnswersAreCompressedForThoseWhoTakeIt) {
  std::string text(100'000, 'x');
  for (const char* name : {"a", "b"}) {
    Ask("POST", "/api/v1/namespaces/default/configmaps", std::string(R"({"metadata":{"name":")") + name + R"("},"data":{"k":")" + text + R"("}})");
  }
  auto encoding = [&](std::string target, std::vector<std::string> headers) {
    return std::string(Ask("GET", std::move(target), "", std::move(headers)).headers.Get("Content-Encoding"));
  };
  EXPECT_EQ(encoding("/api/v1/configmaps", {"Accept-Encoding: gzip"}), "gzip");
  EXPECT_EQ(encoding("/api/v1/configmaps", {}), "");
  EXPECT_EQ(encoding("/api/v1/configmaps", {"Accept-Encoding: br"}), "");
  EXPECT_EQ(encoding("/api/v1/namespaces/default/configmaps/a", {"Accept-Encoding: gzip"}), "");
}

}  // namespace
}  // namespace homeostat::server
