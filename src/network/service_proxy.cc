#include "network/service_proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "network/pod_network.h"

namespace homeostat::network {
namespace {

bool IsAddress(const std::string& text, bool v6) {
  unsigned char octets[16];
  return inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), octets) == 1;
}

bool IsProtocol(std::string_view text) { return text == "tcp" || text == "udp" || text == "sctp"; }

// The rules of one address family while they are put together.
class Family {
  using Endpoints = std::vector<std::pair<std::string, uint16_t>>;

 public:
  Family(bool v6, const Sessions& sessions) : v6_(v6), family_(v6 ? "ip6" : "ip"), suffix_(v6 ? "6" : "4"), sessions_(sessions) {}

  void Add(const ServicePort& service, size_t number) {
    if (!IsProtocol(service.protocol) || service.port == 0) return;
    Endpoints endpoints;
    for (const auto& endpoint : service.endpoints) {
      if (IsAddress(endpoint.first, v6_) && endpoint.second != 0) endpoints.push_back(endpoint);
    }
    std::string chain = "service-" + std::to_string(number) + "-" + suffix_, first;
    bool used = false;
    for (const std::string& address : service.addresses) {
      if (!IsAddress(address, v6_)) continue;
      if (first.empty()) first = address;
      std::string key = address + " . " + service.protocol + " . " + std::to_string(service.port);
      used = services_.try_emplace(std::move(key), endpoints.empty() ? "" : chain).second || used;
    }
    if (service.node_port != 0 && !endpoints.empty()) {
      std::string key = service.protocol + " . " + std::to_string(service.node_port);
      used = node_ports_.try_emplace(std::move(key), chain).second || used;
    }
    if (!used || endpoints.empty()) return;
    chains_ += service.session_seconds == 0 ? Chain(chain, service.protocol, endpoints) : StickyChains(chain, service, first, endpoints);
  }

  // What stands in the table before the chains that are hooked.
  std::string Definitions() const {
    std::string type = v6_ ? "ipv6_addr" : "ipv4_addr", out = chains_;
    std::string with, without, nodes;
    for (const auto& [key, chain] : services_) {
      if (chain.empty()) AddTo(without, key);
      else AddTo(with, key + " : goto " + chain);
    }
    for (const auto& [key, chain] : node_ports_) AddTo(nodes, key + " : goto " + chain);
    out += Set("map", "services", type + " . inet_proto . inet_service : verdict", with);
    out += Set("map", "nodeports", "inet_proto . inet_service : verdict", nodes);
    return out + Set("set", "silent", type + " . inet_proto . inet_service", without);
  }
  std::string Dispatch() const { return "    " + family_ + " daddr . meta l4proto . th dport vmap @services" + suffix_ + "\n"; }
  std::string NodeDispatch() const {
    return "    meta nfproto ipv" + suffix_ + " fib daddr type local meta l4proto . th dport vmap @nodeports" + suffix_ + "\n";
  }
  std::string Refusal() const { return "    " + family_ + " daddr . meta l4proto . th dport @silent" + suffix_ + " reject\n"; }
  std::string Masquerade(const std::vector<std::string>& cidrs) const {
    std::string own;
    for (const std::string& cidr : cidrs) if ((cidr.find(':') != cidr.npos) == v6_) AddTo(own, cidr);
    if (own.empty()) return "";
    return "    ct status dnat " + family_ + " saddr { " + own + " } " + family_ + " daddr { " + own + " } masquerade\n";
  }

 private:
  static void AddTo(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

  std::string Set(std::string_view sort, std::string_view name, const std::string& type, const std::string& elements) const {
    std::string out = "  " + std::string(sort) + " " + std::string(name) + suffix_ + " {\n    type " + type + "\n";
    if (!elements.empty()) out += "    elements = { " + elements + " }\n";
    return out + "  }\n";
  }

  std::string To(const std::string& protocol, const std::pair<std::string, uint16_t>& endpoint) const {
    const auto& [address, port] = endpoint;
    return "    meta l4proto " + protocol + " dnat " + family_ + " to " + (v6_ ? "[" + address + "]" : address) + ":" + std::to_string(port);
  }

  // The same name for the same endpoint of the same port, whatever else there is.
  static std::string SessionSet(const ServicePort& service, const std::string& address, const std::pair<std::string, uint16_t>& endpoint) {
    std::string name = std::string(kSessionSetPrefix) + address + "-" + service.protocol + "-" + std::to_string(service.port) + "-" +
                       std::to_string(service.node_port) + "-" + endpoint.first + "-" + std::to_string(endpoint.second);
    std::ranges::replace(name, ':', '_');
    return name;
  }

  std::string Clients(const std::string& set, uint32_t most) const {
    std::string elements;
    auto known = sessions_.find(set);
    if (known == sessions_.end()) return elements;
    for (const Session& session : known->second) {
      if (IsAddress(session.client, v6_) && session.seconds > 0) AddTo(elements, session.client + " expires " + std::to_string(std::min(session.seconds, most)) + "s");
    }
    return elements;
  }

  // A set of clients and a chain for each endpoint, and one that looks for the client before it draws.
  std::string StickyChains(const std::string& name, const ServicePort& service, const std::string& address, const Endpoints& endpoints) const {
    std::string out, rules, choices;
    for (size_t i = 0; i < endpoints.size(); ++i) {
      std::string set = SessionSet(service, address, endpoints[i]), chain = name + "-" + std::to_string(i), clients = Clients(set, service.session_seconds);
      out += "  set " + set + " {\n    type " + (v6_ ? "ipv6_addr" : "ipv4_addr") + "\n    flags dynamic,timeout\n    timeout " +
             std::to_string(service.session_seconds) + "s\n";
      if (!clients.empty()) out += "    elements = { " + clients + " }\n";
      out += "  }\n  chain " + chain + " {\n    update @" + set + " { " + family_ + " saddr }\n" + To(service.protocol, endpoints[i]) + "\n  }\n";
      rules += "    " + family_ + " saddr @" + set + " goto " + chain + "\n";
      AddTo(choices, std::to_string(i) + " : goto " + chain);
    }
    return out + "  chain " + name + " {\n" + rules + "    numgen random mod " + std::to_string(endpoints.size()) + " vmap { " + choices + " }\n  }\n";
  }

  std::string Chain(const std::string& name, const std::string& protocol, const Endpoints& endpoints) const {
    std::string rule;
    if (endpoints.size() == 1) {
      rule = To(protocol, endpoints.front());
    } else {
      std::string choices;
      for (size_t i = 0; i < endpoints.size(); ++i) {
        AddTo(choices, std::to_string(i) + " : " + endpoints[i].first + " . " + std::to_string(endpoints[i].second));
      }
      rule = "    meta l4proto " + protocol + " dnat " + family_ + " addr . port to numgen random mod " + std::to_string(endpoints.size()) + " map { " + choices + " }";
    }
    return "  chain " + name + " {\n" + rule + "\n  }\n";
  }

  const bool v6_;
  const std::string family_, suffix_;
  const Sessions& sessions_;
  std::map<std::string, std::string> services_, node_ports_;  // chains; "" for what has no endpoints
  std::string chains_;
};

std::string Hooked(std::string_view name, std::string_view hook, const std::string& rules) {
  return "  chain " + std::string(name) + " {\n    type " + std::string(hook) + "; policy accept;\n" + rules + "  }\n";
}

}  // namespace

std::string ServiceTableName(const std::string& name) { return name + "-services"; }

std::string RemoveServiceProxyScript(const std::string& name) { return RemoveTableScript("inet " + ServiceTableName(name)); }

Result<std::string> ServiceProxyScript(const ServiceProxyOptions& options, std::span<const ServicePort> ports, const Sessions& sessions) {
  for (const std::string& name : {options.name, options.bridge}) {
    if (!IsPlainName(name)) return Fail(BadRequestError("network name '" + name + "' is not a plain name"));
  }
  for (const std::string& cidr : options.pod_cidrs) TRY(CheckCidr(cidr));
  Family v4(false, sessions), v6(true, sessions);
  for (size_t i = 0; i < ports.size(); ++i) {
    v4.Add(ports[i], i);
    v6.Add(ports[i], i);
  }
  std::string script = RemoveServiceProxyScript(options.name);
  script += "table inet " + ServiceTableName(options.name) + " {\n" + v4.Definitions() + v6.Definitions();
  script += "  chain dispatch {\n" + v4.Dispatch() + v6.Dispatch() + "  }\n  chain node-ports {\n" + v4.NodeDispatch() + v6.NodeDispatch() +
            "  }\n  chain refuse {\n" + v4.Refusal() + v6.Refusal() + "  }\n";
  script += Hooked("prerouting", "nat hook prerouting priority dstnat", "    iifname \"" + options.bridge + "\" jump dispatch\n    jump node-ports\n");
  script += Hooked("output", "nat hook output priority -100", "    jump dispatch\n    jump node-ports\n");
  // Before the rules of the pod network, which leave what stays among pods alone.
  script += Hooked("postrouting", "nat hook postrouting priority srcnat - 1", v4.Masquerade(options.pod_cidrs) + v6.Masquerade(options.pod_cidrs));
  script += Hooked("forward", "filter hook forward priority filter", "    jump refuse\n");
  script += Hooked("local", "filter hook output priority filter", "    jump refuse\n");
  return script + "}\n";
}

}  // namespace homeostat::network
