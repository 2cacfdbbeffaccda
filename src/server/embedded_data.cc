#include "server/embedded_data.h"

// The assembler reads the file into the read-only section; HOMEOSTAT_SERVER_DATA is its folder.
asm(".section .rodata\n"
    "homeostat_bootstrap_objects_begin:\n"
    ".incbin \"" HOMEOSTAT_SERVER_DATA "/bootstrap_objects.json\"\n"
    "homeostat_bootstrap_objects_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char homeostat_bootstrap_objects_begin[];
extern const char homeostat_bootstrap_objects_end[];
}

namespace homeostat::server {

std::string_view BootstrapObjects() {
  return {homeostat_bootstrap_objects_begin,
          static_cast<size_t>(homeostat_bootstrap_objects_end - homeostat_bootstrap_objects_begin)};
}

}  // namespace homeostat::server
