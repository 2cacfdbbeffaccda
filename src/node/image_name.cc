#include "node/image_name.h"

#include "homeostat/base/text.h"
#include "node/errors.h"

namespace homeostat::node {

namespace {

constexpr size_t kLongestName = 255, kLongestTag = 128;

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

struct Parts {
  std::string_view registry, path, tag, digest;   // registry empty if there is none
};

// The first component is a registry if it looks like a host: with a dot or a port, or localhost.
Parts Split(std::string_view image) {
  Parts parts;
  if (size_t at = image.find('@'); at != std::string_view::npos) {
    parts.digest = image.substr(at + 1);
    image = image.substr(0, at);
  }
  size_t slash = image.find('/');
  if (slash != std::string_view::npos) {
    std::string_view first = image.substr(0, slash);
    if (first.find_first_of(".:") != std::string_view::npos || first == "localhost") {
      parts.registry = first;
      image.remove_prefix(slash + 1);
    }
  }
  if (size_t colon = image.rfind(':'); colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos) {
    parts.tag = image.substr(colon + 1);
    image = image.substr(0, colon);
  }
  parts.path = image;
  return parts;
}

// One component: runs of lower-case letters and digits, between them ".", "_", "__" or dashes.
bool IsComponent(std::string_view text) {
  if (text.empty() || !IsLower(text.front()) || !IsLower(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    if (IsLower(text[i])) {
      ++i;
      continue;
    }
    size_t run = i;
    while (run < text.size() && !IsLower(text[run])) ++run;
    std::string_view separator = text.substr(i, run - i);
    bool dashes = separator.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && separator != "." && separator != "_" && separator != "__") return false;
    i = run;
  }
  return true;
}

bool IsPath(std::string_view path) {
  for (;;) {
    size_t slash = path.find('/');
    if (!IsComponent(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool IsTag(std::string_view tag) {
  if (tag.empty() || tag.size() > kLongestTag || !(IsAlnum(tag[0]) || tag[0] == '_')) return false;
  return tag.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == std::string_view::npos;
}

bool IsDigest(std::string_view digest) {
  size_t colon = digest.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  std::string_view hex = digest.substr(colon + 1);
  return hex.size() >= 32 && hex.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsRegistry(std::string_view registry) {
  return !registry.empty() && registry.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") ==
                                  std::string_view::npos;
}

}  // namespace

Result<std::string> WithDefaultTag(std::string_view image) {
  auto bad = [&](const std::string& why) {
    return Fail(NodeError("couldn't parse image name " + GoQuote(image) + ": " + why));
  };
  Parts parts = Split(image);
  bool has_tag = image.substr(0, image.find('@')).ends_with(':') || !parts.tag.empty();
  std::string lower = LowerCase(parts.path);
  if (lower != parts.path && IsPath(lower)) {
    bool official = parts.registry.empty() && parts.path.find('/') == std::string_view::npos;
    return bad("invalid reference format: repository name (" + std::string(official ? "library/" : "") + std::string(parts.path) +
               ") must be lowercase");
  }
  if (!IsPath(parts.path) || (!parts.registry.empty() && !IsRegistry(parts.registry)) || (has_tag && !IsTag(parts.tag)) ||
      (image.find('@') != std::string_view::npos && !IsDigest(parts.digest))) {
    return bad("invalid reference format");
  }
  if (parts.path.size() > kLongestName) return bad("repository name must not be more than 255 characters");
  if (has_tag || !parts.digest.empty()) return std::string(image);
  return std::string(image) + ":latest";
}

std::string RegistryOf(std::string_view image) {
  std::string_view registry = Split(image).registry;
  return registry.empty() || registry == "index.docker.io" ? "docker.io" : std::string(registry);
}

std::string RepositoryOf(std::string_view image) {
  Parts parts = Split(image);
  std::string registry = RegistryOf(image), path(parts.path);
  if (registry == "docker.io" && path.find('/') == std::string::npos) path = "library/" + path;
  return registry + "/" + path;
}

}  // namespace homeostat::node
