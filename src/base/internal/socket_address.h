// Addresses as text and as the system's structures.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::base_internal {

struct HostPort {
  std::string host;  // without brackets; empty for ":6443", which means every address
  std::string port;
};
// "host:port", "[::1]:port", ":port".
Result<HostPort> SplitHostPort(std::string_view address);

// The path in "unix:/path" or "unix:///path"; empty for other addresses.
std::string_view UnixPath(std::string_view address);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  // "127.0.0.1:80", "[::1]:80" or "unix:/path".
  std::string Text() const;
};

Result<SocketAddress> UnixAddress(std::string_view path);
// Numeric addresses without asking anyone; names through the system's resolver, which may block when `numeric_only` is
// false. An empty host gives the wildcard address.
Result<std::vector<SocketAddress>> ResolveAddress(const HostPort& address, bool numeric_only);

}  // namespace homeostat::base_internal
