// IP addresses and networks as API fields hold them: reading, canonical writing, and upstream's messages for what is not
// good.
//
// Source of the rules: apimachinery's util/validation/ip.go and the "sloppy" parsers of k8s.io/utils/net, which also take
// the leading zeros that old objects may hold; canonical form is RFC 5952. Safe to call from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/object/names.h"

namespace homeostat::object {

// An IPv4 address is held as ::ffff:a.b.c.d, so one family is part of the other, as in Go.
struct IpAddress {
  std::array<uint8_t, 16> octets{};

  bool IsV4() const;
  bool IsV6() const { return !IsV4(); }
  bool IsUnspecified() const;  // 0.0.0.0 or ::
  bool IsLoopback() const;     // 127/8 or ::1
  bool IsLinkLocalUnicast() const;
  bool IsLinkLocalMulticast() const;
  bool IsMulticast() const;
  std::string ToString() const;
  auto operator<=>(const IpAddress&) const = default;
};

// nullopt if it is none. Leading zeros are decimal; no zones.
std::optional<IpAddress> ParseIp(std::string_view text);

struct Cidr {
  IpAddress address;      // as written, host bits and all
  int prefix_length = 0;  // 0…32 if v4, else 0…128
  bool v4 = false;        // written as IPv4

  IpAddress Network() const;  // host bits cleared
  bool Contains(const IpAddress& ip) const;
  std::string ToString() const;  // of the network
};

std::optional<Cidr> ParseCidr(std::string_view text);

// A new field's value: valid, without leading zeros, not IPv4-mapped, in canonical form.
Messages IsValidIP(std::string_view value);
Messages IsValidCIDR(std::string_view value);
// A field from before those rules; strict as the gate StrictIPCIDRValidation says.
Messages IsValidIPForLegacyField(std::string_view value, bool strict);
Messages IsValidCIDRForLegacyField(std::string_view value, bool strict);
// An address with the length of its network: 10.9.8.7/24.
Messages IsValidInterfaceAddress(std::string_view value);

// The warnings that a legacy field's valid but unwise value gets. path: of the field, for the text.
Messages GetWarningsForIP(std::string_view path, std::string_view value);
Messages GetWarningsForCIDR(std::string_view path, std::string_view value);

}  // namespace homeostat::object
