// URLs as Go's net/url reads them, with its messages.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace homeostat::cel {

struct Url {
  std::string scheme, opaque, host, path, raw_path, raw_query, fragment;
  std::string user_info;  // as written
  bool has_user = false, force_query = false, omit_host = false;

  std::string Hostname() const;
  std::string Port() const;
  std::string EscapedPath() const;
  std::string ToString() const;
  // In the order of their first appearance.
  std::vector<std::pair<std::string, std::vector<std::string>>> Query() const;
};

// As url.Parse does. The error is Go's message: parse "TEXT": WHY.
std::expected<Url, std::string> ReadUrl(std::string_view text);
// As url.ParseRequestURI and then url.Parse do.
std::expected<Url, std::string> ParseRequestUrl(std::string_view text);

}  // namespace homeostat::cel
