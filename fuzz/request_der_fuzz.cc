// Certificate requests: whatever the octets, there is an end, and what Go's reader takes is said without a fault.
#include <cstdint>
#include <string>
#include <string_view>

#include "kinds/certificates/request_der.h"

using namespace homeostat::kinds;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  RequestDerFault(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
