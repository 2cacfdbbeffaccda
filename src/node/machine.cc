#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "node/image_archive.h"
#include "node/node_status.h"

namespace homeostat::node {

namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string OsImage() {
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string name = line.substr(12);
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    return name;
  }
  return "Linux";
}

// The interface that the default route leads through; "" if there is none.
std::string DefaultInterface() {
  std::ifstream in("/proc/net/route");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string name, destination;
    fields >> name >> destination;
    if (destination == "00000000") return name;
  }
  return "";
}

// Addresses that others can reach, of the interface or, without one, of any that is up.
std::vector<std::string> AddressesOf(const std::string& interface) {
  std::vector<std::string> v4, v6;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return v4;
  for (ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || (item->ifa_flags & IFF_LOOPBACK) != 0 || (item->ifa_flags & IFF_UP) == 0) continue;
    if (!interface.empty() && interface != item->ifa_name) continue;
    char text[INET6_ADDRSTRLEN];
    if (item->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(item->ifa_addr)->sin_addr, text, sizeof text);
      v4.emplace_back(text);
    } else if (item->ifa_addr->sa_family == AF_INET6) {
      auto* address = &reinterpret_cast<sockaddr_in6*>(item->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(address)) continue;
      inet_ntop(AF_INET6, address, text, sizeof text);
      v6.emplace_back(text);
    }
  }
  freeifaddrs(list);
  // One of each family at most.
  std::vector<std::string> addresses;
  if (!v4.empty()) addresses.push_back(v4[0]);
  if (!v6.empty() && !interface.empty()) addresses.push_back(v6[0]);
  if (addresses.empty()) addresses.push_back("127.0.0.1");
  return addresses;
}

}  // namespace

std::string FreePodRange(const std::string& own_bridge) {
  std::set<uint32_t> taken;   // the third octets of 10.244
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
      if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_INET || own_bridge == item->ifa_name) continue;
      uint32_t address = ntohl(reinterpret_cast<sockaddr_in*>(item->ifa_addr)->sin_addr.s_addr);
      if (address >> 16 == (10 << 8 | 244)) taken.insert(address >> 8 & 0xff);
    }
    freeifaddrs(list);
  }
  uint32_t third = 0;
  while (third < 255 && taken.contains(third)) ++third;
  return "10.244." + std::to_string(third) + ".0/24";
}

MachineFacts DetectMachine(const std::string& folder) {
  MachineFacts facts;
  facts.cpus = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  struct sysinfo memory;
  if (sysinfo(&memory) == 0) {
    facts.memory_bytes = static_cast<int64_t>(memory.totalram) * memory.mem_unit;
    facts.swap_bytes = static_cast<int64_t>(memory.totalswap) * memory.mem_unit;
  }
  struct statvfs disk;
  if (statvfs(folder.c_str(), &disk) == 0) facts.disk_bytes = static_cast<int64_t>(disk.f_blocks) * static_cast<int64_t>(disk.f_frsize);
  utsname kernel;
  if (uname(&kernel) == 0) {
    facts.kernel_version = kernel.release;
    facts.hostname = LowerCase(kernel.nodename);
  }
  facts.machine_id = FirstLine("/etc/machine-id");
  facts.system_uuid = FirstLine("/sys/class/dmi/id/product_uuid");
  if (facts.system_uuid.empty()) facts.system_uuid = facts.machine_id;
  facts.boot_id = FirstLine("/proc/sys/kernel/random/boot_id");
  facts.os_image = OsImage();
  facts.architecture = BuildArchitecture();
  facts.addresses = AddressesOf(DefaultInterface());
  return facts;
}

}  // namespace homeostat::node
