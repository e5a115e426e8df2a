// The fake libroctracer64, version 4.1. It keeps what roctracer's source and measurements show: HIP is looked for once in a process,
// an operation has one callback, there is one default pool, a call without a callback has no correlation id, and a kernel's name
// dies with the buffer that its record was in. A replay takes the room's numbers of calls, because a capture has what the room read.
//
// PROTON_STUB_SCRIPT:
//   ids from N             correlation ids begin after N
//   uncorrelated KERNEL..  their records have the correlation id 0
//   lost KERNEL..          they have none
//   backwards KERNEL..     the end of their records is before the start
//   unknown KERNEL..       their records are of an operation that does not exist
//   reversed               the records of a buffer are in reverse order
//   torn                   a buffer ends in the middle of a record
#define _GNU_SOURCE
#include "prof.h"
#include "replay.h"
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DOMAINS = 8 };
enum { ERROR = -1, BAD_DOMAIN = -2, BAD_ARGUMENT = -3, NO_POOL = -4, POOL_EXISTS = -5 };
enum { MOST = 16384, NAME = 256 };

static int replaying(void) {
  const char *capture = getenv("PROTON_STUB_CAPTURE");
  return capture && *capture;
}

// ---- what is enabled ----

typedef void call_fn(uint32_t domain, uint32_t op, const void *data, void *argument);
typedef void buffer_fn(const char *begin, const char *end, void *argument);
static struct { _Atomic(call_fn *) function; void *argument; } callbacks[PROF_CALLS];
static atomic_int activities[3];

static struct pool {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int open, filled, deliver, delivering; // delivering: the consumer runs the callback
  buffer_fn *callback;
  void *argument;
  char (*records)[PROF_RECORD], (*names)[NAME];
  pthread_t consumer;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// ---- the pool: producers wait while its consumer is behind, and a flush waits for the consumer ----

static void reverse(char (*records)[PROF_RECORD], int n) {
  char t[PROF_RECORD];
  for (int i = 0; i < n / 2; i++) memcpy(t, records[i], PROF_RECORD), memcpy(records[i], records[n - 1 - i], PROF_RECORD), memcpy(records[n - 1 - i], t, PROF_RECORD);
}

static void deliver(void) { // with the lock held
  int n = pool.filled;
  if (!n) return;
  if (stub_order("reversed")) reverse(pool.records, n);
  pool.delivering = 1;
  pthread_mutex_unlock(&pool.lock);
  pool.callback(pool.records[0], pool.records[0] + n * PROF_RECORD - (stub_order("torn") ? 24 : 0), pool.argument);
  pthread_mutex_lock(&pool.lock);
  memset(pool.names, '?', (size_t)n * NAME); // a name that was kept instead of copied is seen to be wrong
  pool.filled = pool.delivering = 0;
}

static void *consume(void *unused) {
  pthread_mutex_lock(&pool.lock);
  while (pool.open) {
    while (pool.open && !pool.deliver) pthread_cond_wait(&pool.changed, &pool.lock);
    deliver();
    pool.deliver = 0;
    pthread_cond_broadcast(&pool.changed);
  }
  pthread_mutex_unlock(&pool.lock);
  return unused;
}

static void ask_for_delivery(void) { // with the lock held
  pool.deliver = 1;
  pthread_cond_broadcast(&pool.changed);
  while (pool.open && pool.deliver) pthread_cond_wait(&pool.changed, &pool.lock);
}

// Waits for a place in the pool, and returns the next; -1: the pool is closed. Called with the lock held.
static int take_place(void) {
  while (pool.open && (pool.filled == MOST || pool.delivering)) ask_for_delivery();
  return pool.open ? pool.filled++ : -1;
}

static void write_record(const struct stub_work *w, uint64_t correlation) {
  pthread_mutex_lock(&pool.lock);
  int at = take_place();
  if (at >= 0) {
    char *r = pool.records[at], *name = pool.names[at];
    int backwards = stub_named(stub_order("backwards"), w->name);
    strncpy(name, w->name ? w->name : "", NAME - 4);
    if (w->name) strcat(name, ".kd");
    prof_record(r, w, name, stub_named(stub_order("uncorrelated"), w->name) ? 0 : correlation);
    if (stub_named(stub_order("unknown"), w->name)) prof_put32(r + 8, 7);
    if (backwards) prof_put64(r + 24, w->end), prof_put64(r + 32, w->start);
  }
  pthread_mutex_unlock(&pool.lock);
}

// ---- replays: operations have the numbers of hip_calls ----

static void say_call(const struct stub_said *s) {
  const struct hip_offsets *at = &hip_calls[s->call].legacy;
  call_fn *f = atomic_load(&callbacks[s->call].function);
  char data[PROF_CALL] = {0};
  prof_put64(data, s->correlation), prof_put32(data + 8, (uint32_t)s->exited);
  if (at->first) prof_put64(data + at->first, (uint64_t)(uintptr_t)s->arguments.first);
  if (at->second) prof_put64(data + at->second, (uint64_t)(uintptr_t)s->arguments.second);
  if (at->stream) prof_put64(data + at->stream, (uint64_t)(uintptr_t)s->arguments.stream);
  if (f) f(PROF_HIP_API, s->call, data, callbacks[s->call].argument);
}

static void say_record(const struct stub_record *s) {
  int on = s->operation > PROF_BARRIER || atomic_load(&activities[s->operation]);
  pthread_mutex_lock(&pool.lock);
  int at = on ? take_place() : -1;
  if (at >= 0) {
    char *r = pool.records[at];
    memset(r, 0, PROF_RECORD);
    prof_put32(r, (uint32_t)s->category), prof_put32(r + 4, (uint32_t)s->kind), prof_put32(r + 8, (uint32_t)s->operation);
    prof_put64(r + 16, s->correlation), prof_put64(r + 24, s->begin), prof_put64(r + 32, s->end), prof_put32(r + 40, (uint32_t)s->device), prof_put64(r + 48, s->queue);
    prof_put64(r + 56, s->operation == PROF_DISPATCH ? (uint64_t)(uintptr_t)s->name : s->bytes);
  }
  pthread_mutex_unlock(&pool.lock);
}

static void on_said(const struct stub_said *s) {
  if (s->what == SAID_CALL) say_call(s);
  if (s->what == SAID_RECORD) say_record(&s->record);
  if (s->what != SAID_BUFFER_ENDS) return;
  pthread_mutex_lock(&pool.lock);
  if (pool.open) ask_for_delivery();
  pthread_mutex_unlock(&pool.lock);
}

// ---- what HIP reports ----

static uint64_t next_id(void) {
  static _Atomic uint64_t drawn;
  const char *from = stub_order("ids from");
  return (from ? strtoull(from, NULL, 10) : 0) + atomic_fetch_add(&drawn, 1) + 1;
}

// A call without a callback draws no id.
static uint64_t on_enter(const struct stub_call *call) {
  const struct prof_known *k = prof_named(call->name);
  call_fn *f = k ? atomic_load(&callbacks[k->op].function) : NULL;
  if (!f) return 0;
  uint64_t id = next_id();
  char data[PROF_CALL];
  prof_call(data, k, call);
  prof_put64(data, id);
  f(PROF_HIP_API, k->op, data, callbacks[k->op].argument);
  return id;
}

static void on_exit_of(const struct stub_call *call, uint64_t id) {
  const struct prof_known *k = prof_named(call->name);
  call_fn *f = k && id ? atomic_load(&callbacks[k->op].function) : NULL;
  if (!f) return;
  char data[PROF_CALL];
  prof_call(data, k, call);
  prof_put64(data, id), prof_put32(data + 8, 1);
  f(PROF_HIP_API, k->op, data, callbacks[k->op].argument);
}

static pid_t owner; // a forked child has no consumer

static void on_work(const struct stub_work *work, uint64_t id) {
  if (getpid() != owner) return;
  if (!atomic_load(&activities[work->kind == STUB_KERNEL ? PROF_DISPATCH : PROF_COPY]) || stub_named(stub_order("lost"), work->name)) return;
  write_record(work, id);
}

// HIP is looked for once: what is loaded later is never heard.
static void find_hip(void) {
  static const struct stub_listener listener = {.enter = on_enter, .exit = on_exit_of, .work = on_work, .said = on_said};
  void *library = dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
  stub_listen_fn *listen = NULL;
  if (library) *(void **)&listen = dlsym(library, "stub_listen");
  owner = getpid();
  if (listen) listen(&listener);
}

// ---- the interface ----

static pthread_once_t once = PTHREAD_ONCE_INIT;

#define RESULT(name)                           \
  int result = stub_result("roctracer_" name); \
  if (result) return result
// Only what switches something looks for HIP.
#define SWITCH(name)             \
  pthread_once(&once, find_hip); \
  RESULT(name)

STUB_EXPORT uint32_t roctracer_version_major(void) { return (uint32_t)stub_number("PROTON_STUB_ROCTRACER", 4); }
STUB_EXPORT uint32_t roctracer_version_minor(void) { return 1; }

STUB_EXPORT int roctracer_op_code(uint32_t domain, const char *name, uint32_t *op, uint32_t *kind) {
  RESULT("op_code");
  if (domain != PROF_HIP_API) return BAD_DOMAIN;
  if (kind) *kind = 0;
  const struct prof_known *k = prof_named(name);
  if (!replaying() && k) return *op = k->op, 0;
  for (unsigned i = 0; replaying() && i < hip_call_count; i++)
    if (!strcmp(hip_calls[i].name, name)) return *op = i, 0;
  return BAD_ARGUMENT;
}

STUB_EXPORT int roctracer_set_properties(uint32_t domain, void *properties) {
  (void)properties;
  RESULT("set_properties");
  return domain < DOMAINS ? 0 : BAD_DOMAIN;
}

STUB_EXPORT int roctracer_enable_op_callback(uint32_t domain, uint32_t op, call_fn *callback, void *argument) {
  SWITCH("enable_op_callback");
  if (domain != PROF_HIP_API) return BAD_DOMAIN;
  if (op >= PROF_CALLS) return BAD_ARGUMENT;
  callbacks[op].argument = argument;
  atomic_store(&callbacks[op].function, callback);
  return 0;
}

STUB_EXPORT int roctracer_disable_op_callback(uint32_t domain, uint32_t op) {
  SWITCH("disable_op_callback");
  if (domain != PROF_HIP_API) return BAD_DOMAIN;
  if (op >= PROF_CALLS) return BAD_ARGUMENT;
  atomic_store(&callbacks[op].function, NULL);
  return 0;
}

struct properties { uint32_t mode; size_t buffer_size; void *allocate, *allocate_argument; buffer_fn *buffer; void *argument; };

STUB_EXPORT int roctracer_open_pool(const struct properties *p) {
  RESULT("open_pool");
  if (pool.open) return POOL_EXISTS;
  pthread_mutex_lock(&pool.lock);
  pool.open = 1, pool.filled = pool.deliver = 0;
  pool.callback = p->buffer, pool.argument = p->argument;
  if (!pool.records) pool.records = malloc((size_t)MOST * PROF_RECORD), pool.names = malloc((size_t)MOST * NAME);
  pthread_create(&pool.consumer, NULL, consume, NULL);
  pthread_mutex_unlock(&pool.lock);
  return 0;
}

STUB_EXPORT int roctracer_close_pool(void) {
  RESULT("close_pool");
  if (!pool.open) return 0;
  pthread_mutex_lock(&pool.lock);
  ask_for_delivery();
  pool.open = 0;
  pthread_cond_broadcast(&pool.changed);
  pthread_mutex_unlock(&pool.lock);
  pthread_join(pool.consumer, NULL);
  return 0;
}

static int switch_activity(uint32_t domain, uint32_t op, int on) {
  if (domain != PROF_HIP_OPS) return BAD_DOMAIN;
  if (op > PROF_BARRIER) return BAD_ARGUMENT;
  if (on && !pool.open) return NO_POOL;
  atomic_store(&activities[op], on);
  return 0;
}

STUB_EXPORT int roctracer_enable_op_activity(uint32_t domain, uint32_t op) {
  SWITCH("enable_op_activity");
  return switch_activity(domain, op, 1);
}

STUB_EXPORT int roctracer_disable_op_activity(uint32_t domain, uint32_t op) {
  SWITCH("disable_op_activity");
  return switch_activity(domain, op, 0);
}

STUB_EXPORT int roctracer_flush_activity(void) {
  RESULT("flush_activity");
  if (!pool.open) return 0;
  pthread_mutex_lock(&pool.lock);
  ask_for_delivery();
  pthread_mutex_unlock(&pool.lock);
  return 0;
}
