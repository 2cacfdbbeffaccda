// The addresses and ports that services get.
// Source of the rules: pkg/registry/core/service, ipallocator and portallocator: a low part of each range is left to those
// who ask for a certain address or port, as long as there is anything else.
#include <algorithm>
#include <charconv>

#include "homeostat/api/networking/v1.h"
#include "homeostat/object/ip.h"
#include "kinds/core/service.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kFirstNodePort = 30000, kLastNodePort = 32767;

// How many at the beginning of a range are kept back.
uint64_t KeptBack(uint64_t size, uint64_t step, uint64_t most) {
  constexpr uint64_t kLeast = 16;
  return size <= kLeast ? 0 : std::clamp(size / step, kLeast, most);
}

// A free one of [begin, end), looked for from a random place on.
std::optional<uint64_t> PickFrom(uint64_t begin, uint64_t end, Runtime& runtime, const std::function<bool(uint64_t)>& is_taken) {
  if (begin >= end) return std::nullopt;
  uint64_t size = end - begin, start = runtime.Random() % size;
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t candidate = begin + (start + i) % size;
    if (!is_taken(candidate)) return candidate;
  }
  return std::nullopt;
}

// The last 64 bits of an address, which is all that ranges of services differ in.
uint64_t Low(const object::IpAddress& ip) {
  uint64_t low = 0;
  for (size_t i = 8; i < 16; ++i) low = low << 8 | ip.octets[i];
  return low;
}

object::IpAddress WithLow(object::IpAddress ip, uint64_t low) {
  for (size_t i = 16; i-- > 8; low >>= 8) ip.octets[i] = static_cast<uint8_t>(low);
  return ip;
}

// Upstream: a range without the condition is taken for one that is ready, as nobody may be there to say so.
bool IsReady(const Value& range) {
  for (const Value& condition : range.Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() == "Ready") return condition.Get("status").AsString() == "True";
  }
  return true;
}

std::vector<object::Cidr> Ranges(const ObjectReader& objects, bool v4) {
  std::vector<object::Cidr> ranges;
  for (const object::DocumentPtr& document : objects.List("networking.k8s.io", "servicecidrs", "")) {
    if (document->root().Path({"metadata", "deletionTimestamp"}) || !IsReady(document->root())) continue;
    for (const Value& text : document->root().Path({"spec", "cidrs"}).items()) {
      auto cidr = object::ParseCidr(text.AsString());
      if (cidr && cidr->v4 == v4) ranges.push_back(*cidr);
    }
  }
  return ranges;
}

struct Usable {
  uint64_t first, last;  // low bits; both may be given out
};

Usable UsableOf(const object::Cidr& cidr) {
  int host_bits = std::min((cidr.v4 ? 32 : 128) - cidr.prefix_length, 63);
  uint64_t first = Low(cidr.Network()), last = first + ((uint64_t{1} << host_bits) - 1);
  if (host_bits == 0) return {first, last};
  // The network itself, and what is a broadcast address in IPv4, are nobody's.
  return {first + 1, cidr.v4 && host_bits > 1 ? last - 1 : last};
}

class IpPool : public Pool {
 public:
  explicit IpPool(bool v4) : v4_(v4) {}

  std::string_view name() const override { return v4_ ? kIpv4Pool : kIpv6Pool; }
  // A cluster has the families that it was started with, whatever ranges are added later.
  bool Exists(const ObjectReader& objects) const override {
    object::DocumentPtr range = objects.Get("networking.k8s.io", "servicecidrs", "", "kubernetes");
    if (range == nullptr) return v4_;
    for (const Value& text : range->root().Path({"spec", "cidrs"}).items()) {
      auto cidr = object::ParseCidr(text.AsString());
      if (cidr && cidr->v4 == v4_) return true;
    }
    return false;
  }

  std::optional<std::string> Pick(const ObjectReader& objects, Runtime& runtime,
                                  const std::function<bool(std::string_view)>& is_taken) const override {
    for (const object::Cidr& cidr : Ranges(objects, v4_)) {
      Usable usable = UsableOf(cidr);
      uint64_t size = usable.last - usable.first + 1, kept = KeptBack(size, 16, 256);
      auto text = [&](uint64_t low) { return WithLow(cidr.Network(), low).ToString(); };
      auto taken = [&](uint64_t low) { return is_taken(text(low)); };
      if (auto low = PickFrom(usable.first + kept, usable.last + 1, runtime, taken)) return text(*low);
      if (auto low = PickFrom(usable.first, usable.first + kept, runtime, taken)) return text(*low);
    }
    return std::nullopt;
  }

  std::string Refusal(const ObjectReader& objects, std::string_view thing) const override {
    auto ip = object::ParseIp(thing);
    for (const object::Cidr& cidr : Ranges(objects, v4_)) {
      if (ip && cidr.Contains(*ip)) return RefusalIn(cidr, *ip);
    }
    return "the provided network does not match the current range";
  }

  // Upstream then asks one of its ranges, whichever it is: here the one that was there first.
  std::string RefusalOfDryRun(const ObjectReader& objects, std::string_view thing) const override {
    auto ip = object::ParseIp(thing);
    object::DocumentPtr range = objects.Get("networking.k8s.io", "servicecidrs", "", "kubernetes");
    if (!ip || range == nullptr) return Refusal(objects, thing);
    for (const Value& text : range->root().Path({"spec", "cidrs"}).items()) {
      auto cidr = object::ParseCidr(text.AsString());
      if (cidr && cidr->v4 == v4_) return RefusalIn(*cidr, *ip);
    }
    return Refusal(objects, thing);
  }

  std::string_view taken_text() const override { return "provided IP is already allocated"; }

  Record record() const override { return {"networking.k8s.io", "v1", "IPAddress", "ipaddresses"}; }

  Value MakeRecord(object::Arena& arena, std::string_view thing, std::string_view holder_namespace, std::string_view holder_name) const override {
    return Edited(arena, api::networking::v1::types::kIPAddress, Value(), [&](Edit& edit) {
      edit.SetText("kind", "IPAddress");
      edit.SetText("apiVersion", "networking.k8s.io/v1");
      edit.In("metadata", [&](Edit& metadata) {
        metadata.SetText("name", thing);
        metadata.SetEntry("labels", "ipaddress.kubernetes.io/ip-family", Value::StringRef(v4_ ? "IPv4" : "IPv6"));
        metadata.SetEntry("labels", "ipaddress.kubernetes.io/managed-by", Value::StringRef("ipallocator.k8s.io"));
      });
      edit.In("spec", [&](Edit& spec) {
        spec.In("parentRef", [&](Edit& parent) {
          parent.SetText("resource", "services");
          parent.SetText("namespace", holder_namespace);
          parent.SetText("name", holder_name);
        });
      });
    });
  }

 private:
  static std::string RefusalIn(const object::Cidr& cidr, const object::IpAddress& ip) {
    Usable usable = UsableOf(cidr);
    uint64_t low = Low(ip);
    if (cidr.Contains(ip) && low >= usable.first && low <= usable.last) return {};
    return "the provided IP (" + ip.ToString() + ") is not in the valid range. The range of valid IPs is " + cidr.ToString();
  }

  bool v4_;
};

class NodePortPool : public Pool {
 public:
  std::string_view name() const override { return kNodePortPool; }
  bool Exists(const ObjectReader&) const override { return true; }

  std::optional<std::string> Pick(const ObjectReader&, Runtime& runtime,
                                  const std::function<bool(std::string_view)>& is_taken) const override {
    constexpr uint64_t kFirst = kFirstNodePort, kEnd = kLastNodePort + 1;
    uint64_t kept = KeptBack(kEnd - kFirst, 32, 128);
    auto taken = [&](uint64_t port) { return is_taken(std::to_string(port)); };
    auto port = PickFrom(kFirst + kept, kEnd, runtime, taken);
    if (!port) port = PickFrom(kFirst, kFirst + kept, runtime, taken);
    if (!port) return std::nullopt;
    return std::to_string(*port);
  }

  std::string Refusal(const ObjectReader&, std::string_view thing) const override {
    int64_t port = 0;
    std::from_chars(thing.data(), thing.data() + thing.size(), port);
    if (port >= kFirstNodePort && port <= kLastNodePort) return {};
    return "provided port is not in the valid range. The range of valid ports is " + std::to_string(kFirstNodePort) + "-" +
           std::to_string(kLastNodePort);
  }

  std::string RefusalOfDryRun(const ObjectReader&, std::string_view) const override { return {}; }
  std::string_view taken_text() const override { return "provided port is already allocated"; }
};

}  // namespace

std::span<const Pool* const> ServicePools() {
  static const IpPool v4(true), v6(false);
  static const NodePortPool ports;
  static const Pool* const pools[] = {&v4, &v6, &ports};
  return pools;
}

std::string_view PrimaryFamily(const ObjectReader& objects) {
  object::DocumentPtr range = objects.Get("networking.k8s.io", "servicecidrs", "", "kubernetes");
  if (range == nullptr) return "IPv4";
  auto cidr = object::ParseCidr(range->root().Path({"spec", "cidrs"}).At(0).AsString());
  return cidr && !cidr->v4 ? "IPv6" : "IPv4";
}

}  // namespace homeostat::kinds
