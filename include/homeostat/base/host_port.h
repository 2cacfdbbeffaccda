// JoinHostPort: an address as URLs and sockets have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace homeostat {

// host:port, with brackets around an IPv6 address: "10.96.0.1:80", "[fd00::1]:80", "web.example:80".
std::string JoinHostPort(std::string_view host, std::string_view port);
std::string JoinHostPort(std::string_view host, int64_t port);

}  // namespace homeostat
