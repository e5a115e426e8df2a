#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct hp_vendor_api *hp;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all but execs' handles and launched
static _Atomic uint64_t ids; // of nodes and executable graphs

// A list of nodes: of a capture, of the graph that it became, or of an executable graph.
struct nodes {
  struct nodes *next;
  uint64_t id;      // of the capture, or of the executable graph
  const void *graph; // of a capture that has ended
  uint64_t first;   // node i has the number first + i in an executable graph
  struct node { uint64_t number; uint32_t name; } *list;
  unsigned count, capacity;
  _Atomic uint64_t launches; // of an executable graph, not yet complete
};

static struct nodes *captures;

// ---- executable graphs by handle: read without a lock by graph launches ----

enum { EXECS = 4096, PROBES = 16 };
static struct { _Atomic(const void *) handle; _Atomic(struct nodes *) nodes; } execs[EXECS];

static unsigned slot_of(uint64_t key) { return (unsigned)(key * 0x9E3779B97F4A7C15u >> 52); }

static int find_exec(const void *handle) {
  unsigned at = slot_of((uintptr_t)handle);
  for (unsigned i = 0; i < PROBES; i++)
    if (atomic_load_explicit(&execs[(at + i) % EXECS].handle, memory_order_acquire) == handle) return (int)((at + i) % EXECS);
  return -1;
}

// ---- launches whose kernels have not all been seen ----

struct launch {
  _Atomic uint64_t correlation; // 0: free
  _Atomic(struct nodes *) nodes;
  uint8_t *seen; // with records only: by node; NULL before the first
  unsigned left;
};
static struct launch launches[EXECS];

static void free_launch(struct launch *l) {
  free(l->seen);
  l->seen = NULL;
  struct nodes *n = atomic_exchange(&l->nodes, NULL);
  if (n) atomic_fetch_sub(&n->launches, 1);
  atomic_store_explicit(&l->correlation, 0, memory_order_release);
}

static struct nodes *dead; // executable graphs that were destroyed while records of their launches were to come

static void bury(void) {
  for (struct nodes **at = &dead; *at;) {
    struct nodes *n = *at;
    if (atomic_load(&n->launches)) { at = &n->next; continue; }
    *at = n->next;
    free(n->list), free(n);
  }
}

uint64_t graph_launched(const void *exec, uint64_t correlation) {
  int at = find_exec(exec);
  struct nodes *n = at < 0 ? NULL : atomic_load_explicit(&execs[at].nodes, memory_order_acquire);
  if (!n) return 0;
  unsigned first = slot_of(correlation);
  for (unsigned i = 0; i < PROBES; i++) {
    struct launch *l = &launches[(first + i) % EXECS];
    uint64_t expected = 0;
    if (!atomic_compare_exchange_strong(&l->correlation, &expected, UINT64_MAX)) continue;
    atomic_fetch_add(&n->launches, 1);
    atomic_store(&l->nodes, n);
    atomic_store_explicit(&l->correlation, correlation, memory_order_release);
    break;
  }
  return n->id; // where all places are taken its kernels are found to be the graph's, of no known node
}
