// The gate that keeps CUPTI from blocking the program when sampling is switched. PCSamplingStart and Stop take CUPTI's lock of
// sampling and then one of the driver's; a launch on another thread takes the two in the other order, and both wait for ever (seen
// on an H100, CUPTI 13.0: a loop of launches stood still within a second). So they are called only while no thread is in such a
// call of the driver. A thread that is about to make one while the gate is closed waits here, in front of the driver's locks.
#include "sampling_state.h"

#include <stdatomic.h>
#include <time.h>

// The number of threads inside, whether the gate is closed, and the number of the session: threads that were inside when an earlier
// one ended are not counted, because their end is not reported.
static _Atomic uint64_t gate;
static const uint64_t closed = 1ull << 31;
static uint64_t session_of(uint64_t g) { return g >> 32; }
static uint64_t inside(uint64_t g) { return g & (closed - 1); }

enum { POLL_US = 20, CLOSED_NS = 5000000, APART_MS = 20 };

static void pause_us(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

static __thread struct { uint64_t session; uint32_t depth; } mine __attribute__((tls_model("initial-exec")));

// ---- on the program's threads ----

void gate_enter(void) {
  if (cupti_own_call) return;
  uint64_t now = atomic_load_explicit(&gate, memory_order_relaxed);
  if (mine.session == session_of(now) && mine.depth++) return;
  for (;;) {
    if (now & closed) pause_us(POLL_US), now = atomic_load_explicit(&gate, memory_order_relaxed);
    else if (atomic_compare_exchange_weak(&gate, &now, now + 1)) break;
  }
  mine.session = session_of(now), mine.depth = 1;
}

void gate_leave(void) {
  if (cupti_own_call || !mine.depth) return;
  uint64_t now = atomic_load_explicit(&gate, memory_order_relaxed);
  if (mine.session != session_of(now)) {
    mine.depth = 0;
    return;
  }
  if (--mine.depth) return;
  while (session_of(now) == mine.session && !atomic_compare_exchange_weak(&gate, &now, now - 1)) {}
}

// ---- on the sampling thread ----

void gate_begin(void) { atomic_store(&gate, (session_of(atomic_load(&gate)) + 1) << 32); }

void gate_open(void) { atomic_fetch_and(&gate, ~closed); }

// How many threads stayed inside during all attempts of the last patient caller, in which session.
static struct { uint64_t session, threads; } stayed;

// wait_for_quiet returns 1 when no thread is inside, 0 after CLOSED_NS. A poll takes longer than it asks for.
static int wait_for_quiet(void) {
  for (uint64_t limit = sampler_nanos(CLOCK_MONOTONIC) + CLOSED_NS; inside(atomic_load(&gate)); pause_us(POLL_US))
    if (sampler_nanos(CLOCK_MONOTONIC) >= limit) return 0;
  return 1;
}

// A launch may take as long as the GPU is full. The others do not wait for it: the gate opens, and is closed again a little later. A thread
// that stays in a launch for ever is waited for only once.
int gate_close(int attempts) {
  int patient = attempts > 1;
  uint64_t now = 0;
  for (; attempts > 0; attempts--) {
    atomic_fetch_or(&gate, closed);
    if (wait_for_quiet()) return stayed.threads = 0, 1;
    now = atomic_load(&gate);
    gate_open();
    if (stayed.session == session_of(now) && inside(now) <= stayed.threads) return stayed.threads = inside(now), 0;
    if (attempts > 1) pause_us(APART_MS * 1000);
  }
  if (patient) stayed.session = session_of(now), stayed.threads = inside(now);
  return 0;
}
