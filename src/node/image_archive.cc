#include "node/image_archive.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstring>
#include <string_view>

namespace homeostat::node {

namespace {

constexpr size_t kBlock = 512;

// The fields of a ustar header, by offset and size.
struct HeaderWriter {
  char block[kBlock] = {};
  void Text(size_t offset, size_t size, std::string_view text) {
    std::memcpy(block + offset, text.data(), std::min(size, text.size()));
  }
  // Zero-padded octal with a NUL at the end.
  void Octal(size_t offset, size_t size, uint64_t value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%0*llo", static_cast<int>(size - 1), static_cast<unsigned long long>(value));
    Text(offset, size, digits);
  }
  // The sum of all bytes, with the sum's own field as spaces.
  void Checksum() {
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (char c : block) sum += static_cast<unsigned char>(c);
    std::snprintf(block + 148, 8, "%06o", sum);
    block[155] = ' ';
  }
};

// Names over 100 bytes are split at a slash into prefix and name.
void SetName(HeaderWriter& header, std::string_view path) {
  if (path.size() <= 100) return header.Text(0, 100, path);
  size_t slash = path.find('/', path.size() - 101);
  if (slash == std::string_view::npos) return header.Text(0, 100, path);
  header.Text(345, 155, path.substr(0, slash));
  header.Text(0, 100, path.substr(slash + 1));
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string QuoteAll(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) {
    if (out.size() > 1) out += ',';
    out += Quote(item);
  }
  return out + "]";
}

std::string ConfigJson(const ImageDescription& image, const std::string& layer_digest) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : image.environment) environment.push_back(name + "=" + value);
  std::string ports;
  for (int port : image.ports) ports += (ports.empty() ? "" : ",") + Quote(std::to_string(port) + "/tcp") + ":{}";
  std::string config = "\"Env\":" + QuoteAll(environment) + ",\"Entrypoint\":" + QuoteAll(image.entrypoint) +
                       ",\"Cmd\":" + QuoteAll(image.command) + ",\"ExposedPorts\":{" + ports + "}";
  if (!image.user.empty()) config += ",\"User\":" + Quote(image.user);
  if (!image.working_directory.empty()) config += ",\"WorkingDir\":" + Quote(image.working_directory);
  return "{\"architecture\":" + Quote(image.architecture) + ",\"os\":\"linux\",\"created\":\"1970-01-01T00:00:00Z\"," +
         "\"config\":{" + config + "},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:" + layer_digest +
         "\"]},\"history\":[{\"created\":\"1970-01-01T00:00:00Z\"}]}";
}

}  // namespace

std::string BuildArchitecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__riscv)
  return "riscv64";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#else
  return "unknown";
#endif
}

std::string Sha256(const std::string& data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(data.data(), data.size(), digest, &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", digest[i]);
    hex += pair;
  }
  return hex;
}

std::string MakeTar(const std::vector<ImageFile>& files) {
  std::string tar;
  for (const ImageFile& file : files) {
    HeaderWriter header;
    bool directory = file.type == ImageFile::Type::kDirectory;
    SetName(header, directory && !file.path.ends_with('/') ? file.path + "/" : file.path);
    header.Octal(100, 8, file.mode);
    header.Octal(108, 8, 0);
    header.Octal(116, 8, 0);
    header.Octal(124, 12, file.type == ImageFile::Type::kFile ? file.content.size() : 0);
    header.Octal(136, 12, 0);
    header.block[156] = directory ? '5' : file.type == ImageFile::Type::kSymlink ? '2' : '0';
    if (file.type == ImageFile::Type::kSymlink) header.Text(157, 100, file.content);
    header.Text(257, 6, std::string_view("ustar\0", 6));
    header.Text(263, 2, "00");
    header.Checksum();
    tar.append(header.block, kBlock);
    if (file.type != ImageFile::Type::kFile) continue;
    tar += file.content;
    tar.append((kBlock - file.content.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  return tar;
}

std::string MakeImageArchive(const ImageDescription& image, const std::vector<ImageFile>& files) {
  std::string layer = MakeTar(files);
  std::string layer_digest = Sha256(layer);
  std::string config = ConfigJson(image, layer_digest);
  std::string config_name = Sha256(config) + ".json";
  std::string layer_name = layer_digest + "/layer.tar";
  std::string manifest = "[{\"Config\":" + Quote(config_name) + ",\"RepoTags\":" + QuoteAll(image.names) +
                         ",\"Layers\":[" + Quote(layer_name) + "]}]";
  using Type = ImageFile::Type;
  return MakeTar({{Type::kFile, config_name, 0644, std::move(config)},
                  {Type::kDirectory, layer_digest, 0755, ""},
                  {Type::kFile, layer_name, 0644, std::move(layer)},
                  {Type::kFile, "manifest.json", 0644, std::move(manifest)}});
}

}  // namespace homeostat::node
