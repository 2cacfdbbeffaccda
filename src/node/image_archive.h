// Image archives: container images written as the tar files that `docker save` writes and every runtime imports.
//
// Pure, and the same bytes for the same input: no times, users or file system order get in. The image has one layer.
//
// Source of the format: the image specification v1.2's combined tar (manifest.json, config, layer.tar).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace homeostat::node {

// One entry of the layer. Owned by root.
struct ImageFile {
  enum class Type : uint8_t { kFile, kDirectory, kSymlink };
  Type type = Type::kFile;
  std::string path;         // without a leading slash; at most 255 bytes, splittable as ustar demands
  uint32_t mode = 0644;
  std::string content;      // of a file; the target of a link
};

struct ImageDescription {
  std::vector<std::string> names;       // full references, e.g. docker.io/local/web:1
  std::vector<std::string> entrypoint, command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<int> ports;               // exposed TCP ports
  std::string user, working_directory;
  std::string architecture = "amd64";   // Go's name of the processor
};

// Go's name of the processor this program was compiled for.
std::string BuildArchitecture();

std::string MakeImageArchive(const ImageDescription& image, const std::vector<ImageFile>& files);

// A tar (ustar) of the files, in the order given.
std::string MakeTar(const std::vector<ImageFile>& files);

// Hexadecimal SHA-256.
std::string Sha256(const std::string& data);

}  // namespace homeostat::node
