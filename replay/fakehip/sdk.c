// The fake librocprofiler-sdk. It is built twice: .so.1 (layout B) and .so.0 (STUB_LAYOUT_A). It does what is documented, enforces
// what is documented of its callers, and declares all numbers and offsets itself, so that a wrong one of the profiler's is seen.
//
// Environment: PROTON_STUB_SDK is the version (10201, or 600 for .so.0), PROTON_STUB_RESULTS the results of functions,
// PROTON_STUB_SCRIPT orders:
//   reversed           the records of a buffer are in reverse order
//   ids from N         ids of calls begin after N
//   uncorrelated NAME...  records of these kernels carry no id
//   backwards NAME...  the end of their records is before the start
//   lasting N          each kernel takes N ms by its record
//   lost NAME...       their records are dropped, and counted
//   gone NAME...       their records never come, and are not counted
//   late NAME...       their symbols are registered after their first record was delivered
//   nameless NAME...   their symbols are never registered
//   short NAME...      their records end before the kernel's number
//   long               records of dispatches, and samples, have more members than known
//   strange            every buffer ends with a record of an unknown kind
//   indirect           packets for the GPU are written by another thread
//   blit               copies are made by kernels
//   slow N             records arrive N ms after the kernel ended
//   busy N             the first N flushes find the buffer busy
//   unheard            requests for external ids are not implemented
//   sampling METHOD... the GPUs offer these: host_trap, stochastic
//   unsampled GPU...   these GPUs, from 0, offer no way to sample
//   samples KERNEL ADDRESS:REASON:COUNT... KERNEL ...  each dispatch of these kernels has these samples: sdk_sampling.c
//   lacking NAME...    the GPUs have none of these counters
//   uncounted NAME...  the values of these kernels never come
//   eager              samples are delivered before their kernel has ended
#define _GNU_SOURCE
#include "replay.h"
#include "register.h"
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK, ERROR, NO_CONTEXT, NO_BUFFER, NO_KIND, NO_OPERATION, NO_THREAD, CONFIGURED = 15, LOCKED = 16, UNIMPLEMENTED = 17, ABI = 18, ARGUMENT = 19, FINALIZED = 21 };
enum { ID_NOT_ZERO = 13, BUSY = 14 };
enum { CONTEXTS = 8, BUFFERS = 8, OPERATIONS = 600, ON_HIP = 5, ON_MARKER = 7, ON_CODE = 10, COPIES = 10, DISPATCHES = 11, KINDS = 24 };

#ifdef STUB_LAYOUT_A
enum { NEWEST = 600 };
struct record { uint64_t context, thread, internal, external; uint32_t kind; int32_t op; uint32_t phase, padding; void *payload; };
struct client { const char *name; uint32_t handle; };
#else
enum { NEWEST = 10201 };
struct record { uint64_t context, thread, internal, external, ancestor; uint32_t kind; int32_t op; uint32_t phase, padding; void *payload; };
struct client { size_t size; const char *name; uint32_t handle; };
#endif
typedef void call_cb(struct record, uint64_t *user, void *data);
typedef int id_cb(uint64_t thread, uint64_t context, int kind, int op, uint64_t internal, uint64_t *out, void *data);
struct header { uint32_t category, kind; void *payload; };
typedef void buffer_cb(uint64_t context, uint64_t buffer, struct header **records, size_t n, void *data, uint64_t drops);
struct configuration { size_t size; int (*initialize)(void *, void *); void (*finalize)(void *); void *data; };
typedef struct configuration *configure_fn(uint32_t version, const char *runtime, uint32_t priority, struct client *client);

struct buffer {
  uint64_t context, thread, drops;
  buffer_cb *cb;
  void *data;
  size_t watermark, held;
  struct item { struct item *next; struct header header; size_t size; uint64_t due; } *first, **last;
};
static struct context {
  int made, started;
  struct { call_cb *cb; void *data; int all; uint8_t ops[OPERATIONS]; } on[KINDS];
  uint64_t buffers[KINDS];
  id_cb *ids;
  void *ids_data;
  uint32_t id_kinds;
} contexts[CONTEXTS + 1];
static struct buffer buffers[BUFFERS + 1];
static int context_count, buffer_count, threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards buffers, kernels and flushing
static pthread_mutex_t registration = PTHREAD_MUTEX_INITIALIZER; // held while a tool's finalize runs
static _Atomic int state; // -1: initialising; 1: done
static int started_hip, loaded_late, finalized;
static struct configuration *tool;
static struct client client;
static _Atomic uint64_t ids, kernels_made;
static __thread int in_callback, in_finalize;

static int replaying(void) {
  const char *capture = getenv("PROTON_STUB_CAPTURE");
  return capture && *capture;
}
static uint32_t version(void) { return (uint32_t)stub_number("PROTON_STUB_SDK", NEWEST); }
static uint64_t thread_id(void) { return (uint64_t)gettid(); }
static int code(int status) { return version() < 500 && status > 13 ? status - 1 : status; }

static void wrong(const char *what) {
  fprintf(stderr, "fake librocprofiler-sdk: %s\n", what);
  abort();
}

// Every function begins with this.
#define ENTRY(name)                                                                            \
  if (in_finalize) wrong("rocprofiler_" #name " is called in finalize: the real one hangs");   \
  if (stub_result("rocprofiler_" #name)) return stub_result("rocprofiler_" #name)
#define ONLY_INITIALISING \
  if (atomic_load(&state) != -1) return code(LOCKED)
#define API STUB_EXPORT int

// ---- registration ----

static void at_exit(void) {
  pthread_mutex_lock(&registration);
  finalized = in_finalize = 1;
  if (tool && tool->finalize) tool->finalize(tool->data);
  in_finalize = 0;
  pthread_mutex_unlock(&registration);
}

static const struct stub_listener hears;
static void fork_warning(void) { finalized = 1; } // the real one is undefined there: a call is answered by an error

API rocprofiler_force_configure(configure_fn *configure) {
  ENTRY(force_configure);
  int any_time = version() >= 10302;
  if (atomic_load(&state) || (started_hip && !any_time)) return code(LOCKED);
  void *hip = getenv("PROTON_STUB_REGISTER") ? NULL : dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
  stub_listen_fn *listen = hip ? (stub_listen_fn *)dlsym(hip, "stub_listen") : NULL;
  loaded_late = listen && listen(&hears) && !any_time; // its dispatches cannot be seen any more
  memset(&client, 0, sizeof client);
#ifndef STUB_LAYOUT_A
  client.size = sizeof client;
#endif
  tool = configure(version(), "stub", 0, &client);
  if (!tool) return OK;
  if (tool->size != 32 || !tool->initialize) wrong("the configuration is not one");
  if (!client.name || strcmp(client.name, "goproton")) wrong("the client has no name");
  if (version() >= 10000) setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
  atomic_store(&state, -1);
  int failed = tool->initialize(NULL, tool->data);
  atomic_store(&state, 1);
  if (failed) memset(contexts, 0, sizeof contexts);
  atexit(at_exit);
  pthread_atfork(NULL, NULL, fork_warning);
  return OK;
}

API rocprofiler_is_initialized(int *out) { return *out = started_hip && !atomic_load(&state) ? 1 : atomic_load(&state), OK; }
API rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch) {
  ENTRY(get_version);
  return *major = version() / 10000, *minor = version() / 100 % 100, *patch = version() % 100, OK;
}
STUB_EXPORT const char *rocprofiler_get_status_string(int status) {
  return status == code(LOCKED) ? "Function call is not valid outside of rocprofiler configuration" : status == ERROR ? "Generalized error" : "an error";
}

// ---- contexts and services ----

static int count_devices(uint64_t context);

static struct context *context_at(uint64_t handle) { return handle > 100 && handle <= 100 + (uint64_t)context_count ? &contexts[handle - 101] : NULL; }
static struct buffer *buffer_at(uint64_t handle) { return handle > 200 && handle <= 200 + (uint64_t)buffer_count ? &buffers[handle - 201] : NULL; }

API rocprofiler_create_context(uint64_t *context) {
  ENTRY(create_context);
  ONLY_INITIALISING;
  if (version() >= 500 && *context) return ID_NOT_ZERO;
  if (context_count == CONTEXTS) return ERROR;
  contexts[context_count].made = 1;
  return *context = 101 + (uint64_t)context_count++, OK;
}

API rocprofiler_start_context(uint64_t context) {
  ENTRY(start_context);
  if (finalized) return code(FINALIZED);
  if (!context_at(context)) return NO_CONTEXT;
  context_at(context)->started = 1;
  return count_devices(context);
}

API rocprofiler_stop_context(uint64_t context) {
  ENTRY(stop_context);
  if (finalized) return code(FINALIZED);
  if (!context_at(context)) return NO_CONTEXT;
  return context_at(context)->started = 0, OK;
}

API rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy, buffer_cb *cb, void *data, uint64_t *buffer) {
  ENTRY(create_buffer);
  ONLY_INITIALISING;
  if (!context_at(context)) return NO_CONTEXT;
  if (!size || watermark > size || policy < 1 || policy > 2 || !cb) return code(ARGUMENT);
  struct buffer *b = &buffers[buffer_count];
  *b = (struct buffer){.context = context, .cb = cb, .data = data, .watermark = watermark, .last = &b->first};
  return *buffer = 201 + (uint64_t)buffer_count++, OK;
}

API rocprofiler_create_callback_thread(uint64_t *thread) {
  ENTRY(create_callback_thread);
  ONLY_INITIALISING;
  return *thread = (uint64_t)++threads, OK;
}

API rocprofiler_assign_callback_thread(uint64_t buffer, uint64_t thread) {
  ENTRY(assign_callback_thread);
  ONLY_INITIALISING;
  if (!buffer_at(buffer)) return NO_BUFFER;
  if (!thread || thread > (uint64_t)threads) return NO_THREAD;
  return buffer_at(buffer)->thread = thread, OK;
}

API rocprofiler_configure_callback_tracing_service(uint64_t context, int kind, const int32_t *ops, size_t n, call_cb *cb, void *data) {
  ENTRY(configure_callback_tracing_service);
  ONLY_INITIALISING;
  struct context *c = context_at(context);
  if (!c) return NO_CONTEXT;
  if (kind != ON_HIP && kind != ON_MARKER && kind != ON_CODE) return NO_KIND;
  if (c->on[kind].cb) return code(CONFIGURED);
  for (size_t i = 0; i < n; i++) {
    if (ops[i] < 0 || ops[i] >= OPERATIONS) return NO_OPERATION;
    c->on[kind].ops[ops[i]] = 1;
  }
  c->on[kind].all = !n;
  c->on[kind].cb = cb, c->on[kind].data = data;
  return OK;
}

API rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind, const int32_t *ops, size_t n, uint64_t buffer) {
  ENTRY(configure_buffer_tracing_service);
  ONLY_INITIALISING;
  if (!context_at(context)) return NO_CONTEXT;
  if (!buffer_at(buffer)) return NO_BUFFER;
  if (kind != COPIES && kind != DISPATCHES) return NO_KIND;
  if (ops || n) return NO_OPERATION;
  return context_at(context)->buffers[kind] = buffer, OK;
}

API rocprofiler_configure_external_correlation_id_request_service(uint64_t context, const int *kinds, size_t n, id_cb *cb, void *data) {
  ENTRY(configure_external_correlation_id_request_service);
  ONLY_INITIALISING;
  struct context *c = context_at(context);
  if (stub_order("unheard")) return code(UNIMPLEMENTED);
  if (!c) return NO_CONTEXT;
  if (c->ids) return code(CONFIGURED);
  for (size_t i = 0; i < n; i++) c->id_kinds |= 1u << kinds[i];
  return c->ids = cb, c->ids_data = data, OK;
}

// ---- names and agents ----

enum shape { WORDS, OF_HOST, OF_MODULE }; // how the arguments lie: one word each, or as those of hipLaunchKernel or hipModuleLaunchKernel
static const struct { const char *name; int op; enum shape shape; } operations[] = {
    {"hipLaunchKernel", 214, OF_HOST}, {"hipExtLaunchKernel", 84, OF_HOST}, {"hipLaunchCooperativeKernel", 211, OF_HOST}, {"hipLaunchKernel_spt", 419, OF_HOST},
    {"hipModuleLaunchKernel", 308, OF_MODULE}, {"hipExtModuleLaunchKernel", 388, OF_MODULE}, {"hipHccModuleLaunchKernel", 389, OF_MODULE},
    {"hipModuleLaunchCooperativeKernel", 306, OF_MODULE}, {"hipLaunchByPtr", 210, WORDS}, {"hipLaunchKernelExC", 474, WORDS}, {"hipDrvLaunchKernelEx", 475, WORDS},
    {"hipLaunchCooperativeKernelMultiDevice", 212, WORDS}, {"hipModuleLaunchCooperativeKernelMultiDevice", 307, WORDS},
    {"hipDeviceSynchronize", 66, WORDS}, {"hipEventSynchronize", 82, WORDS}, {"hipGraphDestroy", 136, WORDS}, {"hipGraphExecDestroy", 143, WORDS},
    {"hipExtLaunchMultiKernelMultiDevice", 85, WORDS}, {"hipGraphInstantiate", 159, WORDS}, {"hipGraphLaunch", 166, WORDS}, {"hipMemcpyAsync", 268, WORDS}, {"hipMemcpyHtoDAsync", 274, WORDS},
    {"hipMemsetAsync", 293, WORDS}, {"hipModuleLoadData", 310, WORDS}, {"hipModuleUnload", 316, WORDS}, {"hipSetDevice", 323, WORDS},
    {"hipStreamBeginCapture", 333, WORDS}, {"hipStreamEndCapture", 338, WORDS}, {"hipStreamSynchronize", 346, WORDS},
    {"hipRuntimeGetVersion", 320, WORDS}, {"hipProfilerStart", 317, WORDS}, {"hipProfilerStop", 318, WORDS}, // the numbers are not those of the real library
};

API rocprofiler_query_callback_tracing_kind_operation_name(int kind, int op, const char **name, uint64_t *length) {
  ENTRY(query_callback_tracing_kind_operation_name);
  if (kind != ON_HIP) return NO_KIND;
  if (op < 0 || op >= OPERATIONS) return NO_OPERATION;
  if (replaying()) return *name = (unsigned)op < hip_call_count ? hip_calls[op].name : "hipOther", *length = strlen(*name), OK;
  *name = "hipOther", *length = 8;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (operations[i].op == op) *name = operations[i].name, *length = strlen(*name);
  return OK;
}

static void put32(uint8_t *p, int at, uint64_t v);

static void put_agent(char *a, uint64_t size, uint64_t id, uint32_t type, uint32_t node, uint32_t number, uint64_t uuid, const char *chip, uint64_t simds) {
  memcpy(a, &size, 8), memcpy(a + 8, &id, 8), memcpy(a + 16, &type, 4), memcpy(a + 280, &node, 4), memcpy(a + 284, &node, 4), memcpy(a + 288, &number, 4);
  memcpy(a + 248, &chip, sizeof chip), put32((uint8_t *)a, 24, simds);
  if (size > 296) memcpy(a + 296, &uuid, 8);
}

static int recorded_agents(int (*cb)(int, const void **, size_t, void *), int info, void *data) {
  static char agents[65][312];
  const void *list[65];
  struct stub_node nodes[65];
  void *hip = getenv("PROTON_STUB_REGISTER") ? NULL : dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
  int (*find)(struct stub_node *, int) = NULL;
  if (hip) *(void **)&find = dlsym(hip, "stub_nodes");
  int n = find ? find(nodes, 65) : 0;
  for (int i = 0; i < n; i++) {
    put_agent(agents[i], 304, nodes[i].agent, nodes[i].gpu ? 2 : 1, (uint32_t)nodes[i].number, (uint32_t)i, nodes[i].uuid, nodes[i].chip, nodes[i].simds);
    list[i] = agents[i];
  }
  return cb(info, list, (size_t)n, data);
}

// A host and PROTON_STUB_DEVICES GPUs, listed from the last to the first.
API rocprofiler_query_available_agents(int info, int (*cb)(int, const void **, size_t, void *), size_t size, void *data) {
  static char agents[65][312];
  const void *list[65];
  ENTRY(query_available_agents);
  uint64_t n = stub_number("PROTON_STUB_DEVICES", 1), own = version() < 600 ? 296 : version() < 10200 ? 304 : 312;
  if (info != 1) return code(ARGUMENT);
  if (size > own) return code(ABI);
  if (replaying()) return recorded_agents(cb, info, data);
  for (uint64_t i = 0; i <= n; i++) {
    put_agent(agents[i], own, 7000 + i, i ? 2 : 1, (uint32_t)i, i ? (uint32_t)i - 1 : 0, 0xabc0 + i, i ? "gfx942" : "cpu", i ? 1216 : 0);
    list[n - i] = agents[i];
  }
  return cb(info, list, n + 1, data);
}

static uint64_t agent_of(int device) { return 7001 + (uint64_t)device; }

// ---- buffers ----

static uint64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *made(size_t size) {
  void *p = calloc(1, size);
  if (!p) abort();
  return p;
}

// Takes the records that are due. Called with the lock held.
static struct item *take_due(struct buffer *b, size_t *count) {
  struct item *taken = NULL, **end = &taken;
  uint64_t t = now(CLOCK_MONOTONIC);
  *count = 0;
  for (struct item **at = &b->first; *at;) {
    struct item *i = *at;
    if (i->due > t) { at = &i->next; continue; }
    *at = i->next;
    b->held -= i->size;
    *end = i, end = &i->next, i->next = NULL, ++*count;
  }
  b->last = &b->first;
  while (*b->last) b->last = &(*b->last)->next;
  return taken;
}

static void register_late(void);

static void *deliver(void *argument) {
  struct buffer *b = argument;
  size_t n;
  pthread_mutex_lock(&lock);
  struct item *taken = take_due(b, &n);
  uint64_t drops = b->drops;
  pthread_mutex_unlock(&lock);
  struct header **list = made((n + 1) * sizeof *list), strange = {9, 99, &strange};
  size_t at = 0, total = n + !!stub_order("strange");
  for (struct item *i = taken; i; i = i->next, at++) list[stub_order("reversed") ? n - 1 - at : at] = &i->header;
  if (total > n) list[n] = &strange;
  in_callback = 1;
  if (total || drops) b->cb(b->context, (uint64_t)(b - buffers) + 201, list, total, b->data, drops);
  in_callback = 0;
  while (taken) {
    struct item *next = taken->next;
    memset(taken->header.payload, 0xee, taken->size); // a reader that kept a record shows it
    free(taken->header.payload), free(taken);
    taken = next;
  }
  free(list);
  register_late();
  return NULL;
}

// The real one has a thread for it and waits for that.
static void hand_over(struct buffer *b) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, deliver, b)) abort();
  pthread_join(thread, NULL);
}

// For tests: how often a buffer was asked for.
static _Atomic uint64_t asked;
STUB_EXPORT uint64_t stub_flushes(void) { return atomic_load(&asked); }

API rocprofiler_flush_buffer(uint64_t buffer) {
  static _Atomic uint64_t flushes;
  ENTRY(flush_buffer);
  atomic_fetch_add(&asked, 1);
  if (in_callback) wrong("a buffer is flushed in a callback: the real one hangs");
  if (finalized) return code(FINALIZED);
  if (!buffer_at(buffer)) return NO_BUFFER;
  const char *busy = stub_order("busy");
  if (busy && atomic_fetch_add(&flushes, 1) < strtoull(busy, NULL, 10)) return code(BUSY);
  hand_over(buffer_at(buffer));
  return OK;
}

static void add(uint64_t handle, struct header header, const void *payload, size_t size) {
  struct buffer *b = buffer_at(handle);
  const char *slow = stub_order("slow");
  struct item *i = made(sizeof *i);
  header.payload = made(size);
  *i = (struct item){.header = header, .size = size, .due = slow ? now(CLOCK_MONOTONIC) + strtoull(slow, NULL, 10) * 1000000 : 0};
  memcpy(i->header.payload, payload, size);
  pthread_mutex_lock(&lock);
  *b->last = i, b->last = &i->next;
  b->held += size;
  int full = b->held > b->watermark;
  pthread_mutex_unlock(&lock);
  if (full && !slow) hand_over(b);
}

static void add_record(uint64_t handle, uint32_t kind, const void *payload, size_t size) { add(handle, (struct header){1, kind, NULL}, payload, size); }

// ---- calls ----

static struct record record(uint32_t kind, int op, uint32_t phase, void *payload, uint64_t context, uint64_t id) {
  return (struct record){.context = context, .thread = thread_id(), .internal = id, .kind = kind, .op = op, .phase = phase, .payload = payload};
}

static void tell(uint32_t kind, int op, uint32_t phase, void *payload, uint64_t id) {
  for (int i = 0; i < context_count; i++) {
    struct context *c = &contexts[i];
    uint64_t user = 0;
    if (c->started && c->on[kind].cb && (c->on[kind].all || c->on[kind].ops[op]))
      c->on[kind].cb(record(kind, op, phase, payload, 101 + (uint64_t)i, id), &user, c->on[kind].data);
  }
}

static int operation(const char *name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (!strcmp(operations[i].name, name)) return operations[i].op;
  return -1;
}

static enum shape shape(const char *name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (!strcmp(operations[i].name, name)) return operations[i].shape;
  return WORDS;
}

static void put64(uint8_t *p, int at, uint64_t v) { memcpy(p + at, &v, 8); }
static void put32(uint8_t *p, int at, uint64_t v) {
  uint32_t w = (uint32_t)v;
  memcpy(p + at, &w, 4);
}

// The payload of a call: its size, its arguments as they lie in the function's struct, and its result.
static void payload_of(const struct stub_call *c, uint8_t *p) {
  const uint64_t *a = c->arguments;
  memset(p, 0, 120);
  put64(p, 0, 120), put32(p, 96, (uint64_t)c->result);
  if (shape(c->name) == OF_MODULE) {
    put64(p, 8, a[0]);
    for (int i = 0; i < 7; i++) put32(p, 16 + 4 * i, a[1 + i]);
    put64(p, 48, a[8]), put64(p, 56, a[9]), put64(p, 64, a[10]);
  } else if (shape(c->name) == OF_HOST) {
    put64(p, 8, a[0]);
    for (int i = 0; i < 6; i++) put32(p, 16 + 4 * i, a[1 + i]);
    put64(p, 40, a[7]), put64(p, 48, a[8]), put64(p, 56, a[9]);
  } else if (!strcmp(c->name, "hipSetDevice")) {
    put32(p, 8, a[0]);
  } else {
    for (int i = 0; i < c->count; i++) put64(p, 8 + 8 * i, a[i]);
  }
}

static uint64_t next_id(void) {
  const char *from = stub_order("ids from");
  uint64_t zero = 0;
  if (from) atomic_compare_exchange_strong(&ids, &zero, strtoull(from, NULL, 10));
  return atomic_fetch_add(&ids, 1) + 1;
}

static uint64_t enter(const struct stub_call *call) {
  uint8_t payload[120];
  uint64_t id = next_id();
  if (operation(call->name) < 0) return id;
  payload_of(call, payload);
  tell(ON_HIP, operation(call->name), 1, payload, id);
  return id;
}

static void leave(const struct stub_call *call, uint64_t id) {
  uint8_t payload[120];
  if (operation(call->name) < 0) return;
  payload_of(call, payload);
  tell(ON_HIP, operation(call->name), 2, payload, id);
}

// ---- code ----

struct kernel { struct kernel *next; uint64_t id, function, module; int registered; char name[]; };
static struct kernel *kernels;

static void tell_kernel(struct kernel *k) {
  uint8_t symbol[88] = {0};
  size_t length = strlen(k->name);
  char *name = made(length + 4); // the name is only valid in the callback
  memcpy(name, k->name, length), memcpy(name + length, ".kd", 4);
  put64(symbol, 0, sizeof symbol), put64(symbol, 8, k->id), put64(symbol, 16, 1), put64(symbol, 24, (uint64_t)(uintptr_t)name);
  k->registered = 1;
  tell(ON_CODE, 2, 1, symbol, 0);
  memset(name, '?', length);
  free(name);
}

static struct kernel *kernel(uint64_t function, const char *name) {
  pthread_mutex_lock(&lock);
  struct kernel *k = kernels;
  while (k && (k->function != function || strcmp(k->name, name))) k = k->next;
  int fresh = !k;
  if (fresh) {
    k = made(sizeof *k + strlen(name) + 1);
    *k = (struct kernel){.next = kernels, .id = atomic_fetch_add(&kernels_made, 1) + 1, .function = function};
    strcpy(k->name, name);
    kernels = k;
  }
  pthread_mutex_unlock(&lock);
  if (fresh && !stub_named(stub_order("late"), name) && !stub_named(stub_order("nameless"), name)) tell_kernel(k);
  return k;
}

static void register_late(void) {
  if (!stub_order("late")) return;
  for (struct kernel *k = kernels; k; k = k->next)
    if (!k->registered) tell_kernel(k);
}

static void kernel_loaded(uint64_t module, uint64_t function, const char *name) {
  kernel(function, name)->module = module;
}

enum { LOAD_SHIFT = 0x1000 }; // the lowest address in the file
#define LOAD_BASE (0x7f0000000000 + LOAD_SHIFT)
#define LOAD_DELTA 0x7f0000000000

static void tell_code(uint64_t module, const void *image, size_t size, uint32_t phase) {
  uint8_t load[88] = {0};
  char uri[64];
  snprintf(uri, sizeof uri, "memory://%d#offset=0x%zx&size=%zu", getpid(), (size_t)image, size);
  put64(load, 0, sizeof load), put64(load, 8, module), put64(load, 16, agent_of(0)), put64(load, 32, (uint64_t)(uintptr_t)uri);
  put64(load, 40, LOAD_BASE), put64(load, 48, size), put64(load, 56, LOAD_DELTA), put32(load, 64, 2);
  put64(load, 72, (uint64_t)(uintptr_t)image), put64(load, 80, size);
  tell(ON_CODE, 1, phase, load, 0);
}
static void code_loaded(const void *image, size_t size, uint64_t module) { tell_code(module, image, size, 1); }
static void code_unloaded(uint64_t module) {
  pthread_mutex_lock(&lock);
  for (struct kernel *k = kernels; k; k = k->next) k->function = 0; // a kernel that is loaded at its address is another one
  pthread_mutex_unlock(&lock);
  tell_code(module, NULL, 0, 2);
}

// ---- work ----

struct request { struct context *c; uint64_t handle, internal, external; int kind; };

static void *ask(void *argument) {
  struct request *r = argument;
  uint64_t external = 0;
  if (r->c->ids && r->c->id_kinds & 1u << r->kind && !r->c->ids(thread_id(), r->handle, r->kind, 0, r->internal, &external, r->c->ids_data)) r->external = external;
  return NULL;
}

// Asks for the external id of work on the thread that writes the packet.
static uint64_t external_id(struct context *c, uint64_t internal, int kind) {
  struct request r = {.c = c, .handle = (uint64_t)(c - contexts) + 101, .internal = internal, .kind = kind};
  pthread_t thread;
  if (!stub_order("indirect")) ask(&r);
  else if (pthread_create(&thread, NULL, ask, &r) || pthread_join(thread, NULL)) abort();
  return r.external;
}

#include "sdk_sampling.c"
#include "sdk_counting.c"

static void dispatched(struct context *c, const char *name, const struct stub_work *w, uint64_t number) {
  static _Atomic uint64_t count;
  uint8_t r[240] = {0};
  size_t size = stub_order("long") ? 240 : stub_named(stub_order("short"), name) ? 80 : 184;
  uint64_t internal = c->on[ON_HIP].cb ? number : next_id(), external = external_id(c, internal, DISPATCHES), id = kernel(w->function, name)->id;
  uint64_t dispatch = atomic_fetch_add(&count, 1) + 1;
  sample(kernel(w->function, name), dispatch, agent_of(w->device));
  if (stub_named(stub_order("uncorrelated"), name)) internal = external = 0;
  if (stub_named(stub_order("gone"), name)) return;
  if (stub_named(stub_order("lost"), name)) {
    pthread_mutex_lock(&lock);
    buffer_at(c->buffers[DISPATCHES])->drops++;
    pthread_mutex_unlock(&lock);
    return;
  }
  put64(r, 0, size), put32(r, 8, DISPATCHES), put32(r, 12, 2), put64(r, 16, internal), put64(r, 24, external), put64(r, 32, thread_id());
  const char *lasting = stub_order("lasting");
  uint64_t end = lasting ? w->start + strtoull(lasting, NULL, 10) * 1000000 : w->end;
  put64(r, 40, w->start), put64(r, 48, stub_named(stub_order("backwards"), name) ? w->start - 1 : end);
  put64(r, 56, 128), put64(r, 64, agent_of(w->device)), put64(r, 72, w->queue), put64(r, 80, id), put64(r, 88, dispatch);
  add_record(c->buffers[DISPATCHES], DISPATCHES, r, size);
}

static void copied(struct context *c, const struct stub_work *w, uint64_t number) {
  static const int kinds[] = {1, 2, 3, 4};
  uint8_t r[96] = {0};
#ifdef STUB_LAYOUT_A
  size_t size = 80;
#else
  size_t size = 96;
#endif
  uint64_t internal = c->on[ON_HIP].cb ? number : next_id();
  put64(r, 0, size), put32(r, 8, COPIES), put32(r, 12, (uint64_t)kinds[w->copy_kind & 3]), put64(r, 16, internal), put64(r, 24, external_id(c, internal, COPIES));
  put64(r, 32, thread_id()), put64(r, 40, w->start), put64(r, 48, w->end);
  put64(r, 56, w->copy_kind & 1 ? agent_of(w->device) : 7000), put64(r, 64, w->copy_kind & 2 ? agent_of(w->device) : 7000), put64(r, 72, w->bytes);
  add_record(c->buffers[COPIES], COPIES, r, size);
}

static void work(const struct stub_work *w, uint64_t number) {
  const char *name = w->kind == STUB_KERNEL ? w->name : w->kind == STUB_FILL ? "__amd_rocclr_fillBufferAligned" : stub_order("blit") ? "__amd_rocclr_copyBuffer" : NULL;
  if (finalized || loaded_late) return;
  for (int i = 0; i < context_count; i++) {
    struct context *c = &contexts[i];
    if (c->started && name && c->buffers[DISPATCHES]) dispatched(c, name, w, number);
    if (c->started && !name && c->buffers[COPIES]) copied(c, w, number);
    if (c->started && name) count_dispatch(c, name, w, number);
  }
}

// ---- replays: calls have their numbers of hip_calls ----

static void say_call(const struct stub_said *s) {
  const struct hip_offsets *at = &hip_calls[s->call].sdk;
  uint8_t payload[120] = {0};
  put64(payload, 0, sizeof payload), put32(payload, 96, (uint64_t)s->result);
  if (at->first) put64(payload, at->first, (uint64_t)(uintptr_t)s->arguments.first);
  if (at->second) put64(payload, at->second, (uint64_t)(uintptr_t)s->arguments.second);
  if (at->stream) put64(payload, at->stream, (uint64_t)(uintptr_t)s->arguments.stream);
  tell(ON_HIP, (int)s->call, s->exited ? 2 : 1, payload, s->correlation);
}

// The record has the recorded answer.
static void say_request(const struct stub_said *s) {
  int on = s->kind == COPIES ? COPIES : DISPATCHES;
  for (int i = 0; i < context_count; i++)
    if (contexts[i].started && contexts[i].buffers[on]) external_id(&contexts[i], s->correlation, on);
  if (on == DISPATCHES) count_recorded(s->correlation);
}

static void say_record(const struct stub_record *s) {
  uint8_t r[240] = {0};
  int on = s->work == WORK_COPY ? COPIES : DISPATCHES;
  put64(r, 0, s->size), put32(r, 8, (uint64_t)on), put32(r, 12, s->operation), put64(r, 16, s->correlation), put64(r, 24, s->external);
  put64(r, 32, s->thread), put64(r, 40, s->begin), put64(r, 48, s->end);
  if (on == COPIES) put64(r, 56, s->device), put64(r, 64, s->from), put64(r, 72, s->bytes);
  else put64(r, 56, 128), put64(r, 64, s->device), put64(r, 72, s->queue), put64(r, 80, s->kernel), put64(r, 88, s->bytes);
  for (int i = 0; i < context_count; i++)
    if (contexts[i].started && contexts[i].buffers[on]) add_record(contexts[i].buffers[on], s->work == WORK_OTHER ? 99 : (uint32_t)on, r, sizeof r);
}

static void say_buffers_end(uint64_t drops) {
  for (int i = 0; i < context_count; i++)
    for (int kind = COPIES; kind <= DISPATCHES; kind++) {
      struct buffer *b = contexts[i].started ? buffer_at(contexts[i].buffers[kind]) : NULL;
      if (b && kind == DISPATCHES) b->drops = drops;
      if (b) hand_over(b);
    }
}

static void say_code(const struct stub_said *s) {
  uint8_t load[88] = {0};
  put64(load, 0, sizeof load), put64(load, 8, s->id), put64(load, 16, s->agent), put64(load, 32, (uint64_t)(uintptr_t)s->name);
  put64(load, 40, s->load_base), put64(load, 48, s->load_size), put64(load, 56, (uint64_t)s->load_delta), put32(load, 64, s->image ? 2 : 0);
  put64(load, 72, (uint64_t)(uintptr_t)s->image), put64(load, 80, s->image_size);
  tell(ON_CODE, 1, s->kind == CODE_LOADED ? 1 : 2, load, 0);
}

static void say_kernel(const struct stub_said *s) {
  uint8_t symbol[88] = {0};
  put64(symbol, 0, sizeof symbol), put64(symbol, 8, s->id), put64(symbol, 16, s->code), put64(symbol, 24, (uint64_t)(uintptr_t)s->name);
  tell(ON_CODE, 2, 1, symbol, 0);
}

static void say_range(const struct stub_said *s) {
  struct { uint64_t size; const char *message; uint64_t rest[2]; } call = {32, s->name, {0}};
  if (s->kind == 1 || s->kind == 2) tell(ON_MARKER, (int)s->kind, 1, &call, 0);
}

static void on_said(const struct stub_said *s) {
  switch (s->what) {
  case SAID_CALL: say_call(s); return;
  case SAID_REQUEST: say_request(s); return;
  case SAID_RECORD: say_record(&s->record); return;
  case SAID_BUFFER_ENDS: say_buffers_end(s->drops); return;
  case SAID_CODE: say_code(s); return;
  case SAID_KERNEL: say_kernel(s); return;
  case SAID_RANGE: say_range(s); return;
  case SAID_SAMPLES: say_samples(s->agent, &s->sample, s->times); return;
  case SAID_SAMPLES_END: say_samples_end(s->agent, s->drops); return;
  }
}

static const struct stub_listener hears = {enter, leave, work, code_loaded, kernel_loaded, code_unloaded, on_said, NULL};

// ---- HIP and ROCTX hand out their tables ----

STUB_EXPORT void stub_hip_starts(stub_listen_fn *listen) {
  started_hip = 1;
  if (atomic_load(&state) == 1) listen(&hears);
}

// What librocprofiler-register calls.
STUB_EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count) {
  (void)version, (void)instance;
  if (strcmp(name, "hip") || count != 1) return 1;
  stub_hip_starts(((const struct stub_table *)tables[0])->listen);
  return 0;
}

static void mark(int op, const char *message) {
  struct { uint64_t size; const char *message; uint64_t rest[2]; } call = {32, message, {0}};
  uint64_t id = next_id();
  tell(ON_MARKER, op, 1, &call, id);
  tell(ON_MARKER, op, 2, &call, id);
}
STUB_EXPORT int roctxRangePushA(const char *message) { return mark(1, message), 0; }
STUB_EXPORT int roctxRangePop(void) { return mark(2, NULL), 0; }
