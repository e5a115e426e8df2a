// roundtrip record FILE | replay FILE | read FILE...: the recorder and the player in one program without Go, for sanitizers. The
// first two print what was reported to a profiler, thread by thread; record_test.go compares the two texts. The third plays
// damaged files without a profiler.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../record.h"
#include "../../hotpath/recorder/program.h"
int record_open(const char *path, const char *writer);
int record_close(void);
#include "../../replay/fakecuda/cuda_api.h"
#include "../../replay/fakecuda/stub.h"

struct cupti_sampling_table cupti_sampling; // that of code.c
__thread int cupti_own_call;

#define F(name, required, arguments) uint32_t cupti##name arguments;
CUPTI_FUNCTIONS(F)
#undef F
#define F(name, arguments) uint32_t name arguments;
CUDA_FUNCTIONS(F)
#undef F

static struct cupti_table cupti = {
#define F(name, required, arguments) .name = cupti##name,
    CUPTI_FUNCTIONS(F)
#undef F
};
static const struct cuda_table cuda = {
#define F(name, arguments) .name = name,
    CUDA_FUNCTIONS(F)
#undef F
};

// ---- the output, one text for each thread ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *texts[8]; // guarded by lock
static size_t lengths[8];
static _Thread_local int me; // 0: main; 1 and 2: the thread that launches beta1 or beta2

static void say(const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&lock);
  texts[me] = realloc(texts[me], lengths[me] + (size_t)n + 1);
  if (!texts[me]) abort();
  memcpy(texts[me] + lengths[me], line, (size_t)n + 1);
  lengths[me] += (size_t)n;
  pthread_mutex_unlock(&lock);
}

// ---- a hot path that only prints its calls ----

static char *names[64];
static struct hp_node nodes[64];
static uint32_t name_count, node_count; // guarded by lock

static uint32_t intern(const char *text, size_t length) {
  pthread_mutex_lock(&lock);
  uint32_t id = 0;
  for (uint32_t i = 1; i <= name_count && !id; i++)
    if (strlen(names[i]) == length && !memcmp(names[i], text, length)) id = i;
  if (!id) names[id = ++name_count] = strndup(text, length);
  pthread_mutex_unlock(&lock);
  return id;
}
static const char *text_of(uint32_t id, size_t *length) { return *length = strlen(names[id]), names[id]; }
static uint32_t child(uint32_t parent, uint32_t name, uint32_t set) {
  pthread_mutex_lock(&lock);
  uint32_t id = 0;
  for (uint32_t i = 1; i <= node_count && !id; i++)
    if (nodes[i].parent == parent && nodes[i].name == name) id = i;
  if (!id) nodes[id = ++node_count] = (struct hp_node){parent, name, set, 0};
  pthread_mutex_unlock(&lock);
  return id;
}
static struct hp_node node_of(uint32_t id) { return nodes[id]; }
static uint32_t generation(void) { return 1; }

static uint32_t (*walker)(void);
static void set_walker(uint32_t (*walk)(void)) { walker = walk; }
static const char *where(void) { // the innermost python frame
  uint32_t node = walker ? walker() : 0;
  return node ? names[nodes[node].name] : "-";
}

static struct hp_token scope_enter(uint32_t name) {
  static uint32_t tokens;
  struct hp_token t = {__atomic_add_fetch(&tokens, 1, __ATOMIC_RELAXED) + 100, 5};
  if (!strncmp(names[name], "beta", 4)) me = names[name][4] - '0'; // a thread enters this scope first
  say("scope %s\n", names[name]);
  return t;
}
static int scope_exit(struct hp_token t) { return say("scope ends, %s\n", t.node ? "by token" : "innermost"), HP_OK; }
static int state_enter(uint32_t name) { return say("state %s\n", name ? names[name] : "none"), HP_OK; }
static int state_exit(void) { return say("state ends\n"), HP_OK; }
static uint32_t op_enter(uint32_t name, uint64_t func) { return say("op %s for %d at %s\n", names[name], func == 77, where()), 1; }
static void op_exit(void) { say("op ends\n"); }
static int metric_int(uint32_t name, int64_t v) { return say("metric %s %lld\n", names[name], (long long)v), HP_OK; }
static int metric_double(uint32_t name, double v) { return say("metric %s %g\n", names[name], v), HP_OK; }
static int metric_at(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits) {
  say("metric at %u %u %u %s %d %llu\n", node, pynode, set, names[name], type, (unsigned long long)bits);
  return HP_OK;
}
static void leaf(uint32_t *node, uint32_t *pynode, uint32_t *set) { *node = 41, *pynode = 42, *set = 43; }

static void tag_launch(uint32_t tag, uint64_t func) { say("tag %u for %d\n", tag, func == 77); }

static const struct hp_api hot = {
    .size = sizeof hot, .intern = intern, .text = text_of, .child = child, .node = node_of, .generation = generation,
    .scope_enter = scope_enter, .scope_exit = scope_exit, .state_enter = state_enter, .state_exit = state_exit,
    .op_enter = op_enter, .op_exit = op_exit, .metric_int = metric_int, .metric_double = metric_double,
    .metric_at = metric_at, .leaf = leaf, .set_python_walker = set_walker,
    .tag_launch = tag_launch};

// ---- a profiler that only prints what is reported to it ----

static void driver_call(uint32_t cbid, const struct cupti_callback_data *d) {
  const char *site = d->site == SITE_ENTER ? "enter" : "exit";
  uint32_t id = 0;
  if (cbid == CBID_cuLaunchKernel) {
    const struct cuda_params_launch_kernel *p = d->params;
    say("%s %s grid %u,%u,%u block %u shared %u at %s\n", site, d->symbol_name, p->grid[0], p->grid[1], p->grid[2], p->block[0], p->shared_bytes, where());
  } else if (cbid == CBID_cuLaunchKernelEx) {
    const struct cuda_params_launch_kernel_ex *p = d->params;
    say("%s %s config %u %u %u\n", site, d->symbol_name, p->config->grid[0], p->config->block[2], p->config->shared_bytes);
  } else if (cbid == CBID_cuGraphLaunch) {
    const struct cuda_params_graph_launch *p = d->params;
    if (cupti.GetGraphExecId(p->exec, &id)) say("no id\n");
    say("%s graph launch of %u, cell %d\n", site, id, *d->correlation_data == 9);
    *d->correlation_data = 9;
  } else {
    say("%s call %u result %u\n", site, cbid, d->site == SITE_EXIT ? *(uint32_t *)d->return_value : 0);
  }
}

static void resource(uint32_t cbid, const struct cupti_resource_data *r) {
  const struct cupti_graph_data *g = r->descriptor;
  uint32_t graph = 0, context = 0;
  uint64_t node = 0, original = 0;
  if (cbid == RES_GRAPHNODE_CREATED || cbid == RES_GRAPHNODE_CLONED) {
    if (cupti.GetGraphId(g->graph, &graph) || cupti.GetGraphNodeId(g->node, &node)) say("no ids\n");
    if (g->original_node && cupti.GetGraphNodeId(g->original_node, &original)) say("no original id\n");
    say("node %llu of graph %u copies %llu\n", (unsigned long long)node, graph, (unsigned long long)original);
  } else {
    if (cbid != RES_CONTEXT_DESTROY_STARTING) cupti.GetContextId(r->context, &context);
    say("resource %u context %u\n", cbid, context);
  }
}

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  if (user != &cupti) say("wrong user pointer\n");
  if (domain == DOMAIN_DRIVER) driver_call(cbid, data);
  if (domain == DOMAIN_RESOURCE) resource(cbid, data);
}

// Every fifth buffer is refused, and the rest take ten records, so that there are many and some are lost.
static int requests;
static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
  *size = 10 * 216;
  *max_records = 0;
  *buffer = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED) % 5 ? aligned_alloc(8, *size) : NULL;
}

static unsigned long long kernels, nanoseconds;
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  void *record = NULL;
  (void)context, (void)stream, (void)size;
  pthread_mutex_lock(&lock);
  while (cupti.ActivityGetNextRecord(buffer, valid, &record) == RC_OK) {
    const struct cupti_kernel_prefix *k = record;
    if (strlen(k->name) < 4) abort();
    kernels++, nanoseconds += k->end - k->start;
  }
  pthread_mutex_unlock(&lock);
  free(buffer);
}

static void *subscriber;
static void listen_to_all(void) {
  static const uint32_t calls[] = {CBID_cuLaunchKernel, CBID_cuLaunchKernelEx, CBID_cuGraphLaunch, CBID_cuStreamBeginCapture_v2,
                                   CBID_cuStreamEndCapture, CBID_cuGraphInstantiateWithFlags, CBID_cuModuleLoadData, CBID_cuModuleUnload};
  if (cupti.Subscribe(&subscriber, on_callback, &cupti) || cupti.ActivityRegisterCallbacks(request, complete)) abort();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) cupti.EnableCallback(1, subscriber, DOMAIN_DRIVER, calls[i]);
  cupti.EnableDomain(1, subscriber, DOMAIN_RESOURCE);
  cupti.ActivityEnable(ACT_CONCURRENT_KERNEL);
}

// ---- the program ----

static void *context;
static const struct hp_api *hp;
static _Thread_local uint32_t python;
static uint32_t walk(void) { return python; }
static uint32_t named(const char *name) { return hp->intern(name, strlen(name)); }

static void *beta(void *argument) {
  char name[] = "beta?";
  void *module, *function;
  name[4] = (char)('0' + *(int *)argument);
  python = hp->child(hp->child(0, named("thread.py"), 0), named(name), 0);
  cuCtxSetCurrent(context);
  struct hp_token whole = hp->scope_enter(named(name));
  cuModuleLoadData(&module, "image");
  cuModuleGetFunction(&function, module, name);
  for (uint32_t i = 0; i < 100; i++) {
    struct hp_token t = hp->scope_enter(named(name));
    cuLaunchKernel(function, i + 1, 2, 3, 128, 1, 1, 16, NULL, NULL, NULL);
    hp->metric_int(named("n"), -(int64_t)i);
    hp->scope_exit(t);
  }
  hp->scope_exit(whole);
  return NULL;
}

static void graphs(void *function) {
  void *stream, *graph, *exec;
  cuStreamCreate(&stream, 0);
  cuStreamBeginCapture_v2(stream, 0);
  for (int i = 0; i < 3; i++) cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiateWithFlags(&exec, graph, 0);
  for (int i = 0; i < 4; i++) cuGraphLaunch(exec, stream);
  cuGraphDestroy(graph);
  cuGraphExecDestroy(exec);
}

static void program(void) {
  static int which[] = {1, 2};
  pthread_t threads[2];
  void *module, *alpha;
  uint32_t node, pynode, set;
  struct cuda_launch_config config = {.grid = {7, 1, 1}, .block = {1, 1, 64}, .shared_bytes = 3};
  hp->set_python_walker(walk);
  cuInit(0);
  cuCtxCreate_v2(&context, 0, 0);
  cuModuleLoadData(&module, "image");
  cuModuleGetFunction(&alpha, module, "alpha");
  hp->state_enter(named("busy"));
  hp->op_enter(named("matmul"), 77);
  hp->tag_launch(3, 77);
  cuLaunchKernel(alpha, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
  hp->op_exit();
  hp->leaf(&node, &pynode, &set);
  hp->metric_at(node, pynode, set, named("bytes (exc)"), HP_INT, 1ull << 63);
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, beta, &which[i])) abort();
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  hp->metric_double(named("loss"), 0.25);
  hp->state_exit();
  graphs(alpha);
  cuLaunchKernelEx(&config, alpha, NULL, NULL);
  hp->scope_exit((struct hp_token){0, 0});
  cuModuleUnload(module);
  cuCtxDestroy_v2(context);
}

// Control calls are recorded, and the replay makes them again.
static void control(const char *method, const char *params) {
  if (strcmp(method, "start")) say("control %s %s\n", method, params);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int recording = !strcmp(argv[1], "record");
  if (!strcmp(argv[1], "read")) {
    for (int i = 2; i < argc; i++) {
      fprintf(stderr, "%s\n", argv[i]); // so that a sanitizer's report names the file
      const char *wrong = stub_replay(argv[i], NULL, NULL);
      printf("%s\n", wrong ? wrong : "whole");
    }
    return 0;
  }
  if (recording) {
    if (record_open(argv[2], "goproton 0.0.0")) return 3;
    record_use(recorder_api());
    record_wrap_cupti(&cupti, &cuda, "the stub");
    hp = record_wrap_hotpath(&hot);
    listen_to_all();
    program();
    control("deactivate", "{\"session\": 0}");
    record_control("deactivate", "{\"session\": 0}");
  } else {
    listen_to_all();
    const char *wrong = stub_replay(argv[2], &hot, control);
    if (wrong) return printf("replay: %s\n", wrong), 4;
  }
  cupti.ActivityFlushAll(0);
  size_t dropped = 0;
  cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped);
  cupti.Finalize();
  if (record_close()) return 5;
  for (int i = 0; i < 3; i++) printf("== thread %d\n%s", i, texts[i] ? texts[i] : ""), free(texts[i]);
  // 1 alpha, 200 beta, 12 of graphs and one more. Records without a buffer are counted as dropped.
  printf("== kernels and dropped: %llu\n", kernels + dropped);
  if (nanoseconds != kernels * 1000) printf("%llu kernels took %llu ns\n", kernels, nanoseconds);
  for (uint32_t i = 1; i <= name_count; i++) free(names[i]);
  return 0;
}
