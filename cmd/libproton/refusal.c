// Whether Go's runtime may start in this process, decided in plain C before it does. What it lacks it takes by ending
// the process, at once or later, so where something is lacking it is not started at all.
#define _GNU_SOURCE
#include "refusal.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Go's heap tables and our call paths, metrics and rings reserve 2.7 GB of addresses, of which 1.1 GB count as data, and
// use a few dozen MB of them. The rest is for stacks, malloc's arenas and a profile that grows.
static const unsigned long long addresses = 4ull << 30, data = 2ull << 30;
enum { THREADS = 10 }; // that Go's runtime starts, with those that main.go reserves

static char reason[200];
static _Atomic int said;

const char *refusal(void) { return *reason ? reason : NULL; }

int refusal_is_said(void) { return atomic_exchange(&said, 1); }

const char *proton_refusal(void) {
  refusal_is_said();
  return refusal();
}

// The process's memory in bytes by /proc/self/statm: addresses in field 1, data in field 6. 0 where /proc is missing.
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

// Addresses held in reserve: a program that lowers its limit to what it has would leave Go none for its next collection.
enum { RESERVE = 64 << 20 };
static void *reserve = MAP_FAILED;
static struct rlimit limit_then;

static void hold_addresses(void) {
  getrlimit(RLIMIT_AS, &limit_then);
  reserve = mmap(NULL, RESERVE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void addresses_if_limited(void) {
  struct rlimit now;
  if (reserve == MAP_FAILED || getrlimit(RLIMIT_AS, &now) || now.rlim_cur >= limit_then.rlim_cur) return;
  munmap(reserve, RESERVE);
  reserve = MAP_FAILED;
}

static void *wait_for(void *barrier) {
  pthread_mutex_lock(barrier);
  pthread_mutex_unlock(barrier);
  return NULL;
}

// Starts as many threads as will be needed, all at once, and ends them.
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

// The linker puts this in place of the function of runtime/cgo that starts Go's first thread, from a constructor of the
// library (-Wl,--wrap). Signals are the program's: with all of them blocked, no thread of Go's ever runs one of its
// handlers, which may be too large for Go's stacks, or takes a signal from a sigwait of its own. Go unblocks for itself
// what it needs.
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
