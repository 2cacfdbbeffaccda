#include "server/compression.h"

#include <string>
#include <vector>

#include "homeostat/base/gzip.h"

namespace homeostat::server {
namespace {

constexpr int kFastest = 1;

std::string Joined(const std::vector<Bytes>& parts, size_t size) {
  std::string whole;
  whole.reserve(size);
  for (const Bytes& part : parts) whole += std::string_view(part);
  return whole;
}

}  // namespace

bool NamesGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    size_t comma = accept_encoding.find(',');
    std::string_view token = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == accept_encoding.npos ? accept_encoding.size() : comma + 1);
    while (!token.empty() && (token.front() == ' ' || token.front() == '\t')) token.remove_prefix(1);
    while (!token.empty() && (token.back() == ' ' || token.back() == '\t')) token.remove_suffix(1);
    if (token == "gzip") return true;
  }
  return false;
}

Task<http::Response> Compressed(Runtime& runtime, std::string_view accept_encoding, http::Response response) {
  size_t size = 0;
  for (const Bytes& part : response.body) size += part.size();
  if (size <= kCompressedFrom || response.stream != nullptr || response.headers.Has("Content-Encoding") || !NamesGzip(accept_encoding)) {
    co_return response;
  }
  std::move_only_function<std::string()> work = [parts = response.body, size] { return Gzip(Joined(parts, size), kFastest); };
  auto pack = RunOffLoop<std::string>(runtime, std::move(work));
  std::string packed = co_await std::move(pack);
  response.body.clear();
  response.body.emplace_back(std::move(packed));
  response.headers.Set("Content-Encoding", "gzip");
  response.headers.Add("Vary", "Accept-Encoding");
  co_return response;
}

}  // namespace homeostat::server
