#include "homeostat/base/host_port.h"

namespace homeostat {

std::string JoinHostPort(std::string_view host, std::string_view port) {
  std::string out;
  if (host.find(':') != std::string_view::npos) {
    out.append("[").append(host).append("]");
  } else {
    out.append(host);
  }
  return out.append(":").append(port);
}

std::string JoinHostPort(std::string_view host, int64_t port) { return JoinHostPort(host, std::to_string(port)); }

}  // namespace homeostat
