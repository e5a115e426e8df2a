#include "synthetic.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { NAME = 64, NODES = 16, GRAPHS = 64 };

// A record as this vendor writes it. Its first byte says what it is, and the second how many bytes of a name follow.
struct written {
  uint8_t what; // 'k', 'c'
  uint8_t name_length;
  uint8_t padding[6];
  uint64_t id, start, took, bytes, exec, node;
};

static struct {
  pthread_mutex_t lock; // guards what follows
  const struct hp_vendor_api *hp;
  int listening;
  int tells_graphs;  // whether the room reports graphs
  uint64_t ids;      // of calls
  uint64_t objects;  // ids of graphs and nodes
  uint8_t *buffer;
  size_t size, used;
  struct graph { uint64_t id, nodes[NODES]; char names[NODES][NAME]; int count; } capturing, graphs[GRAPHS];
  int captures, graph_count;
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .ids = (uint64_t)1 << 40, .objects = (uint64_t)1 << 33};

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- records ----

static int read_records(uint8_t *buffer, size_t valid, void **cursor, struct hp_activity *out, int max) {
  uint8_t *at = *cursor ? *cursor : buffer;
  int n = 0;
  for (; n < max && at < buffer + valid; n++) {
    struct written w;
    memcpy(&w, at, sizeof w);
    out[n] = (struct hp_activity){.kind = w.what == 'k' ? HP_KERNEL : HP_MEMCPY, .correlation = w.id, .start = w.start, .end = w.start + w.took,
                                  .bytes = w.bytes, .graph = w.exec, .graph_node = w.node,
                                  .name = gpu.hp->intern((const char *)at + sizeof w, w.name_length)};
    at += sizeof w + ((w.name_length + 7u) & ~7u);
  }
  *cursor = at;
  return n;
}

static void hand_over(void) {
  if (gpu.buffer) gpu.hp->buffer_done(gpu.buffer, gpu.used, read_records);
  gpu.buffer = NULL;
}

static void write_record(struct written w, const char *name) {
  w.name_length = (uint8_t)strlen(name);
  size_t length = sizeof w + ((w.name_length + 7u) & ~7u);
  if (!gpu.listening) return;
  if (gpu.buffer && gpu.used + length > gpu.size) hand_over();
  if (!gpu.buffer && !(gpu.used = 0, gpu.buffer = gpu.hp->buffer_get(&gpu.size))) return;
  memcpy(gpu.buffer + gpu.used, &w, sizeof w);
  memcpy(gpu.buffer + gpu.used + sizeof w, name, w.name_length);
  gpu.used += length;
}

// ---- what a program calls ----

static uint64_t function_of(const char *name) { // handles are as good as any number
  uint64_t h = 1;
  for (; *name; name++) h = h * 31 + (uint8_t)*name;
  return h;
}

static void returns(uint64_t id, uint32_t call) {
  if (gpu.listening && atomic_load(gpu.hp->exits_matter)) gpu.hp->launched(id, call);
}

void synthetic_launch(const char *kernel) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids;
  if (gpu.listening) gpu.hp->context_seen(&gpu), gpu.hp->launch(id, function_of(kernel));
  if (gpu.captures) { // without graphs the room takes it for a launch whose kernel never comes
    struct graph *g = &gpu.capturing;
    strncpy(g->names[g->count], kernel, NAME - 1);
    g->nodes[g->count] = ++gpu.objects;
    if (gpu.listening && gpu.tells_graphs) gpu.hp->node_created(g->id, g->nodes[g->count]);
    g->count++;
  } else {
    write_record((struct written){.what = 'k', .id = id, .start = now(), .took = 1000}, kernel);
  }
  returns(id, 1);
  pthread_mutex_unlock(&gpu.lock);
}

void synthetic_copy(uint64_t bytes) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids;
  if (gpu.listening) gpu.hp->work(id);
  write_record((struct written){.what = 'c', .id = id, .start = now(), .took = 1000, .bytes = bytes}, "<memcpy HtoD>");
  returns(id, 2);
  pthread_mutex_unlock(&gpu.lock);
}

// Each part is a record, as in libraries that copy through a buffer of their own.
void synthetic_copy_in_parts(uint64_t bytes, int parts, uint32_t stream) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids;
  if (gpu.listening) gpu.hp->call(&(struct hp_call){.correlation = id, .stream = stream, .work = 1, .several = 1});
  for (int i = 0; i < parts; i++) write_record((struct written){.what = 'c', .id = id, .start = now(), .took = 1000, .bytes = bytes}, "<memcpy HtoD>");
  returns(id, 2);
  pthread_mutex_unlock(&gpu.lock);
}

// The library has no records of waits.
void synthetic_wait(uint64_t nanos) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids, start = now();
  if (gpu.listening) gpu.hp->work(id), gpu.hp->waited(id, gpu.hp->intern("<wait>", 6), 0, start, nanos);
  returns(id, 4);
  pthread_mutex_unlock(&gpu.lock);
}

// The library's records have no streams.
void synthetic_launch_on(const char *kernel, uint32_t stream) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids;
  if (gpu.listening) gpu.hp->call(&(struct hp_call){.correlation = id, .function = function_of(kernel), .stream = stream});
  write_record((struct written){.what = 'k', .id = id, .start = now(), .took = 1000}, kernel);
  returns(id, 1);
  pthread_mutex_unlock(&gpu.lock);
}

void synthetic_capture_begin(void) {
  pthread_mutex_lock(&gpu.lock);
  gpu.captures = 1;
  gpu.capturing = (struct graph){.id = ++gpu.objects};
  if (gpu.hp && gpu.tells_graphs) gpu.hp->capture(+1);
  pthread_mutex_unlock(&gpu.lock);
}

uint64_t synthetic_capture_end(void) {
  pthread_mutex_lock(&gpu.lock);
  gpu.captures = 0;
  if (gpu.hp && gpu.tells_graphs) gpu.hp->capture(-1);
  struct graph *exec = &gpu.graphs[gpu.graph_count++ % GRAPHS];
  *exec = gpu.capturing;
  exec->id = ++gpu.objects;
  for (int i = 0; i < exec->count; i++) {
    exec->nodes[i] = ++gpu.objects;
    if (gpu.listening && gpu.tells_graphs) gpu.hp->node_cloned(exec->id, exec->nodes[i], gpu.capturing.nodes[i]);
  }
  uint64_t id = exec->id;
  pthread_mutex_unlock(&gpu.lock);
  return id;
}

void synthetic_graph_launch(uint64_t exec) {
  pthread_mutex_lock(&gpu.lock);
  uint64_t id = ++gpu.ids;
  if (gpu.listening && gpu.tells_graphs) gpu.hp->graph_launch(id, exec);
  for (int i = 0; i < GRAPHS; i++)
    for (int n = 0; gpu.graphs[i].id == exec && n < gpu.graphs[i].count; n++)
      write_record((struct written){.what = 'k', .id = id, .start = now(), .took = 1000, .exec = exec, .node = gpu.graphs[i].nodes[n]}, gpu.graphs[i].names[n]);
  returns(id, 3);
  pthread_mutex_unlock(&gpu.lock);
}

// ---- the room ----

void synthetic_use(const struct hp_vendor_api *api, int graphs) { gpu.hp = api, gpu.tells_graphs = graphs; }

void synthetic_listen(int on) {
  pthread_mutex_lock(&gpu.lock);
  gpu.listening = on;
  pthread_mutex_unlock(&gpu.lock);
}

void synthetic_flush(void) {
  pthread_mutex_lock(&gpu.lock);
  hand_over();
  pthread_mutex_unlock(&gpu.lock);
}
