// A program that launches kernels through the fake driver for hours, for the soak test.
//
//   launcher STATE RATE BURST SEED ROLE
//
// STATE is a file of the numbers below, which the test maps too. RATE is the launches per second of all threads together, BURST that of
// three seconds in each minute. ROLE: "bounded" churns over a fixed set of call paths and kernels, "unbounded" makes new ones all the
// time, "plain" is "bounded" without the profiler's calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "hotpath.h"

enum { THREADS = 3, NAMES = 300, PATHS = 3000, MODULES = 8, KERNELS = 5, CELLS = 64, BUCKETS = 40, MOST_DEPTH = 5 };

// The numbers that the test reads. slowest and slowest_cpu are reset by it.
struct state {
  _Atomic uint64_t stop, pid, launches, slowest, slowest_cpu, sessions, forks, forks_failed, modules, paths, threads, errors, c_bytes, lost, lost_windows;
  _Atomic uint64_t delays[BUCKETS]; // launches that took less than 2^i ns
};

static struct state *state;
static const struct hp_api *api;
static char *(*control)(const char *method, const char *params);
static int unbounded;
static double rate, burst;
static unsigned seed;
static void *context;

static struct {
  uint32_t (*cuInit)(uint32_t);
  uint32_t (*cuCtxCreate_v2)(void **, uint32_t, int);
  uint32_t (*cuCtxSetCurrent)(void *);
  uint32_t (*cuModuleLoadData)(void **, const void *);
  uint32_t (*cuModuleUnload)(void *);
  uint32_t (*cuModuleGetFunction)(void **, void *, const char *);
  uint32_t (*cuLaunchKernel)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, void *, void **, void **);
} cuda;

static void die(const char *what) {
  fprintf(stderr, "launcher: %s\n", what);
  exit(1);
}
static void check(uint32_t result, const char *what) {
  if (result) die(what);
}
static uint64_t nanoseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static uint32_t mixed(uint64_t x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
  return (uint32_t)x;
}
static void largest(_Atomic uint64_t *at, uint64_t value) {
  uint64_t old = atomic_load_explicit(at, memory_order_relaxed);
  while (value > old && !atomic_compare_exchange_weak(at, &old, value)) {}
}

// ---- one thread's kernels and scope names ----

struct thread {
  unsigned number;
  uint64_t steps, made;
  void *modules[MODULES], *functions[MODULES][KERNELS];
  uint32_t cells[CELLS], held[CELLS]; // the id of a scope's name, and which name it is, plus one
};

static void load(struct thread *t, int m) {
  static const char image[] = "soak";
  char name[64];
  if (t->modules[m]) check(cuda.cuModuleUnload(t->modules[m]), "cuModuleUnload");
  check(cuda.cuModuleLoadData(&t->modules[m], image), "cuModuleLoadData");
  for (int k = 0; k < KERNELS; k++) {
    if (unbounded && m == 0 && k == 0) snprintf(name, sizeof name, "new_kernel_%u_%llu", t->number, (unsigned long long)t->made);
    else snprintf(name, sizeof name, "kernel_%d", m * KERNELS + k);
    check(cuda.cuModuleGetFunction(&t->functions[m][k], t->modules[m], name), "cuModuleGetFunction");
  }
  atomic_fetch_add(&state->modules, 1);
}

// The cells hold fewer names than there are, so that names are dropped and made again.
static uint32_t scope_name(struct thread *t, uint32_t which) {
  char text[64];
  uint32_t cell = which % CELLS;
  if (t->held[cell] != which + 1) t->cells[cell] = 0, t->held[cell] = which + 1;
  int length = which < NAMES ? snprintf(text, sizeof text, "scope %u", which) : snprintf(text, sizeof text, "new scope %u of %u", which, t->number);
  return t->cells[cell] ? t->cells[cell] : api->frame_name_in(&t->cells[cell], text, (size_t)length);
}

static void launch(void *function) {
  int sampled = mixed(nanoseconds(CLOCK_MONOTONIC)) % 64 == 0;
  uint64_t cpu = sampled ? nanoseconds(CLOCK_THREAD_CPUTIME_ID) : 0, began = nanoseconds(CLOCK_MONOTONIC);
  if (cuda.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL)) die("cuLaunchKernel");
  uint64_t took = nanoseconds(CLOCK_MONOTONIC) - began;
  if (sampled) largest(&state->slowest_cpu, nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
  largest(&state->slowest, took);
  int bucket = took ? 64 - __builtin_clzll(took) : 0;
  atomic_fetch_add_explicit(&state->delays[bucket < BUCKETS ? bucket : BUCKETS - 1], 1, memory_order_relaxed);
  atomic_fetch_add(&state->launches, 1);
}

// One step: a call path of the set, or a new one, and one launch at its end.
static void step(struct thread *t) {
  uint32_t path = mixed(seed + t->number * 1000003ull + t->steps++) % PATHS;
  int depth = 1 + (int)(mixed(path) % MOST_DEPTH), entered = 0, fresh = unbounded && t->steps % 200 == 0;
  struct hp_token tokens[MOST_DEPTH + 1];
  for (int i = 0; api && i < depth; i++) tokens[entered++] = api->scope_enter(scope_name(t, mixed(path * 31ull + (unsigned)i) % NAMES));
  if (api && fresh) {
    tokens[entered++] = api->scope_enter(scope_name(t, (uint32_t)(NAMES + t->made++)));
    atomic_fetch_add(&state->paths, 1);
  }
  launch(t->functions[path % MODULES][path / MODULES % KERNELS]);
  while (entered) api->scope_exit(tokens[--entered]);
}

static struct thread *new_thread(unsigned number) {
  struct thread *t = calloc(1, sizeof *t);
  if (!t) die("no memory");
  t->number = number;
  if (api && !api->hold_names(t->cells, sizeof t->cells[0], CELLS)) die("too many tables of names");
  check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  for (int m = 0; m < MODULES; m++) load(t, m);
  return t;
}

static double now_rate(uint64_t began) { return (nanoseconds(CLOCK_MONOTONIC) - began) / 1000000000u % 60 / 3 == 10 ? burst : rate; }

static void *work(void *number) {
  struct thread *t = new_thread((unsigned)(uintptr_t)number);
  uint64_t began = nanoseconds(CLOCK_MONOTONIC), ticks = 0;
  double owed = 0;
  while (!atomic_load(&state->stop)) {
    for (owed += now_rate(began) / THREADS * 0.002; owed >= 1; owed--) step(t);
    if (++ticks % 250 == 0) load(t, (int)(ticks / 250 % MODULES));
    uint64_t next = began + ticks * 2000000, now = nanoseconds(CLOCK_MONOTONIC);
    if (now > next + 1000000000) began += now - next; // the machine was busy: what is late by a second is left out
    struct timespec until = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  }
  return NULL;
}

// ---- what happens now and then ----

static int call(const char *method, const char *params) {
  char *answer = control(method, params), *id = answer ? strstr(answer, "\"session\":") : NULL;
  int session = id ? atoi(id + 10) : -1;
  if (!answer || strstr(answer, "\"error\"")) {
    fprintf(stderr, "launcher: %s: %s\n", method, answer ? answer : "no answer");
    atomic_fetch_add(&state->errors, 1);
  }
  free(answer);
  return session;
}

static uint64_t number_after(const char *text, const char *key) {
  const char *at = text ? strstr(text, key) : NULL;
  return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void read_status(void) {
  char *status = control("status", "{}"), *push = status ? strstr(status, "\"push\":") : NULL;
  atomic_store(&state->lost, number_after(status, "\"lost\":"));
  atomic_store(&state->lost_windows, number_after(push, "\"evicted\":") + number_after(push, "\"dropped\":"));
  free(status);
}

static void short_session(unsigned round) {
  char params[256];
  snprintf(params, sizeof params, "{\"name\": \"extra-%d\", \"context\": \"shadow\", \"data\": \"%s\", \"backend\": \"cupti\"}", (int)getpid(), round % 5 ? "tree" : "trace");
  int session = call("start", params);
  usleep(700000);
  snprintf(params, sizeof params, "{\"session\": %d}", session);
  call("finalize", params);
  atomic_fetch_add(&state->sessions, 1);
}

static struct thread *visitor; // used by one short-lived thread after another
static void *visit(void *unused) {
  check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  for (int i = 0; i < 100; i++) step(visitor);
  return unused;
}

// A forked child launches too. The fake driver's own locks may be held at the fork, so a child has 10 s.
static void fork_once(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    for (int i = 0; i < 10; i++) cuda.cuLaunchKernel(visitor->functions[0][1], 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status) atomic_fetch_add(&state->forks_failed, 1);
  atomic_fetch_add(&state->forks, 1);
}

static void now_and_then(void) {
  for (unsigned second = 0; !atomic_load(&state->stop); second++) {
    if (control && second % 3 == 1) short_session(second);
    if (second % 5 == 2) fork_once();
    if (control && second % 10 == 9) read_status();
    if (second % 10 == 3) {
      pthread_t id;
      if (pthread_create(&id, NULL, visit, NULL)) die("pthread_create");
      pthread_join(id, NULL);
      atomic_fetch_add(&state->threads, 1);
    }
    struct mallinfo2 info = mallinfo2();
    atomic_store(&state->c_bytes, info.uordblks + info.hblkhd);
    usleep(1000000);
  }
}

static void open_libraries(int plain) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) die(dlerror());
#define F(name) if (!(*(void **)&cuda.name = dlsym(driver, #name))) die(#name);
  F(cuInit) F(cuCtxCreate_v2) F(cuCtxSetCurrent) F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuLaunchKernel)
#undef F
  check(cuda.cuInit(0), "cuInit"); // loads the profiler, as CUDA does
  check(cuda.cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
  if (plain) return;
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  const void *(*hotpath)(void);
  if (!library) die("the profiler is not loaded");
  *(void **)&control = dlsym(library, "proton_call");
  *(void **)&hotpath = dlsym(library, "proton_hotpath");
  if (!control || !hotpath || !(api = hotpath())) die("the profiler lacks its functions");
}

int main(int argc, char **argv) {
  if (argc != 6) die("usage: launcher STATE RATE BURST SEED ROLE");
  int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof *state)) die("the state cannot be made");
  state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (state == MAP_FAILED) die("the state cannot be mapped");
  close(file);
  rate = atof(argv[2]), burst = atof(argv[3]), seed = (unsigned)atoi(argv[4]), unbounded = !strcmp(argv[5], "unbounded");
  open_libraries(!strcmp(argv[5], "plain"));
  visitor = new_thread(THREADS);
  pthread_t ids[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    if (pthread_create(&ids[i], NULL, work, (void *)i)) die("pthread_create");
  atomic_store(&state->pid, (uint64_t)getpid());
  now_and_then();
  for (int i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
  return 0;
}
