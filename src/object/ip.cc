#include "homeostat/object/ip.h"

#include <algorithm>
#include <cstdio>

#include "homeostat/base/text.h"

namespace homeostat::object {
namespace {

constexpr int kTooBig = 0xFFFFFF;

// A number at the front of the text, which it is taken from; -1 if there is none or it is far too large.
int TakeNumber(std::string_view& text, int base) {
  int number = 0;
  size_t digits = 0;
  for (; digits < text.size(); ++digits) {
    char c = text[digits];
    int digit = c >= '0' && c <= '9'                 ? c - '0'
                : base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10
                : base == 16 && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
    if (digit < 0) break;
    number = number * base + digit;
    if (number >= kTooBig) return -1;
  }
  text.remove_prefix(digits);
  return digits == 0 ? -1 : number;
}

// An address and whether each number was written as short as netip wants it.
struct Parsed {
  IpAddress address;
  bool written_as_v6 = false;
  bool strict = true;
};

bool ParseV4(std::string_view text, uint8_t* octets, bool& strict) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return false;
      text.remove_prefix(1);
    }
    std::string_view before = text;
    int number = TakeNumber(text, 10);
    if (number < 0 || number > 0xFF) return false;
    if (before.size() - text.size() > 1 && before.front() == '0') strict = false;
    octets[i] = static_cast<uint8_t>(number);
  }
  return text.empty();
}

// The groups of an IPv6 address as they are read; at most one gap stands for zeros.
class V6Reader {
 public:
  V6Reader(std::string_view text, Parsed& parsed) : text_(text), parsed_(parsed) {}

  bool Read() {
    if (text_.starts_with("::")) {
      gap_ = 0;
      text_.remove_prefix(2);
      if (text_.empty()) return true;
    }
    while (filled_ < 16) {
      if (!ReadGroup()) return false;
      if (text_.empty()) break;
      if (!text_.starts_with(':') || text_.size() == 1) return false;
      text_.remove_prefix(1);
      if (!text_.starts_with(':')) continue;
      if (gap_ >= 0) return false;
      gap_ = filled_;
      text_.remove_prefix(1);
      if (text_.empty()) break;
    }
    return text_.empty() && CloseGap();
  }

 private:
  bool ReadGroup() {
    std::string_view before = text_;
    int group = TakeNumber(text_, 16);
    if (group < 0 || group > 0xFFFF) return false;
    if (text_.starts_with('.')) return ReadTrailingV4(before);
    if (before.size() - text_.size() > 4) parsed_.strict = false;
    parsed_.address.octets[filled_] = static_cast<uint8_t>(group >> 8);
    parsed_.address.octets[filled_ + 1] = static_cast<uint8_t>(group);
    filled_ += 2;
    return true;
  }

  bool ReadTrailingV4(std::string_view text) {
    if ((gap_ < 0 && filled_ != 12) || filled_ + 4 > 16) return false;
    if (!ParseV4(text, parsed_.address.octets.data() + filled_, parsed_.strict)) return false;
    filled_ += 4;
    text_ = {};
    return true;
  }

  bool CloseGap() {
    if (filled_ == 16) return gap_ < 0;
    if (gap_ < 0) return false;
    auto& octets = parsed_.address.octets;
    std::move_backward(octets.begin() + gap_, octets.begin() + filled_, octets.end());
    std::fill_n(octets.begin() + gap_, 16 - filled_, uint8_t{0});
    return true;
  }

  std::string_view text_;
  Parsed& parsed_;
  int filled_ = 0;
  int gap_ = -1;
};

std::optional<Parsed> Parse(std::string_view text) {
  Parsed parsed;
  size_t separator = text.find_first_of(".:");
  if (separator == std::string_view::npos) return std::nullopt;
  if (text[separator] == '.') {
    parsed.address.octets[10] = parsed.address.octets[11] = 0xFF;
    if (!ParseV4(text, parsed.address.octets.data() + 12, parsed.strict)) return std::nullopt;
    return parsed;
  }
  parsed.written_as_v6 = true;
  if (!V6Reader(text, parsed).Read()) return std::nullopt;
  return parsed;
}

struct ParsedCidr {
  Cidr cidr;
  bool written_as_v6 = false;
  bool strict = true;
};

std::optional<ParsedCidr> ParseNetwork(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::optional<Parsed> address = Parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  std::string_view length = text.substr(slash + 1);
  bool strict = address->strict && (length.size() < 2 || length.front() != '0');
  int bits = TakeNumber(length, 10);
  if (bits < 0 || !length.empty() || bits > (address->written_as_v6 ? 128 : 32)) return std::nullopt;
  ParsedCidr parsed{{address->address, bits, !address->written_as_v6}, address->written_as_v6, strict};
  return parsed;
}

IpAddress ClearHostBits(IpAddress address, int bits_of_sixteen_octets) {
  for (int i = 0; i < 16; ++i) {
    int kept = std::clamp(bits_of_sixteen_octets - i * 8, 0, 8);
    address.octets[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xFF00 >> kept);
  }
  return address;
}

std::string V6ToString(const std::array<uint8_t, 16>& octets) {
  std::array<int, 8> groups{};
  for (size_t i = 0; i < 8; ++i) groups[i] = octets[i * 2] << 8 | octets[i * 2 + 1];
  // The longest run of two or more zero groups, the first of equal ones, is written as ::.
  size_t gap = 8, gap_length = 1;
  for (size_t i = 0; i < 8;) {
    size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > gap_length) {
      gap = i;
      gap_length = end - i;
    }
    i = std::max(end, i + 1);
  }
  std::string text;
  for (size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_length - 1;
      continue;
    }
    if (!text.empty() && !text.ends_with(':')) text += ':';
    char group[8];
    std::snprintf(group, sizeof(group), "%x", groups[i]);
    text += group;
  }
  return text;
}

}  // namespace

bool IpAddress::IsV4() const {
  return std::all_of(octets.begin(), octets.begin() + 10, [](uint8_t o) { return o == 0; }) && octets[10] == 0xFF &&
         octets[11] == 0xFF;
}

bool IpAddress::IsUnspecified() const {
  size_t first = IsV4() ? 12 : 0;
  return std::all_of(octets.begin() + static_cast<ptrdiff_t>(first), octets.end(), [](uint8_t o) { return o == 0; });
}

bool IpAddress::IsLoopback() const {
  if (IsV4()) return octets[12] == 127;
  return std::all_of(octets.begin(), octets.end() - 1, [](uint8_t o) { return o == 0; }) && octets[15] == 1;
}

bool IpAddress::IsLinkLocalUnicast() const {
  if (IsV4()) return octets[12] == 169 && octets[13] == 254;
  return octets[0] == 0xFE && (octets[1] & 0xC0) == 0x80;
}

bool IpAddress::IsLinkLocalMulticast() const {
  if (IsV4()) return octets[12] == 224 && octets[13] == 0 && octets[14] == 0;
  return octets[0] == 0xFF && (octets[1] & 0x0F) == 0x02;
}

bool IpAddress::IsMulticast() const { return IsV4() ? (octets[12] & 0xF0) == 0xE0 : octets[0] == 0xFF; }

std::string IpAddress::ToString() const {
  if (!IsV4()) return V6ToString(octets);
  char text[16];
  std::snprintf(text, sizeof(text), "%u.%u.%u.%u", octets[12], octets[13], octets[14], octets[15]);
  return text;
}

IpAddress Cidr::Network() const { return ClearHostBits(address, v4 ? prefix_length + 96 : prefix_length); }

bool Cidr::Contains(const IpAddress& ip) const {
  if (ip.IsV4() != Network().IsV4()) return false;
  return ClearHostBits(ip, v4 ? prefix_length + 96 : prefix_length) == Network();
}

std::string Cidr::ToString() const {
  IpAddress network = Network();
  int length = !v4 && network.IsV4() ? prefix_length - 96 : prefix_length;
  return network.ToString() + "/" + std::to_string(length);
}

std::optional<IpAddress> ParseIp(std::string_view text) {
  std::optional<Parsed> parsed = Parse(text);
  if (!parsed) return std::nullopt;
  return parsed->address;
}

std::optional<Cidr> ParseCidr(std::string_view text) {
  std::optional<ParsedCidr> parsed = ParseNetwork(text);
  if (!parsed) return std::nullopt;
  return parsed->cidr;
}

Messages IsValidIPForLegacyField(std::string_view value, bool strict) {
  std::optional<Parsed> parsed = Parse(value);
  if (!parsed) return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
  if (!strict) return {};
  if (!parsed->strict) return {"must not have leading 0s"};
  if (parsed->written_as_v6 && parsed->address.IsV4()) return {"must not be an IPv4-mapped IPv6 address"};
  return {};
}

Messages IsValidIP(std::string_view value) {
  Messages messages = IsValidIPForLegacyField(value, true);
  if (!messages.empty()) return messages;
  std::string canonical = ParseIp(value)->ToString();
  if (canonical == value) return {};
  return {"must be in canonical form (" + GoQuote(canonical) + ")"};
}

Messages IsValidCIDRForLegacyField(std::string_view value, bool strict) {
  std::optional<ParsedCidr> parsed = ParseNetwork(value);
  if (!parsed) return {"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
  if (!strict) return {};
  if (!parsed->strict) return {"must not have leading 0s in IP or prefix length"};
  if (parsed->written_as_v6 && parsed->cidr.address.IsV4()) return {"must not have an IPv4-mapped IPv6 address"};
  if (parsed->cidr.address != parsed->cidr.Network()) return {"must not have bits set beyond the prefix length"};
  return {};
}

Messages IsValidCIDR(std::string_view value) {
  Messages messages = IsValidCIDRForLegacyField(value, true);
  if (!messages.empty()) return messages;
  std::string canonical = ParseCidr(value)->ToString();
  if (canonical == value) return {};
  return {"must be in canonical form (" + GoQuote(canonical) + ")"};
}

Messages IsValidInterfaceAddress(std::string_view value) {
  std::optional<Cidr> cidr = ParseCidr(value);
  if (!cidr) return {"must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"};
  int length = cidr->prefix_length;
  if (cidr->address.IsV4() && length > 32) length -= 96;
  std::string canonical = cidr->address.ToString() + "/" + std::to_string(length);
  if (canonical == value) return {};
  return {"must be in canonical form (" + GoQuote(canonical) + ")"};
}

Messages GetWarningsForIP(std::string_view path, std::string_view value) {
  std::optional<Parsed> parsed = Parse(value);
  if (!parsed) return {};
  std::string canonical = parsed->address.ToString();
  std::string start(path);
  if (!parsed->strict || (parsed->written_as_v6 && parsed->address.IsV4())) {
    return {start + ": non-standard IP address " + GoQuote(value) + " is invalid: use " + GoQuote(canonical)};
  }
  if (parsed->written_as_v6 && canonical != value) {
    return {start + ": IPv6 address " + GoQuote(value) + " should be in RFC 5952 canonical format (" +
            GoQuote(canonical) + ")"};
  }
  return {};
}

Messages GetWarningsForCIDR(std::string_view path, std::string_view value) {
  std::optional<ParsedCidr> parsed = ParseNetwork(value);
  if (!parsed) return {};
  const Cidr& cidr = parsed->cidr;
  std::string start(path);
  Messages messages;
  if (cidr.address != cidr.Network()) {
    std::string single = cidr.address.ToString() + "/" + (cidr.v4 ? "32" : "128");
    messages.push_back(start + ": CIDR value " + GoQuote(value) + " is ambiguous in this context (should be " +
                       GoQuote(cidr.ToString()) + " or " + GoQuote(single) + "?)");
  }
  if (!parsed->strict || (parsed->written_as_v6 && cidr.address.IsV4())) {
    messages.push_back(start + ": non-standard CIDR value " + GoQuote(value) + " is invalid: use " +
                       GoQuote(cidr.ToString()));
  }
  std::string canonical = cidr.address.ToString() + "/" + std::to_string(cidr.prefix_length);
  if (messages.empty() && parsed->written_as_v6 && canonical != value) {
    messages.push_back(start + ": IPv6 CIDR value " + GoQuote(value) + " should be in RFC 5952 canonical format (" +
                       GoQuote(canonical) + ")");
  }
  return messages;
}

}  // namespace homeostat::object
