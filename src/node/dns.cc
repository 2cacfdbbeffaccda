#include "node/cri_config.h"

#include <sstream>

namespace homeostat::node {

namespace {

// What resolvers and the API allow.
constexpr size_t kMostServers = 3, kMostSearches = 32, kMostSearchBytes = 2048;

std::vector<std::string> Words(std::istringstream& line) {
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

void AppendUnique(std::vector<std::string>& list, std::string item) {
  if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

// "ndots:5" → "ndots".
std::string_view OptionName(std::string_view option) { return option.substr(0, option.find(':')); }

void MergeOption(std::vector<std::string>& options, std::string option) {
  for (std::string& known : options) {
    if (OptionName(known) == OptionName(option)) {
      known = std::move(option);
      return;
    }
  }
  options.push_back(std::move(option));
}

void Limit(cri::DnsConfig& dns) {
  if (dns.servers.size() > kMostServers) dns.servers.resize(kMostServers);
  if (dns.searches.size() > kMostSearches) dns.searches.resize(kMostSearches);
  size_t bytes = 0, kept = 0;
  while (kept < dns.searches.size() && (bytes += dns.searches[kept].size() + 1) <= kMostSearchBytes + 1) ++kept;
  dns.searches.resize(kept);
}

}  // namespace

cri::DnsConfig ParseResolvConf(std::string_view text) {
  cri::DnsConfig dns;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string keyword;
    parts >> keyword;
    if (keyword == "nameserver") {
      for (std::string& server : Words(parts)) {
        dns.servers.push_back(server);
        break;
      }
    } else if (keyword == "search") {
      dns.searches.clear();
      for (std::string& domain : Words(parts)) {
        if (domain != "." && domain.ends_with('.')) domain.pop_back();
        dns.searches.push_back(domain);
      }
    } else if (keyword == "options") {
      dns.options = Words(parts);
    }
  }
  return dns;
}

cri::DnsConfig PodDns(core::Pod pod, const DnsSettings& settings, bool* fell_back) {
  std::string_view policy = pod.spec().dns_policy();
  bool cluster = policy == core::kDNSPolicyClusterFirstWithHostNet ||
                 ((policy == core::kDNSPolicyClusterFirst || policy.empty()) && !pod.spec().host_network());
  if (cluster && settings.cluster_servers.empty()) {
    cluster = false;
    if (fell_back != nullptr) *fell_back = true;
  }
  cri::DnsConfig dns;
  if (cluster) {
    std::string ns(pod.metadata().namespace_());
    dns.servers = settings.cluster_servers;
    dns.searches = {ns + ".svc." + settings.cluster_domain, "svc." + settings.cluster_domain, settings.cluster_domain};
    for (const std::string& domain : settings.node.searches) AppendUnique(dns.searches, domain);
    dns.options = {"ndots:5"};
  } else if (policy != core::kDNSPolicyNone) {
    dns = settings.node;
  }
  core::PodDNSConfig own = pod.spec().dns_config();
  for (std::string_view server : own.nameservers()) AppendUnique(dns.servers, std::string(server));
  for (std::string_view domain : own.searches()) AppendUnique(dns.searches, std::string(domain));
  for (core::PodDNSConfigOption option : own.options()) {
    std::string text(option.name());
    if (option.has_value()) text += ":" + std::string(option.value());
    MergeOption(dns.options, std::move(text));
  }
  Limit(dns);
  return dns;
}

}  // namespace homeostat::node
