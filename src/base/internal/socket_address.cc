#include "base/internal/socket_address.h"
#include "homeostat/base/host_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

namespace homeostat::base_internal {

Result<HostPort> SplitHostPort(std::string_view address) {
  size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return Fail(SystemError("address " + std::string(address) + ": missing port in address"));
  }
  std::string_view host = address.substr(0, colon), port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Fail(SystemError("address " + std::string(address) + ": too many colons in address"));
  }
  unsigned value = 0;
  for (char c : port) value = c >= '0' && c <= '9' && value < 65536 ? value * 10 + static_cast<unsigned>(c - '0') : 65536;
  if (port.empty() || value > 65535) return Fail(SystemError("address " + std::string(address) + ": invalid port"));
  return HostPort{std::string(host), std::string(port)};
}

std::string_view UnixPath(std::string_view address) {
  if (!address.starts_with("unix:")) return {};
  address.remove_prefix(5);
  if (address.starts_with("//")) address.remove_prefix(2);
  return address;
}

std::string SocketAddress::Text() const {
  if (family() == AF_UNIX) {
    const auto& unix_address = reinterpret_cast<const sockaddr_un&>(storage);
    size_t length = size > offsetof(sockaddr_un, sun_path) ? size - offsetof(sockaddr_un, sun_path) : 0;
    return "unix:" + std::string(unix_address.sun_path, strnlen(unix_address.sun_path, length));
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(get(), size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) return {};
  std::string_view text = host;
  // An IPv4 client of a socket that serves both families is known by its IPv4 address.
  if (text.starts_with("::ffff:") && text.find('.') != std::string_view::npos) text.remove_prefix(7);
  return JoinHostPort(text, port);
}

Result<SocketAddress> UnixAddress(std::string_view path) {
  SocketAddress address;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof unix_address.sun_path) {
    return Fail(SystemError("unix:" + std::string(path) + ": a socket's path has 1 to 107 bytes"));
  }
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, path.data(), path.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

Result<std::vector<SocketAddress>> ResolveAddress(const HostPort& address, bool numeric_only) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric_only ? AI_NUMERICHOST : AI_ADDRCONFIG) | (address.host.empty() ? AI_PASSIVE : 0);
  if (address.host.empty()) hints.ai_family = AF_INET6;  // serves both families
  addrinfo* found = nullptr;
  int error = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    const char* why = error == EAI_NONAME ? "no such host" : gai_strerror(error);
    return Fail(SystemError("lookup " + address.host + ": " + why));
  }
  std::vector<SocketAddress> out;
  for (addrinfo* next = found; next != nullptr; next = next->ai_next) {
    SocketAddress& entry = out.emplace_back();
    std::memcpy(&entry.storage, next->ai_addr, next->ai_addrlen);
    entry.size = next->ai_addrlen;
  }
  freeaddrinfo(found);
  return out;
}

}  // namespace homeostat::base_internal
