#include "context.h"
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(void *) known[HP_CONTEXTS];
static _Atomic unsigned destroyed; // contexts that were destroyed or forgotten so far; a later context may have the same address
// A thread almost always launches in the same context.
static __thread struct { void *ctx; unsigned destroyed; } last __attribute__((tls_model("initial-exec")));

static _Atomic(void (*)(void)) first_use;

void hp_on_first_context(void (*f)(void)) { atomic_store(&first_use, f); }

void hp_context_seen(void *ctx) {
  unsigned now = atomic_load_explicit(&destroyed, memory_order_relaxed);
  if ((ctx == last.ctx && now == last.destroyed) || !ctx) return;
  last.ctx = ctx;
  last.destroyed = now;
  void (*first)(void) = atomic_exchange(&first_use, NULL);
  if (first) first();
  for (int i = 0; i < HP_CONTEXTS; i++) {
    void *here = atomic_load(&known[i]);
    if (here == ctx) return;
    if (!here && atomic_compare_exchange_strong(&known[i], &here, ctx)) return;
    if (here == ctx) return;
  }
}

void hp_context_gone(void *ctx) {
  atomic_fetch_add(&destroyed, 1);
  for (int i = 0; i < HP_CONTEXTS; i++) {
    void *here = ctx;
    atomic_compare_exchange_strong(&known[i], &here, NULL);
  }
}

void hp_contexts_forget(void) {
  atomic_fetch_add(&destroyed, 1); // every thread reports its context again
  for (int i = 0; i < HP_CONTEXTS; i++) atomic_store(&known[i], NULL);
}

int hp_contexts(void **out) {
  int n = 0;
  for (int i = 0; i < HP_CONTEXTS; i++) {
    void *here = atomic_load(&known[i]);
    if (here) out[n++] = here;
  }
  return n;
}
