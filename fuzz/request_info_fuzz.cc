// What a request line and an Accept header ask for.
#include <string_view>

#include "server/negotiation.h"
#include "server/request_info.h"

using namespace homeostat;          // NOLINT: a program of one file
using namespace homeostat::server;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The URL, and the header on the next line.
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t end = std::min(text.find('\n'), text.size()), mark = std::min(text.find('?'), end);
  http::Query query = http::Query::Parse(text.substr(std::min(mark + 1, end), end - std::min(mark + 1, end)));
  for (std::string_view method : {"GET", "DELETE"}) (void)ParseRequestInfo(method, "/" + std::string(text.substr(0, mark)), query);
  std::string_view header = text.substr(std::min(end + 1, text.size()));
  (void)NegotiateOutput(header, {});
  (void)NegotiateInput(header, {});
  return 0;
}
