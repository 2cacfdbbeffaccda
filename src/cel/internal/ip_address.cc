#include "cel/internal/ip_address.h"

#include <algorithm>
#include <charconv>

#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"

namespace homeostat::cel::internal {

namespace {

using Unparsed = std::unexpected<std::string>;

Unparsed Bad(std::string_view text, std::string_view message, std::string_view at = {}) {
  std::string error = "ParseAddr(" + GoQuote(text) + "): " + std::string(message);
  if (!at.empty()) error += " (at " + GoQuote(at) + ")";
  return Unparsed(std::move(error));
}

// Four decimal fields. text: the whole, for messages.
std::expected<void, std::string> ParseV4Fields(std::string_view text, std::string_view fields, uint8_t* octets) {
  int value = 0, position = 0, digits = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    char c = fields[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return Bad(text, "IPv4 field has octet with leading zero");
      value = value * 10 + c - '0';
      ++digits;
      if (value > 255) return Bad(text, "IPv4 field has value >255");
    } else if (c == '.') {
      if (i == 0 || i == fields.size() - 1 || fields[i - 1] == '.') {
        return Bad(text, "IPv4 field must have at least one digit", fields.substr(i));
      }
      if (position == 3) return Bad(text, "IPv4 address too long");
      octets[position++] = static_cast<uint8_t>(value);
      value = digits = 0;
    } else {
      return Bad(text, "unexpected character", fields.substr(i));
    }
  }
  if (position < 3) return Bad(text, "IPv4 address too short");
  octets[3] = static_cast<uint8_t>(value);
  return {};
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
  return -1;
}

std::expected<NetAddress, std::string> ParseV6(std::string_view text) {
  NetAddress address;
  std::string_view rest = text;
  if (size_t percent = rest.find('%'); percent != std::string_view::npos) {
    address.zone = std::string(rest.substr(percent + 1));
    rest = rest.substr(0, percent);
    if (address.zone.empty()) return Bad(text, "zone must be a non-empty string");
  }
  std::string_view whole = rest;
  int ellipsis = -1;
  if (rest.starts_with("::")) {
    ellipsis = 0;
    rest.remove_prefix(2);
    if (rest.empty()) return address;
  }
  int i = 0;
  while (i < 16) {
    size_t digits = 0;
    uint32_t value = 0;
    for (; digits < rest.size() && HexValue(rest[digits]) >= 0; ++digits) {
      value = value << 4 | static_cast<uint32_t>(HexValue(rest[digits]));
      if (digits > 3) return Bad(text, "each group must have 4 or less digits", rest);
    }
    if (digits == 0) return Bad(text, "each colon-separated field must have at least one digit", rest);
    if (digits < rest.size() && rest[digits] == '.') {
      if (ellipsis < 0 && i != 12) return Bad(text, "embedded IPv4 address must replace the final 2 fields of the address", rest);
      if (i + 4 > 16) {
        return Bad(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest);
      }
      auto parsed = ParseV4Fields(text, whole.substr(whole.size() - rest.size()), &address.octets[static_cast<size_t>(i)]);
      if (!parsed) return Unparsed(parsed.error());
      rest = {};
      i += 4;
      break;
    }
    address.octets[static_cast<size_t>(i++)] = static_cast<uint8_t>(value >> 8);
    address.octets[static_cast<size_t>(i++)] = static_cast<uint8_t>(value);
    rest.remove_prefix(digits);
    if (rest.empty()) break;
    if (rest[0] != ':') return Bad(text, "unexpected character, want colon", rest);
    if (rest.size() == 1) return Bad(text, "colon must be followed by more characters", rest);
    rest.remove_prefix(1);
    if (rest[0] == ':') {
      if (ellipsis >= 0) return Bad(text, "multiple :: in address", rest);
      ellipsis = i;
      rest.remove_prefix(1);
      if (rest.empty()) break;
    }
  }
  if (!rest.empty()) return Bad(text, "trailing garbage after address", rest);
  if (i < 16) {
    if (ellipsis < 0) return Bad(text, "address string too short");
    auto begin = address.octets.begin();
    std::move_backward(begin + ellipsis, begin + i, address.octets.end());
    std::fill(begin + ellipsis, begin + ellipsis + 16 - i, uint8_t{0});
  } else if (ellipsis >= 0) {
    return Bad(text, "the :: must expand to at least one field of zeros");
  }
  return address;
}

}  // namespace

bool NetAddress::IsV4Mapped() const {
  if (v4) return false;
  return std::all_of(octets.begin(), octets.begin() + 10, [](uint8_t o) { return o == 0; }) && octets[10] == 0xFF && octets[11] == 0xFF;
}

std::string NetAddress::ToString() const {
  object::IpAddress address;
  if (v4) {
    address.octets[10] = address.octets[11] = 0xFF;
    std::copy(octets.begin(), octets.begin() + 4, address.octets.begin() + 12);
    return address.ToString();
  }
  address.octets = octets;
  return (IsV4Mapped() ? "::ffff:" : "") + address.ToString() + (zone.empty() ? "" : "%" + zone);
}

NetPrefix NetPrefix::Masked() const {
  NetPrefix masked = *this;
  for (int bit = length; bit < address.bits(); ++bit) {
    masked.address.octets[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
  }
  return masked;
}

bool NetPrefix::Contains(const NetAddress& other) const {
  if (other.v4 != address.v4 || !other.zone.empty()) return false;
  return NetPrefix{other, length}.Masked().address == Masked().address;
}

std::expected<NetAddress, std::string> ParseNetAddress(std::string_view text) {
  size_t mark = text.find_first_of(".:%");
  if (mark == std::string_view::npos) return Bad(text, "unable to parse IP");
  if (text[mark] == '%') return Bad(text, "missing IPv6 address");
  if (text[mark] == ':') return ParseV6(text);
  NetAddress address;
  address.v4 = true;
  auto parsed = ParseV4Fields(text, text, address.octets.data());
  if (!parsed) return Unparsed(parsed.error());
  return address;
}

std::expected<NetPrefix, std::string> ParseNetPrefix(std::string_view text) {
  auto bad = [&](const std::string& message) { return Unparsed("netip.ParsePrefix(" + GoQuote(text) + "): " + message); };
  size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return bad("no '/'");
  auto address = ParseNetAddress(text.substr(0, slash));
  if (!address) return bad(address.error());
  if (!address->zone.empty()) return bad("IPv6 zones cannot be present in a prefix");
  std::string_view bits = text.substr(slash + 1);
  NetPrefix prefix{*address, 0};
  auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), prefix.length);
  bool leading = bits.size() > 1 && (bits[0] < '1' || bits[0] > '9');
  bool unread = bits.empty() || end != bits.data() + bits.size() || error != std::errc();
  if (leading || unread) return bad("bad bits after slash: " + GoQuote(bits));
  if (prefix.length < 0 || prefix.length > prefix.address.bits()) return bad("prefix length out of range");
  return prefix;
}

}  // namespace homeostat::cel::internal
