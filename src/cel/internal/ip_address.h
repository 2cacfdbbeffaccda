// IP addresses and prefixes as Go's net/netip reads them, with its messages.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace homeostat::cel::internal {

struct NetAddress {
  std::array<uint8_t, 16> octets{};  // of IPv4 the first four
  bool v4 = false;
  std::string zone;

  int bits() const { return v4 ? 32 : 128; }
  bool IsV4Mapped() const;
  std::string ToString() const;
  bool operator==(const NetAddress&) const = default;
};

struct NetPrefix {
  NetAddress address;
  int length = 0;

  NetPrefix Masked() const;
  bool Contains(const NetAddress& other) const;
  bool operator==(const NetPrefix&) const = default;
};

std::expected<NetAddress, std::string> ParseNetAddress(std::string_view text);
std::expected<NetPrefix, std::string> ParseNetPrefix(std::string_view text);

}  // namespace homeostat::cel::internal
