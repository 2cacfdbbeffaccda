// homeostat-image: writes an image tar from files, without a container builder.
//
//   homeostat-image OUTPUT.tar --name REFERENCE [--name …] [--entrypoint ARG]… [--env NAME=VALUE]… [--port N]…
//                   [--user UID] [--file SOURCE:PATH:MODE]… [--text TEXT:PATH]… [--link PATH:TARGET]… [--dir PATH:MODE]…
//
// Entries of the layer are sorted by path, so that the same input gives the same bytes.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "node/image_archive.h"

namespace {

using homeostat::node::ImageDescription;
using homeostat::node::ImageFile;

[[noreturn]] void Die(const std::string& message) {
  std::cerr << "homeostat-image: " << message << "\n";
  std::exit(1);
}

std::vector<std::string> Split(const std::string& text, size_t parts) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end; out.size() + 1 < parts && (end = text.find(':', begin)) != std::string::npos; begin = end + 1) {
    out.push_back(text.substr(begin, end - begin));
  }
  out.push_back(text.substr(begin));
  if (out.size() != parts) Die("expected " + std::to_string(parts) + " parts in '" + text + "'");
  return out;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Die("can't read " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

uint32_t Mode(const std::string& text) { return static_cast<uint32_t>(std::stoul(text, nullptr, 8)); }

void AddFile(const std::string& option, const std::string& value, std::vector<ImageFile>& files) {
  using Type = ImageFile::Type;
  if (option == "--file") {
    std::vector<std::string> part = Split(value, 3);
    files.push_back({Type::kFile, part[1], Mode(part[2]), ReadFile(part[0])});
  } else if (option == "--text") {
    size_t colon = value.rfind(':');
    if (colon == std::string::npos) Die("--text needs TEXT:PATH");
    files.push_back({Type::kFile, value.substr(colon + 1), 0644, value.substr(0, colon) + "\n"});
  } else if (option == "--link") {
    std::vector<std::string> part = Split(value, 2);
    files.push_back({Type::kSymlink, part[0], 0777, part[1]});
  } else if (option == "--dir") {
    std::vector<std::string> part = Split(value, 2);
    files.push_back({Type::kDirectory, part[0], Mode(part[1]), ""});
  } else {
    Die("unknown option " + option);
  }
}

void Apply(const std::string& option, const std::string& value, ImageDescription& image, std::vector<ImageFile>& files) {
  if (option == "--name") {
    image.names.push_back(value);
  } else if (option == "--entrypoint") {
    image.entrypoint.push_back(value);
  } else if (option == "--env") {
    size_t equals = value.find('=');
    if (equals == std::string::npos) Die("--env needs NAME=VALUE");
    image.environment.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  } else if (option == "--port") {
    image.ports.push_back(std::stoi(value));
  } else if (option == "--user") {
    image.user = value;
  } else {
    AddFile(option, value, files);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) Die("usage: homeostat-image OUTPUT.tar (--OPTION VALUE)…");
  ImageDescription image;
  image.architecture = homeostat::node::BuildArchitecture();
  std::vector<ImageFile> files;
  for (int i = 2; i + 1 < argc; i += 2) Apply(argv[i], argv[i + 1], image, files);
  std::stable_sort(files.begin(), files.end(), [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
  std::ofstream out(argv[1], std::ios::binary | std::ios::trunc);
  std::string archive = homeostat::node::MakeImageArchive(image, files);
  out.write(archive.data(), static_cast<std::streamsize>(archive.size()));
  out.close();
  if (!out) Die(std::string("can't write ") + argv[1]);
  return 0;
}
