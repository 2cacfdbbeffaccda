#include "cli/resting_memory.h"

#include <jemalloc/jemalloc.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace homeostat::cli {
namespace {

// A process that used less of one processor than this share in such a time rests.
constexpr Duration kRestCheck = std::chrono::seconds(10);
constexpr int kRestingShare = 50;  // one in so many

// Segments that can't be written are the file's, unchanged; those with relocated tables are written before they are protected, and
// are marked as writable here.
int DropFilePages(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    uintptr_t start = (object->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
    uintptr_t end = (object->dlpi_addr + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
    // The kernel's own object refuses, which does no harm.
    if (start < end) (void)madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
  }
  return 0;
}

Duration ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& time) { return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec); };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

void GiveBackMemory() {
  static_assert(MALLCTL_ARENAS_ALL == 4096);
  mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
  dl_iterate_phdr(&DropFilePages, nullptr);
}

Task<void> GiveBackMemoryAtRest(Runtime& runtime) {
  for (Duration before = ProcessorTime();;) {
    auto pause = Sleep(runtime, kRestCheck);
    co_await std::move(pause);
    const Duration now = ProcessorTime();
    if (now - before < kRestCheck / kRestingShare) GiveBackMemory();
    before = now;
  }
}

}  // namespace homeostat::cli
