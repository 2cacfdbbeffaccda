#include "node/pause_image.h"

#include "node/image_archive.h"

// The program's bytes, put into the read-only data as they are.
__asm__(
    ".pushsection .rodata\n"
    ".global homeostat_pause_begin\n"
    ".global homeostat_pause_end\n"
    "homeostat_pause_begin:\n"
    ".incbin \"" PAUSE_BINARY "\"\n"
    "homeostat_pause_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" const char homeostat_pause_begin[];
extern "C" const char homeostat_pause_end[];

namespace homeostat::node {

std::string PauseImageArchive() {
  ImageDescription image;
  image.names = {std::string(kPauseImage)};
  image.entrypoint = {"/pause"};
  image.architecture = BuildArchitecture();
  std::string program(homeostat_pause_begin, static_cast<size_t>(homeostat_pause_end - homeostat_pause_begin));
  return MakeImageArchive(image, {{ImageFile::Type::kFile, "pause", 0755, std::move(program)}});
}

}  // namespace homeostat::node
