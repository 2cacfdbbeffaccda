#include "kinds/core/image_reference.h"

#include <algorithm>

namespace homeostat::kinds {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsAlphanumeric(char c) { return IsDigit(c) || IsLower(c) || (c >= 'A' && c <= 'Z'); }
bool IsWord(char c) { return IsAlphanumeric(c) || c == '_'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Lower-case alphanumerics, joined by one dot, one or two underscores, or any number of hyphens.
bool IsPathComponent(std::string_view text) {
  size_t at = 0;
  auto word = [&] {
    size_t start = at;
    while (at < text.size() && (IsLower(text[at]) || IsDigit(text[at]))) ++at;
    return at > start;
  };
  if (!word()) return false;
  while (at < text.size()) {
    char separator = text[at];
    size_t start = at;
    while (at < text.size() && text[at] == separator) ++at;
    size_t count = at - start;
    if (!(separator == '.' && count == 1) && !(separator == '_' && count <= 2) && separator != '-') return false;
    if (!word()) return false;
  }
  return true;
}

bool IsPath(std::string_view path) {
  while (true) {
    size_t slash = path.find('/');
    if (!IsPathComponent(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool IsHostLabel(std::string_view label) {
  return !label.empty() && IsAlphanumeric(label.front()) && IsAlphanumeric(label.back()) &&
         std::ranges::all_of(label, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

// A host name or a bracketed IPv6 address, and a port.
bool IsDomain(std::string_view domain) {
  if (domain.starts_with('[')) {
    size_t end = domain.find(']');
    if (end == domain.npos || !std::ranges::all_of(domain.substr(1, end - 1), [](char c) { return IsHex(c) || c == ':'; })) return false;
    domain = domain.substr(end + 1);
    return domain.empty() || (domain.front() == ':' && domain.size() > 1 && std::ranges::all_of(domain.substr(1), IsDigit));
  }
  size_t colon = domain.find(':');
  if (colon != domain.npos) {
    std::string_view port = domain.substr(colon + 1);
    if (port.empty() || !std::ranges::all_of(port, IsDigit)) return false;
    domain = domain.substr(0, colon);
  }
  while (true) {
    size_t dot = domain.find('.');
    if (!IsHostLabel(domain.substr(0, dot))) return false;
    if (dot == domain.npos) return true;
    domain.remove_prefix(dot + 1);
  }
}

bool IsTag(std::string_view tag) {
  return !tag.empty() && tag.size() <= 128 && IsWord(tag.front()) &&
         std::ranges::all_of(tag, [](char c) { return IsWord(c) || c == '.' || c == '-'; });
}

// algorithm:hex, the algorithm of parts joined by one of + . - _
bool IsDigest(std::string_view digest) {
  size_t colon = digest.find(':');
  if (colon == 0 || colon == digest.npos) return false;
  bool after_separator = true;
  for (char c : digest.substr(0, colon)) {
    bool separator = c == '+' || c == '.' || c == '-' || c == '_';
    if (!separator && (!IsAlphanumeric(c) || (after_separator && IsDigit(c)))) return false;
    if (separator && after_separator) return false;
    after_separator = separator;
  }
  std::string_view hex = digest.substr(colon + 1);
  if (after_separator || hex.size() < 32 || !std::ranges::all_of(hex, IsHex)) return false;
  std::string_view algorithm = digest.substr(0, colon);
  size_t wanted = algorithm == "sha256" ? 64 : algorithm == "sha384" ? 96 : algorithm == "sha512" ? 128 : 0;
  return wanted == hex.size();
}

}  // namespace

std::string_view ImageTag(std::string_view image) {
  if (image.size() == 64 && std::ranges::all_of(image, [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); })) return {};
  std::string_view rest = image, digest, tag;
  bool has_digest = false, has_tag = false;
  if (size_t at = rest.find('@'); at != rest.npos) {
    digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
    has_digest = true;
  }
  size_t slash = rest.rfind('/');
  if (size_t colon = rest.rfind(':'); colon != rest.npos && (slash == rest.npos || colon > slash)) {
    tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    has_tag = true;
  }
  // The first part is a domain if it looks like one; else it belongs to the path.
  if (size_t first = rest.find('/'); first != rest.npos) {
    std::string_view head = rest.substr(0, first);
    bool upper = std::ranges::any_of(head, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (head.find_first_of(".:") != head.npos || head == "localhost" || upper) {
      if (!IsDomain(head)) return {};
      rest.remove_prefix(first + 1);
    }
  }
  if (rest.empty() || rest.size() > 255 || !IsPath(rest)) return {};
  if ((has_tag && !IsTag(tag)) || (has_digest && !IsDigest(digest))) return {};
  if (has_tag) return tag;
  return has_digest ? std::string_view() : std::string_view("latest");
}

}  // namespace homeostat::kinds
