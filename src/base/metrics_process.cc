// The process's own metrics, read from /proc/self with each rendering.
#include <dirent.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "homeostat/base/files.h"
#include "homeostat/base/metrics.h"

namespace homeostat {
namespace {

// Fields of /proc/self/stat, numbered as in proc(5); the name, which may hold anything, ends with the last ')'.
std::vector<std::string> StatFields() {
  auto text = ReadFile("/proc/self/stat");
  std::vector<std::string> out = {"", "", ""};
  if (!text) return out;
  size_t at = text->rfind(')');
  while (at != std::string::npos && at + 1 < text->size()) {
    size_t begin = text->find_first_not_of(" )\n", at);
    if (begin == std::string::npos) break;
    at = text->find_first_of(" \n", begin);
    out.push_back(text->substr(begin, at - begin));
  }
  return out;
}

double Number(const std::vector<std::string>& fields, size_t index) {
  return index < fields.size() ? std::strtod(fields[index].c_str(), nullptr) : 0;
}

double OpenDescriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  int count = 0;
  while (dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.';
  ::closedir(directory);
  return count - 1;  // without the one that counts
}

double Limit(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0 : static_cast<double>(limit.rlim_cur);
}

// Seconds since the epoch, from the machine's start and the process's age at it.
double StartTime(double start_ticks, double ticks_per_second) {
  auto text = ReadFile("/proc/stat");
  size_t at = text ? text->find("btime ") : std::string::npos;
  double boot = at == std::string::npos ? 0 : std::strtod(text->c_str() + at + 6, nullptr);
  return boot + start_ticks / ticks_per_second;
}

}  // namespace

void MetricsRegistry::AddProcessMetrics() {
  Counter* cpu = &Counters("process_cpu_seconds_total", "User and system CPU time spent, in seconds.").Only();
  Gauge* open = &Gauges("process_open_fds", "Open file descriptors.").Only();
  Gauge* resident = &Gauges("process_resident_memory_bytes", "Resident memory, in bytes.").Only();
  Gauge* virtual_memory = &Gauges("process_virtual_memory_bytes", "Virtual memory, in bytes.").Only();
  Gauge* threads = &Gauges("process_threads", "Threads of the process.").Only();
  auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  Gauges("process_max_fds", "The most file descriptors that may be open.").Only().Set(Limit(RLIMIT_NOFILE));
  Gauges("process_virtual_memory_max_bytes", "The most virtual memory that may be used, in bytes.").Only().Set(Limit(RLIMIT_AS));
  Gauges("process_start_time_seconds", "When the process started, in seconds since the Unix epoch.")
      .Only()
      .Set(StartTime(Number(StatFields(), 22), ticks));
  BeforeRender([=] {
    std::vector<std::string> fields = StatFields();
    double spent = (Number(fields, 14) + Number(fields, 15)) / ticks;
    if (spent > cpu->value()) cpu->Add(spent - cpu->value());
    threads->Set(Number(fields, 20));
    virtual_memory->Set(Number(fields, 23));
    resident->Set(Number(fields, 24) * page);
    open->Set(OpenDescriptors());
  });
}

}  // namespace homeostat
