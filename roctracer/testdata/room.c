// Tests of the room's C without a library and without a GPU: the hot path, HIP and the records are this program's.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../graphs.h"
#include "../legacy.h"

// ---- the hot path ----

enum { SIZE = 1 << 16 };
static struct { uint64_t activities, kernels, no_time, of_nodes, copies; uint64_t nodes[1 << 12]; } got;
static _Atomic uint32_t captures;
static _Atomic uint64_t created, cloned, ended;

static uint8_t *buffer_get(size_t *size) { return *size = SIZE, calloc(1, SIZE); }
static void buffer_done(uint8_t *buffer, size_t valid, hp_activity_reader reader) {
  assert(!reader && valid <= SIZE && valid % sizeof(struct hp_activity) == 0);
  for (struct hp_activity *a = (void *)buffer; (uint8_t *)a < buffer + valid; a++) {
    assert(a->kind <= HP_SYNC && a->name);
    assert((!a->start && !a->end) || a->start < a->end);
    if (a->graph_node) got.nodes[got.of_nodes++ % (1 << 12)] = a->graph_node;
    got.activities++, got.kernels += a->kind == HP_KERNEL, got.no_time += !a->start, got.copies += a->kind == HP_MEMCPY;
  }
  free(buffer);
}
static uint32_t intern(const char *text, size_t length) {
  uint32_t h = 1;
  for (size_t i = 0; i < length; i++) h = h * 31 + (uint8_t)text[i];
  return h ? h : 1;
}
static void launch(uint64_t c, uint64_t f) { (void)c, (void)f; }
static void call(const struct hp_call *c) { (void)c; }
static void work(uint64_t c) { (void)c; }
static void launched(uint64_t c, uint32_t n) { (void)c, (void)n; }
static void waited(uint64_t c, uint32_t name, uint16_t d, uint64_t s, uint64_t n) { (void)c, (void)name, (void)d, (void)s, (void)n; }
static void capture(int delta) { captures += (uint32_t)delta; }
static int capturing(void) { return (int)captures; }
static void node_created(uint64_t g, uint64_t n) { (void)g, (void)n, created++; }
static void node_cloned(uint64_t e, uint64_t n, uint64_t o) { (void)e, (void)n, (void)o, cloned++; }
static void graph_gone(uint64_t g) { (void)g, ended++; }
static void context(void *c) { assert(c); }
static const struct hp_vendor_api api = {
    .size = sizeof api, .launch = launch, .graph_launch = launch, .work = work, .call = call, .launched = launched, .waited = waited, .exits_matter = &captures,
    .capture = capture, .capturing = capturing, .node_created = node_created, .node_cloned = node_cloned, .graph_destroyed = graph_gone,
    .exec_destroyed = graph_gone, .context_seen = context, .context_gone = context, .intern = intern, .buffer_get = buffer_get, .buffer_done = buffer_done};

// ---- HIP ----

static __thread unsigned long long captured; // the number of the capture of the thread's stream
static int capture_info(void *stream, int *status, unsigned long long *number) {
  (void)stream;
  *status = captured != 0, *number = captured;
  return 0;
}
static const char *name_of(const void *function) { return function; } // handles are names

static const struct hip_call *named(const char *name) {
  for (unsigned i = 0; i < hip_call_count; i++)
    if (!strcmp(hip_calls[i].name, name)) return &hip_calls[i];
  abort();
}

static _Atomic uint64_t ids = (uint64_t)1 << 33;

static uint64_t do_call(const char *name, const void *first, const void *second, unsigned long long then) {
  struct hip_arguments a = {first, second, (const void *)8};
  uint64_t id = ++ids;
  room_enter(named(name), id, &a);
  captured = then;
  room_exit(named(name), id, &a, 0);
  return id;
}

// Captures kernels, and makes an executable graph with the handle exec.
static void make_graph(unsigned long long number, const void *graph, const void *exec, const char *const *kernels) {
  do_call("hipStreamBeginCapture", NULL, NULL, number);
  for (; *kernels; kernels++) do_call("hipModuleLaunchKernel", *kernels, NULL, number);
  do_call("hipStreamEndCapture", NULL, &graph, 0);
  do_call("hipGraphInstantiate", &exec, graph, 0);
}

static void kernel(uint64_t id, const char *name) {
  room_record((struct hp_activity){.kind = HP_KERNEL, .correlation = id, .name = room_kernel_name(name), .start = 1, .end = 2});
}

// ---- tests ----

static uint64_t random_state = 88172645463325252u;
static uint64_t random64(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return random_state;
}

// Records of any content are copied, or counted as dropped. Only the pointer to a kernel's name is the library's promise.
static void fuzz_records(int rounds) {
  static const char *const names[] = {"add", "add.kd", ".kd", "", NULL};
  for (int i = 0; i < rounds; i++) {
    size_t size = random64() % (40 * sizeof(struct roctracer_record));
    char *buffer = malloc(size ? size : 1);
    for (size_t at = 0; at < size; at++) buffer[at] = (char)random64();
    for (size_t at = 0; at + sizeof(struct roctracer_record) <= size; at += sizeof(struct roctracer_record)) {
      struct roctracer_record *r = (void *)(buffer + at);
      if (random64() % 4) r->domain = ROCTRACER_HIP_OPS, r->op = (uint32_t)random64() % 5;
      if (r->op == ROCTRACER_DISPATCH) r->name = names[random64() % 5];
    }
    uint64_t before = got.activities, whole = size / sizeof(struct roctracer_record), barriers = 0;
    for (uint64_t n = 0; n < whole; n++) {
      const struct roctracer_record *r = (const void *)(buffer + n * sizeof *r);
      barriers += r->domain == ROCTRACER_HIP_OPS && r->op == ROCTRACER_BARRIER;
    }
    legacy_records(buffer, buffer + size, NULL);
    assert(got.activities - before + room_dropped() + barriers == whole + (size % sizeof(struct roctracer_record) != 0));
    free(buffer);
  }
  legacy_records(NULL, NULL, NULL);
}

static void equal_names_are_in_order(void) {
  static const char *const kernels[] = {"add", "mul", "add", NULL};
  make_graph(1, "graph", "exec", kernels);
  memset(&got, 0, sizeof got);
  uint64_t first = do_call("hipGraphLaunch", "exec", NULL, 0), second = do_call("hipGraphLaunch", "exec", NULL, 0);
  kernel(second, "add.kd"), kernel(first, "mul"), kernel(first, "add"), kernel(second, "add"), kernel(first, "add"), kernel(second, "mul");
  kernel(second, "mul"), kernel(first, "other");
  room_flush();
  assert(got.of_nodes == 6 && got.kernels == 8);
  assert(got.nodes[0] == got.nodes[2] && got.nodes[3] == got.nodes[4] && got.nodes[0] < got.nodes[3]); // the first add, and the second
  assert(got.nodes[1] == got.nodes[5]);
  do_call("hipGraphExecDestroy", "exec", NULL, 0), do_call("hipGraphDestroy", "graph", NULL, 0);
}

// Launches whose records are lost give way to newer ones, and a ring without a reader does not keep the program waiting.
static void lost_records(void) {
  static const char *const kernels[] = {"add", NULL};
  make_graph(2, "graph", "exec", kernels);
  for (int i = 0; i < 100000; i++) do_call("hipGraphLaunch", "exec", NULL, 0);
  for (int i = 0; i < 200000; i++) {
    do_call("hipGraphLaunch", "exec", NULL, 0);
    if (i % 1000 == 0) room_flush();
  }
  room_flush(); // what the ring held is taken in
  memset(&got, 0, sizeof got);
  kernel(do_call("hipGraphLaunch", "exec", NULL, 0), "add");
  room_flush();
  assert(got.of_nodes == 1);
}

// A handle that comes back is another graph: the kernels of the old one's launches are still found.
static void handles_come_back(void) {
  static const char *const one[] = {"add", NULL}, *const other[] = {"mul", NULL};
  make_graph(3, "graph", "exec", one);
  uint64_t first = do_call("hipGraphLaunch", "exec", NULL, 0);
  do_call("hipGraphExecDestroy", "exec", NULL, 0), do_call("hipGraphDestroy", "graph", NULL, 0);
  make_graph(4, "graph", "exec", other);
  uint64_t second = do_call("hipGraphLaunch", "exec", NULL, 0);
  memset(&got, 0, sizeof got);
  kernel(second, "mul"), kernel(first, "add");
  room_flush();
  assert(got.of_nodes == 2 && got.nodes[0] != got.nodes[1]);
}

// While captures, launches, ends and records of several threads meet, every kernel finds its node.
static void *capture_and_launch(void *number) {
  static const char *const kernels[] = {"add", "mul", "add", NULL};
  for (int i = 0; i < 300; i++) {
    const void *graph = (const char *)number + 2, *exec = (const char *)number + 4;
    make_graph((unsigned long long)(uintptr_t)number + (unsigned)i, graph, exec, kernels);
    for (int n = 0; n < 5; n++) {
      uint64_t id = do_call("hipGraphLaunch", exec, NULL, 0);
      for (const char *const *k = kernels; *k; k++) kernel(id, *k);
    }
    do_call("hipGraphExecDestroy", exec, NULL, 0), do_call("hipGraphDestroy", graph, NULL, 0);
    if (i % 16 == 0) room_flush();
  }
  return NULL;
}

static void threads(void) {
  enum { THREADS = 8 };
  pthread_t ids[THREADS];
  memset(&got, 0, sizeof got);
  for (uintptr_t i = 0; i < THREADS; i++) assert(!pthread_create(&ids[i], NULL, capture_and_launch, (void *)((i + 1) << 32)));
  for (int i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
  room_flush();
  assert(got.kernels == THREADS * 300 * 15 && got.of_nodes == got.kernels && captures == 0);
}

// Captures that were not heard from their beginning have no nodes, and ends without a beginning change nothing.
static void interrupted(void) {
  do_call("hipStreamBeginCapture", NULL, NULL, 90);
  room_listen(0, 0, 0), room_listen(1, 0, 0);
  uint64_t before = created;
  do_call("hipModuleLaunchKernel", "add", NULL, 90);
  assert(created == before && captures == 1);
  const void *graph = "graph90";
  do_call("hipStreamEndCapture", NULL, &graph, 0), do_call("hipStreamEndCapture", NULL, &graph, 0);
  assert(captures == 0);
}

int main(int argc, char **argv) {
  hip.StreamGetCaptureInfo = capture_info, hip.KernelNameRef = name_of;
  room_use_hotpath(&api);
  room_start();
  room_listen(1, 1, 1);
  fuzz_records(argc > 1 ? atoi(argv[1]) : 2000);
  equal_names_are_in_order(), lost_records(), handles_come_back(), threads(), interrupted();
  room_stop();
  room_stop(); // a second time is harmless
  assert(!room_inside());
  return 0;
}
