// The process that holds a pod's namespaces: does nothing, collects orphans, ends on SIGTERM and SIGINT.
//
// It runs in every pod, so it is built without a C library (a few kilobytes, no memory of its own). All signals are
// blocked and waited for, not handled: as process 1 it would not get them otherwise.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long Call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#else
#error "pause needs the system call sequence of this processor"
#endif
}

void _start(void) {
  unsigned long all = ~0UL;  // the kernel's set of 64 signals
  Call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, 0, sizeof all);
  for (;;) {
    long signal = Call(SYS_rt_sigtimedwait, (long)&all, 0, 0, sizeof all);
    if (signal == SIGCHLD) {
      while (Call(SYS_wait4, -1, 0, WNOHANG, 0) > 0) {
      }
    }
    if (signal == SIGTERM || signal == SIGINT) Call(SYS_exit_group, 0, 0, 0, 0);
  }
}
