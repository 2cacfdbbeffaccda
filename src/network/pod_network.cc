#include "network/pod_network.h"

#include <arpa/inet.h>

#include <charconv>

namespace homeostat::network {

namespace {

bool IsV6(std::string_view cidr) { return cidr.find(':') != std::string_view::npos; }

Result<void> CheckOptions(const PodNetworkOptions& options) {
  if (!IsPlainName(options.name)) return Fail(BadRequestError("network name '" + options.name + "' is not a plain name"));
  if (!IsPlainName(options.bridge) || options.bridge.size() > 15) {
    return Fail(BadRequestError("bridge '" + options.bridge + "' is not an interface name of at most 15 characters"));
  }
  if (options.pod_cidrs.empty()) return Fail(BadRequestError("the node has no pod range"));
  for (const std::string& cidr : options.pod_cidrs) TRY(CheckCidr(cidr));
  for (const std::string& cidr : options.cluster_cidrs) TRY(CheckCidr(cidr));
  if (options.address_directory.find_first_of("\"\\\n") != std::string::npos) {
    return Fail(BadRequestError("the address directory's name has quotes or backslashes"));
  }
  return {};
}

std::string JoinCidrs(const std::vector<std::string>& cidrs, bool v6) {
  std::string out;
  for (const std::string& cidr : cidrs) {
    if (IsV6(cidr) == v6) out += (out.empty() ? "" : ", ") + cidr;
  }
  return out;
}

void AppendMasqueradeRule(const PodNetworkOptions& options, bool v6, std::string& script) {
  std::string from = JoinCidrs(options.pod_cidrs, v6);
  if (from.empty()) return;
  std::string inside = JoinCidrs(options.cluster_cidrs.empty() ? options.pod_cidrs : options.cluster_cidrs, v6);
  std::string family = v6 ? "ip6" : "ip";
  std::string multicast = v6 ? "ff00::/8" : "224.0.0.0/4";
  script += "    " + family + " saddr { " + from + " } " + family + " daddr != { " + (inside.empty() ? "" : inside + ", ") +
            multicast + " } masquerade\n";
}

}  // namespace

Result<void> CheckCidr(std::string_view cidr) {
  auto bad = [&](std::string_view why) {
    return Fail(BadRequestError("'" + std::string(cidr) + "' is not an address range: " + std::string(why)));
  };
  size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) return bad("it has no prefix length");
  std::string address(cidr.substr(0, slash));
  std::string_view length_text = cidr.substr(slash + 1);
  unsigned length = 0;
  auto [end, error] = std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
  if (error != std::errc() || end != length_text.data() + length_text.size()) return bad("bad prefix length");
  bool v6 = IsV6(address);
  unsigned char octets[16];
  if (inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), octets) != 1) return bad("bad address");
  unsigned bits = v6 ? 128 : 32;
  if (length > bits - 2) return bad("it has no room for a gateway and a pod");
  for (unsigned bit = length; bit < bits; ++bit) {
    if (octets[bit / 8] & (0x80 >> (bit % 8))) return bad("bits are set after the prefix");
  }
  return {};
}

Result<std::string> CniConfiguration(const PodNetworkOptions& options) {
  TRY(CheckOptions(options));
  std::string ranges, routes;
  bool v4_route = false, v6_route = false;
  for (const std::string& cidr : options.pod_cidrs) {
    ranges += (ranges.empty() ? "" : ", ") + ("[{\"subnet\": \"" + cidr + "\"}]");
    bool& done = IsV6(cidr) ? v6_route : v4_route;
    if (std::exchange(done, true)) continue;
    routes += (routes.empty() ? "" : ", ") + std::string("{\"dst\": \"") + (IsV6(cidr) ? "::/0" : "0.0.0.0/0") + "\"}";
  }
  std::string out = "{\n  \"cniVersion\": \"0.4.0\",\n  \"name\": \"" + options.name + "\",\n  \"plugins\": [\n";
  out += "    {\n      \"type\": \"bridge\",\n      \"bridge\": \"" + options.bridge + "\",\n";
  out += "      \"isGateway\": true,\n      \"hairpinMode\": true,\n";
  out += std::string("      \"ipMasq\": ") + (options.masquerade_by_plugin ? "true" : "false") + ",\n";
  if (options.mtu > 0) out += "      \"mtu\": " + std::to_string(options.mtu) + ",\n";
  out += "      \"ipam\": {\n        \"type\": \"host-local\",\n";
  if (!options.address_directory.empty()) out += "        \"dataDir\": \"" + options.address_directory + "\",\n";
  out += "        \"ranges\": [" + ranges + "],\n        \"routes\": [" + routes + "]\n      }\n    }";
  if (options.portmap) out += ",\n    {\"type\": \"portmap\", \"capabilities\": {\"portMappings\": true}}";
  return out + "\n  ]\n}\n";
}

Result<std::string> MasqueradeScript(const PodNetworkOptions& options) {
  TRY(CheckOptions(options));
  std::string script = RemoveMasqueradeScript(options);
  script += "table inet " + options.name + "-pods {\n  chain postrouting {\n";
  script += "    type nat hook postrouting priority srcnat; policy accept;\n";
  AppendMasqueradeRule(options, false, script);
  AppendMasqueradeRule(options, true, script);
  return script + "  }\n}\n";
}

bool IsPlainName(std::string_view name) {
  if (name.empty()) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
}

// Adding before deleting makes the deletion succeed whether or not the table was there; all of a script is one transaction.
std::string RemoveTableScript(const std::string& table) { return "add table " + table + "\ndelete table " + table + "\n"; }

std::string RemoveMasqueradeScript(const PodNetworkOptions& options) { return RemoveTableScript("inet " + options.name + "-pods"); }

}  // namespace homeostat::network
