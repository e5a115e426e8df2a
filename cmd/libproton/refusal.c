// Decides, before Go's runtime starts, whether it may. If Go lacks memory or a thread, at once or later, it ends the process; so it
// is not started in a process that has too little.
#define _GNU_SOURCE
#include "refusal.h"
#include "../../hooks/refusal.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Go's heap tables and the hot path's call paths, metrics and rings reserve 2.7 GB of addresses, of which 1.1 GB count as data and
// a few dozen MB are used. The rest is for stacks, malloc's arenas and a growing profile.
static const unsigned long long addresses = 4ull << 30, data = 2ull << 30;
enum { THREADS = 10 }; // those that Go's runtime starts, including those that main.go reserves

static char reason[200];
static _Atomic int said;

const char *refusal(void) { return *reason ? reason : NULL; }

int refusal_is_said(void) { return atomic_exchange(&said, 1); }

// The extension module reports the reason as the error of its import.
static const char *refusal_of_import(void) {
  refusal_is_said();
  return refusal();
}

__attribute__((constructor)) static void tell_hooks(void) { hooks_refusal = refusal_of_import; }

// The process's address space and data in bytes: fields 1 and 6 of /proc/self/statm; 0 if /proc is missing.
static void used(unsigned long long *all, unsigned long long *writable) {
  unsigned long long pages[6] = {0}, page = (unsigned long long)sysconf(_SC_PAGESIZE);
  FILE *f = fopen("/proc/self/statm", "re");
  if (f && fscanf(f, "%llu %llu %llu %llu %llu %llu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]) < 6) pages[5] = 0;
  if (f) fclose(f);
  *all = pages[0] * page, *writable = pages[5] * page;
}

static int limited(int resource, unsigned long long taken, unsigned long long need, const char *what, const char *flag) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY || (taken < limit.rlim_cur && limit.rlim_cur - taken >= need)) return 0;
  unsigned long long left = taken < limit.rlim_cur ? limit.rlim_cur - taken : 0;
  snprintf(reason, sizeof reason, "the limit of the process leaves %llu MB of %s and the profiler needs %llu MB: raise it (ulimit -%s)", left >> 20, what, need >> 20, flag);
  return 1;
}

static int memory(void) {
  unsigned long long all, writable, stacks = 0;
  struct rlimit stack;
  if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur != RLIM_INFINITY) stacks = stack.rlim_cur * THREADS;
  used(&all, &writable);
  return limited(RLIMIT_AS, all, addresses + stacks, "address space", "v") || limited(RLIMIT_DATA, writable, data + stacks, "data", "d");
}

// Reserved addresses, which are released when the program lowers its limit to what it uses: Go needs some for its next collection.
enum { RESERVE = 64 << 20 };
static void *reserve = MAP_FAILED;
static struct rlimit limit_at_start;

static void hold_addresses(void) {
  getrlimit(RLIMIT_AS, &limit_at_start);
  reserve = mmap(NULL, RESERVE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void addresses_if_limited(void) {
  struct rlimit now;
  if (reserve == MAP_FAILED || getrlimit(RLIMIT_AS, &now) || now.rlim_cur >= limit_at_start.rlim_cur) return;
  munmap(reserve, RESERVE);
  reserve = MAP_FAILED;
}

static void *wait_for(void *barrier) {
  pthread_mutex_lock(barrier);
  pthread_mutex_unlock(barrier);
  return NULL;
}

// Finds out whether the process can have so many more threads, by starting and ending them.
static int threads(void) {
  pthread_mutex_t barrier = PTHREAD_MUTEX_INITIALIZER;
  pthread_t started[THREADS];
  int n = 0, error = 0;
  pthread_mutex_lock(&barrier);
  while (n < THREADS && !(error = pthread_create(&started[n], NULL, wait_for, &barrier))) n++;
  pthread_mutex_unlock(&barrier);
  for (int i = 0; i < n; i++) pthread_join(started[i], NULL);
  if (error) snprintf(reason, sizeof reason, "the process can start only %d more threads and the profiler needs %d (%s): raise the limit (ulimit -u, pids.max)", n, THREADS, strerror(error));
  return error;
}

// The linker replaces the function of runtime/cgo that starts Go's first thread, in a constructor of the library, by this one
// (-Wl,--wrap). All signals are blocked in Go's threads, except those that Go unblocks for itself: these threads must not run the
// program's handlers, which may be too large for Go's stacks, nor take a signal that the program waits for in sigwait.
void __real_x_cgo_sys_thread_create(void *(*f)(void *), void *argument);

void __wrap_x_cgo_sys_thread_create(void *(*f)(void *), void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (!memory() && !threads()) {
    hold_addresses();
    __real_x_cgo_sys_thread_create(f, argument);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
