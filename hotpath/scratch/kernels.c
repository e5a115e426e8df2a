// Kernels by the handles of their functions. Launching threads read; control calls add, one at a time.
#include <stdlib.h>

#include "drain.h"

enum { CHAINS = 1024 };
static _Atomic(struct scratch_kernel *) chains[CHAINS];

static _Atomic(struct scratch_kernel *) *chain_of(uint64_t function) { return &chains[(function >> 4 ^ function >> 14) % CHAINS]; }

const struct scratch_kernel *scratch_kernel_of(uint64_t function) {
  struct scratch_kernel *k = atomic_load_explicit(chain_of(function), memory_order_acquire);
  while (k && (k->function != function || atomic_load_explicit(&k->gone, memory_order_relaxed))) k = k->next;
  return k;
}

// A handle is defined again when the driver has reused it: the newest definition is the first in its chain.
int scratch_define(uint64_t function, uint32_t number, uint32_t slot, uint32_t warps, uint64_t units) {
  struct scratch_kernel *k = calloc(1, sizeof *k);
  if (!k) return 0;
  *k = (struct scratch_kernel){.function = function, .number = number, .slot = slot, .warps = warps, .units = units};
  _Atomic(struct scratch_kernel *) *chain = chain_of(function);
  struct scratch_kernel *first = atomic_load(chain);
  do k->next = first;
  while (!atomic_compare_exchange_weak(chain, &first, k));
  return 1;
}

void scratch_forget(uint64_t function) {
  for (struct scratch_kernel *k = atomic_load(chain_of(function)); k; k = k->next)
    if (k->function == function) atomic_store(&k->gone, 1);
}
