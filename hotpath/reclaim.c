#include "reclaim.h"
#include "paths.h"

// How often a thread that is in a section is looked at before the caller has to try again later. A section takes well under a
// microsecond, unless the thread is descheduled in it.
enum { PATIENCE = 1000 };

int hp_threads_outside(void) {
  atomic_thread_fence(memory_order_seq_cst);
  for (struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next) {
    uint32_t first = atomic_load(&t->making), looks = 0;
    while (first & 1 && atomic_load(&t->making) == first)
      if (++looks == PATIENCE) return 0;
  }
  return 1;
}

static uint32_t peek(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

// held may read torn state: the caller checks afterwards whether the thread was in a section meanwhile.
static int held(struct hp_thread *t, uint32_t *out) {
  if (peek(&t->generation) != hp_load(&hp_g.generation)) return 0; // its ids are from before all call paths were forgotten
  int n = 0;
  out[n++] = hp_load(&t->scope);
  out[n++] = peek(&t->leaf);
  out[n++] = peek(&t->python.base);
  out[n++] = peek(&t->python.leaf);
  out[n++] = peek(&t->launching.node);
  out[n++] = peek(&t->launching.pynode);
  out[n++] = peek(&t->lent.node);
  out[n++] = peek(&t->lent.pynode);
  out[n++] = peek(&t->seen.op);
  out[n++] = peek(&t->seen.op_over);
  for (int i = 0; i < HP_STATES; i++) out[n++] = peek(&t->seen.state[i]);
  for (int i = 0; i < HP_MEMO; i++) out[n++] = peek(&t->memo[i].node);
  return n;
}

int hp_thread_nodes(struct hp_thread *t, uint32_t out[HP_HELD]) {
  for (int looks = 0; looks < PATIENCE; looks++) {
    uint32_t before = atomic_load(&t->making);
    if (before & 1) continue;
    int n = held(t, out);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&t->making) == before) return n;
  }
  return -1;
}
