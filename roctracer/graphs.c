#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all but the table of handles and the ring
static _Atomic uint64_t ids;                             // of nodes and graphs

// ---- lists of kernels ----

// The kernels of a capture, then of the graph made of it, then of each executable graph made of that.
struct graph {
  struct graph *next;
  uint64_t id;        // ours
  uint64_t capture;   // HIP's number of the capture in progress
  const void *handle; // of the graph that was made of the capture
  struct node { uint64_t number; uint32_t name; } *nodes;
  unsigned count, capacity;
  unsigned launches;  // of an executable graph, of which records are to come
  int destroyed;
};
static struct graph *captures, *graphs, *execs;

static struct graph *new_graph(struct graph **list) {
  struct graph *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  g->id = atomic_fetch_add(&ids, 1) + 1;
  g->next = *list;
  return *list = g;
}

static void unlink_graph(struct graph **list, const struct graph *g) {
  while (*list != g) list = &(*list)->next;
  *list = g->next;
}

static void free_graph(struct graph **list, struct graph *g) {
  unlink_graph(list, g);
  free(g->nodes);
  free(g);
}

static struct graph *capture_numbered(uint64_t capture) {
  struct graph *g = captures;
  while (g && g->capture != capture) g = g->next;
  return g;
}

static struct graph *graph_at(const void *handle) {
  struct graph *g = graphs;
  while (g && g->handle != handle) g = g->next;
  return g;
}

static struct graph *exec_numbered(uint64_t id) {
  struct graph *g = execs;
  while (g && g->id != id) g = g->next;
  return g;
}

// ---- captures ----

void graph_began(uint64_t capture) {
  pthread_mutex_lock(&lock);
  struct graph *g = capture_numbered(capture) ? NULL : new_graph(&captures);
  if (g) g->capture = capture;
  pthread_mutex_unlock(&lock);
}

static int grow(struct graph *g) {
  if (g->count < g->capacity) return 1;
  unsigned capacity = g->capacity ? 2 * g->capacity : 64;
  struct node *nodes = realloc(g->nodes, capacity * sizeof *nodes);
  if (!nodes) return 0;
  g->nodes = nodes, g->capacity = capacity;
  return 1;
}

void graph_captured(uint64_t capture, uint32_t name) {
  pthread_mutex_lock(&lock);
  struct graph *g = capture_numbered(capture);
  if (g && grow(g)) {
    uint64_t number = atomic_fetch_add(&ids, 1) + 1;
    g->nodes[g->count++] = (struct node){number, name};
    room_hp->node_created(g->id, number);
  }
  pthread_mutex_unlock(&lock);
}

void graph_ended(uint64_t capture, const void *handle) {
  pthread_mutex_lock(&lock);
  struct graph *g = capture_numbered(capture);
  if (g && !handle) room_hp->graph_destroyed(g->id), free_graph(&captures, g);
  else if (g) {
    unlink_graph(&captures, g);
    g->handle = handle, g->next = graphs, graphs = g;
  }
  pthread_mutex_unlock(&lock);
}

void graphs_interrupted(void) {
  pthread_mutex_lock(&lock);
  while (captures) room_hp->graph_destroyed(captures->id), free_graph(&captures, captures);
  pthread_mutex_unlock(&lock);
}

void graph_destroyed(const void *handle) {
  pthread_mutex_lock(&lock);
  struct graph *g = graph_at(handle);
  if (g) room_hp->graph_destroyed(g->id), free_graph(&graphs, g);
  pthread_mutex_unlock(&lock);
}

// ---- executable graphs by handle, which graph launches read without a lock ----

enum { HANDLES = 1 << 14, PROBES = 32 };
static struct { _Atomic(const void *) exec; _Atomic uint64_t id; } handles[HANDLES];
static const char gone; // its address stands where a handle was

static unsigned place_of(const void *handle) { return (unsigned)((uintptr_t)handle * 0x9E3779B97F4A7C15u >> 50); }

static int find_handle(const void *exec) {
  for (unsigned i = 0, at = place_of(exec); i < PROBES; i++, at = (at + 1) % HANDLES) {
    const void *here = atomic_load_explicit(&handles[at].exec, memory_order_acquire);
    if (here == exec) return (int)at;
    if (!here) return -1;
  }
  return -1;
}

static void put_handle(const void *exec, uint64_t id) {
  for (unsigned i = 0, at = place_of(exec); i < PROBES; i++, at = (at + 1) % HANDLES) {
    const void *here = atomic_load(&handles[at].exec);
    if (here && here != &gone) continue;
    atomic_store(&handles[at].id, id);
    atomic_store_explicit(&handles[at].exec, exec, memory_order_release);
    return;
  } // with all places taken, its kernels stand below the launch and not where they were captured
}

static int by_name(const void *a, const void *b) {
  const struct node *x = a, *y = b;
  if (x->name != y->name) return x->name < y->name ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

// The nodes of an executable graph are sorted by name, and those of a name are in the order of the capture.
static void clone(struct graph *exec, const struct graph *from) {
  if (!from->count || !(exec->nodes = malloc(from->count * sizeof *exec->nodes))) return;
  memcpy(exec->nodes, from->nodes, from->count * sizeof *exec->nodes);
  exec->count = from->count;
  qsort(exec->nodes, exec->count, sizeof *exec->nodes, by_name);
  for (unsigned i = 0; i < exec->count; i++) {
    uint64_t original = exec->nodes[i].number;
    exec->nodes[i].number = atomic_fetch_add(&ids, 1) + 1;
    room_hp->node_cloned(exec->id, exec->nodes[i].number, original);
  }
}

static void end_exec(const void *exec) {
  int at = find_handle(exec);
  if (at < 0) return;
  struct graph *g = exec_numbered(atomic_load(&handles[at].id));
  atomic_store(&handles[at].exec, &gone);
  if (!g) return;
  g->destroyed = 1;
  room_hp->exec_destroyed(g->id);
}

void graph_instantiated(const void *handle, const void *exec) {
  if (!exec) return;
  pthread_mutex_lock(&lock);
  end_exec(exec); // its end was not seen
  struct graph *from = graph_at(handle), *g = from ? new_graph(&execs) : NULL;
  if (g) clone(g, from), put_handle(exec, g->id);
  pthread_mutex_unlock(&lock);
}

void graph_exec_destroyed(const void *exec) {
  pthread_mutex_lock(&lock);
  end_exec(exec);
  pthread_mutex_unlock(&lock);
}

// ---- launches: from the program's threads through a ring to where the records are ----

// A place of the ring can be written while turn is its number plus a multiple of RING, and read when it is one more.
enum { RING = 1 << 15 };
static struct launched { _Atomic uint64_t turn; uint64_t correlation, exec; } ring[RING];
static _Atomic uint64_t written;
static uint64_t taken; // all before this place have been taken; guarded by lock

uint64_t graph_launched(const void *exec, uint64_t correlation) {
  int at = find_handle(exec);
  if (at < 0) return (uint64_t)(uintptr_t)exec;
  uint64_t id = atomic_load_explicit(&handles[at].id, memory_order_acquire);
  uint64_t place = atomic_load_explicit(&written, memory_order_relaxed);
  for (;;) {
    struct launched *l = &ring[place % RING];
    uint64_t turn = atomic_load_explicit(&l->turn, memory_order_acquire);
    if (turn != place / RING * 2) {
      if (atomic_load(&written) == place) return id; // the ring is full: as for a handle without a place
      place = atomic_load(&written);
    } else if (atomic_compare_exchange_weak(&written, &place, place + 1)) {
      l->correlation = correlation, l->exec = id;
      atomic_store_explicit(&l->turn, turn + 1, memory_order_release);
      return id;
    }
  }
}

// A launch whose kernels have not all been seen. They are in a hash table of chains, and in the order of their launches.
struct launch {
  struct launch *chained, *newer, *older;
  uint64_t correlation;
  struct graph *exec;
  unsigned left;
  uint32_t seen[]; // at the first node of a name: how many records of that name there were
};
enum { CHAINS = 1 << 12, WAITING = 1 << 16 }; // records of the oldest of so many launches were lost
static struct launch *chains[CHAINS], *newest, *oldest;
static unsigned waiting;

static struct launch **chain_of(uint64_t correlation) { return &chains[correlation * 0x9E3779B97F4A7C15u >> 52]; }

static void end_launch(struct launch *l) {
  struct launch **at = chain_of(l->correlation);
  while (*at != l) at = &(*at)->chained;
  *at = l->chained;
  *(l->newer ? &l->newer->older : &newest) = l->older;
  *(l->older ? &l->older->newer : &oldest) = l->newer;
  l->exec->launches--;
  waiting--;
  free(l);
}

static void add_launch(uint64_t correlation, uint64_t id) {
  struct graph *exec = exec_numbered(id);
  struct launch *l = exec && exec->count ? calloc(1, sizeof *l + exec->count * sizeof *l->seen) : NULL;
  if (!l) return;
  if (waiting == WAITING) end_launch(oldest);
  l->correlation = correlation, l->exec = exec, l->left = exec->count;
  exec->launches++;
  l->chained = *chain_of(correlation), *chain_of(correlation) = l;
  l->older = newest;
  *(newest ? &newest->newer : &oldest) = l;
  newest = l;
  waiting++;
}

// A thread that has taken a place can be stopped before it fills it, on a busy machine for seconds: the launches behind it are taken all
// the same. Its own has not reached HIP yet, so no record waits for it.
static void take_launches(void) {
  uint64_t end = atomic_load(&written);
  for (uint64_t place = taken; place != end; place++) {
    struct launched *l = &ring[place % RING];
    uint64_t filled = place / RING * 2 + 1, turn = atomic_load_explicit(&l->turn, memory_order_acquire);
    if (turn == filled) {
      add_launch(l->correlation, l->exec);
      atomic_store_explicit(&l->turn, ++turn, memory_order_release);
    }
    if (place == taken && turn > filled) taken++;
  }
}

void graphs_tidy(void) {
  pthread_mutex_lock(&lock);
  take_launches();
  for (struct graph *g = execs, *next; g; g = next) {
    next = g->next;
    if (g->destroyed && !g->launches) free_graph(&execs, g);
  }
  pthread_mutex_unlock(&lock);
}

// ---- records ----

// The first node of a name, or count.
static unsigned first_named(const struct graph *g, uint32_t name) {
  unsigned low = 0, high = g->count;
  while (low < high) {
    unsigned middle = low + (high - low) / 2;
    if (g->nodes[middle].name < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void resolve(struct launch *l, struct hp_activity *k) {
  const struct graph *g = l->exec;
  k->graph = g->id;
  unsigned first = first_named(g, k->name);
  if (first == g->count || g->nodes[first].name != k->name) return; // a node that was not captured
  unsigned at = first + l->seen[first];
  if (at >= g->count || g->nodes[at].name != k->name) return; // there are more of that name
  l->seen[first]++;
  k->graph_node = g->nodes[at].number;
  if (!--l->left) end_launch(l);
}

void graph_resolve(struct hp_activity *k) {
  pthread_mutex_lock(&lock);
  take_launches();
  struct launch *l = *chain_of(k->correlation);
  while (l && l->correlation != k->correlation) l = l->chained;
  if (l) resolve(l, k);
  pthread_mutex_unlock(&lock);
}

static void free_all(struct graph **list) {
  while (*list) free_graph(list, *list);
}

void graphs_forget(void) {
  pthread_mutex_lock(&lock);
  take_launches();
  while (oldest) end_launch(oldest);
  free_all(&captures), free_all(&graphs), free_all(&execs);
  for (unsigned i = 0; i < HANDLES; i++) atomic_store(&handles[i].exec, NULL);
  pthread_mutex_unlock(&lock);
}
