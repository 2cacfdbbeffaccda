// ip() and cidr().
//
// Source of the rules: Kubernetes' cel/library/ip.go and cidr.go.
#include "cel/internal/functions.h"
#include "cel/internal/ip_address.h"
#include "homeostat/base/text.h"

namespace homeostat::cel::internal {

namespace {

class IpValue final : public Opaque {
 public:
  explicit IpValue(NetAddress value) : address(std::move(value)) {}
  std::string_view TypeName() const override { return "net.IP"; }
  std::optional<bool> Equal(const Opaque& other) const override {
    return address == static_cast<const IpValue&>(other).address;
  }
  std::string ToString() const override { return address.ToString(); }
  std::optional<uint64_t> Size() const override { return static_cast<uint64_t>(address.bits() / 8); }

  const NetAddress address;
};

class CidrValue final : public Opaque {
 public:
  explicit CidrValue(NetPrefix value) : prefix(std::move(value)) {}
  std::string_view TypeName() const override { return "net.CIDR"; }
  std::optional<bool> Equal(const Opaque& other) const override {
    return prefix == static_cast<const CidrValue&>(other).prefix;
  }
  std::string ToString() const override { return prefix.address.ToString() + "/" + std::to_string(prefix.length); }
  std::optional<uint64_t> Size() const override { return static_cast<uint64_t>((prefix.length + 7) / 8); }

  const NetPrefix prefix;
};

const NetAddress& Address(const Value& value) { return static_cast<const IpValue&>(value.opaque()).address; }
const NetPrefix& Prefix(const Value& value) { return static_cast<const CidrValue&>(value.opaque()).prefix; }

std::expected<NetAddress, std::string> ReadIp(std::string_view text) {
  auto address = ParseNetAddress(text);
  if (!address) {
    return std::unexpected("IP Address " + GoQuote(text) + " parse error during conversion from string: " + address.error());
  }
  if (!address->zone.empty()) return std::unexpected("IP address " + GoQuote(text) + " with zone value is not allowed");
  if (address->IsV4Mapped()) return std::unexpected("IPv4-mapped IPv6 address " + GoQuote(text) + " is not allowed");
  return address;
}

std::expected<NetPrefix, std::string> ReadCidr(std::string_view text) {
  static constexpr const char* kParse = "network address parse error during conversion from string: ";
  auto prefix = ParseNetPrefix(text);
  if (!prefix) return std::unexpected(std::string(kParse) + kParse + prefix.error());
  if (prefix->address.IsV4Mapped()) {
    return std::unexpected(std::string(kParse) + "IPv4-mapped IPv6 address " + GoQuote(text) + " is not allowed");
  }
  return prefix;
}

Value ToIp(CallContext& context, std::span<const Value> args) {
  auto address = ReadIp(args[0].text());
  return address ? MakeOpaque(context.arena, IpValue(*address)) : MakeError(context.arena, address.error());
}
Value IsIp(CallContext&, std::span<const Value> args) { return Value::Bool(ReadIp(args[0].text()).has_value()); }
Value IsCanonical(CallContext& context, std::span<const Value> args) {
  auto address = ReadIp(args[0].text());
  if (!address) return MakeError(context.arena, address.error());
  return Value::Bool(address->ToString() == args[0].text());
}

bool IsZeroFrom(const NetAddress& a, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (a.octets[i] != 0) return false;
  }
  return true;
}
bool IsUnspecified(const NetAddress& a) { return IsZeroFrom(a, 0, 16); }
bool IsLoopback(const NetAddress& a) { return a.v4 ? a.octets[0] == 127 : IsZeroFrom(a, 0, 15) && a.octets[15] == 1; }
bool IsLinkLocalMulticast(const NetAddress& a) {
  if (a.v4) return a.octets[0] == 224 && a.octets[1] == 0 && a.octets[2] == 0;
  return a.octets[0] == 0xFF && (a.octets[1] & 0x0F) == 2;
}
bool IsLinkLocalUnicast(const NetAddress& a) {
  if (a.v4) return a.octets[0] == 169 && a.octets[1] == 254;
  return a.octets[0] == 0xFE && (a.octets[1] & 0xC0) == 0x80;
}
bool IsGlobalUnicast(const NetAddress& a) {
  bool multicast = a.v4 ? (a.octets[0] & 0xF0) == 0xE0 : a.octets[0] == 0xFF;
  bool broadcast = a.v4 && a.octets[0] == 255 && a.octets[1] == 255 && a.octets[2] == 255 && a.octets[3] == 255;
  return !IsUnspecified(a) && !broadcast && !IsLoopback(a) && !multicast && !IsLinkLocalUnicast(a);
}
template <bool (*kTest)(const NetAddress&)>
Value Test(CallContext&, std::span<const Value> args) {
  return Value::Bool(kTest(Address(args[0])));
}
Value Family(CallContext&, std::span<const Value> args) { return Value::Int(Address(args[0]).v4 ? 4 : 6); }

Value ToCidr(CallContext& context, std::span<const Value> args) {
  auto prefix = ReadCidr(args[0].text());
  return prefix ? MakeOpaque(context.arena, CidrValue(*prefix)) : MakeError(context.arena, prefix.error());
}
Value IsCidr(CallContext&, std::span<const Value> args) { return Value::Bool(ReadCidr(args[0].text()).has_value()); }
Value ContainsIp(CallContext&, std::span<const Value> args) {
  return Value::Bool(Prefix(args[0]).Contains(Address(args[1])));
}
Value ContainsIpText(CallContext&, std::span<const Value> args) {
  auto address = ReadIp(args[1].text());
  // The original loses the text of this error.
  if (!address) return NoSuchOverload();
  return Value::Bool(Prefix(args[0]).Contains(*address));
}
bool Includes(const NetPrefix& outer, const NetPrefix& inner) {
  if (outer.address.v4 != inner.address.v4 || outer.length > inner.length) return false;
  return outer.Contains(inner.address);
}
Value ContainsCidr(CallContext&, std::span<const Value> args) {
  return Value::Bool(Includes(Prefix(args[0]), Prefix(args[1])));
}
Value ContainsCidrText(CallContext& context, std::span<const Value> args) {
  auto prefix = ReadCidr(args[1].text());
  if (!prefix) return MakeError(context.arena, prefix.error());
  return Value::Bool(Includes(Prefix(args[0]), *prefix));
}
Value CidrIp(CallContext& context, std::span<const Value> args) {
  return MakeOpaque(context.arena, IpValue(Prefix(args[0]).address));
}
Value PrefixLength(CallContext&, std::span<const Value> args) { return Value::Int(Prefix(args[0]).length); }
Value Masked(CallContext& context, std::span<const Value> args) {
  return MakeOpaque(context.arena, CidrValue(Prefix(args[0]).Masked()));
}

}  // namespace

std::span<const Binding> NetworkBindings() {
  static constexpr Binding kBindings[] = {
      {"string_to_ip", ToIp}, {"is_ip", IsIp}, {"ip_is_canonical", IsCanonical}, {"ip_family", Family},
      {"ip_is_unspecified", Test<IsUnspecified>}, {"ip_is_loopback", Test<IsLoopback>},
      {"ip_is_link_local_multicast", Test<IsLinkLocalMulticast>}, {"ip_is_link_local_unicast", Test<IsLinkLocalUnicast>},
      {"ip_is_global_unicast", Test<IsGlobalUnicast>}, {"string_to_cidr", ToCidr}, {"is_cidr", IsCidr},
      {"cidr_contains_ip_string", ContainsIpText}, {"cidr_contains_ip_ip", ContainsIp},
      {"cidr_contains_cidr_string", ContainsCidrText}, {"cidr_contains_cidr", ContainsCidr}, {"cidr_ip", CidrIp},
      {"cidr_prefix_length", PrefixLength}, {"cidr_masked", Masked},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
