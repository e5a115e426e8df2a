// A training step as a program for the fake HIP, with what a Triton program gives the profiler: scopes, launches with their flops and
// bytes, copies, a graph and a second stream. testdata/captures has a recording of it. The durations are those that an MI300X would
// need at the fractions of its peaks that are written here: they are not measured.
//
//   fake-training [STEPS]
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotpath.h"

int hipModuleLoadData(void **module, const void *image);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleLaunchKernel(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **, void **);
int hipStreamCreate(void **stream);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamEndCapture(void *stream, void **graph);
int hipGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t size);
int hipGraphDestroy(void *graph);
int hipGraphLaunch(void *exec, void *stream);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemsetAsync(void *to, int value, size_t bytes, void *stream);
int hipDeviceSynchronize(void);
void stub_next_takes(uint64_t nanoseconds);

static const struct hp_api *profiler;
static void *module, *streams[2];

static void check(int result, const char *what) {
  if (!result) return;
  fprintf(stderr, "fake-training: %s: error %d\n", what, result);
  exit(1);
}

static void load_profiler(void) {
  const char *path = getenv("PROTON_LIB");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void (*hip_loaded)(void) = NULL;
  const void *(*hotpath)(void) = NULL;
  if (library) *(void **)&hip_loaded = dlsym(library, "proton_hip_loaded"), *(void **)&hotpath = dlsym(library, "proton_hotpath");
  check(!hip_loaded || !hotpath, "load the profiler of PROTON_LIB");
  hip_loaded();
  profiler = hotpath();
}

static uint32_t name_of(const char *text) { return profiler->intern(text, strlen(text)); }
static struct hp_token enter(const char *scope) { return profiler->scope_enter(name_of(scope)); }
static void leave(struct hp_token scope) { profiler->scope_exit(scope); }

// ---- launches, as Triton's hook reports them ----

enum { TFLOPS = 1307, GIGABYTES = 5300 }; // of an MI300X in a second: fp16, and its memory

struct launch { const char *kernel, *name; double flops, bytes, fraction; }; // fraction: of the nearer peak

static uint64_t nanoseconds(const struct launch *l) {
  double computing = l->flops / TFLOPS / 1000, moving = l->bytes / GIGABYTES;
  return (uint64_t)((computing > moving ? computing : moving) / l->fraction);
}

static void launch(const struct launch *l, void *stream) {
  void *f;
  check(hipModuleGetFunction(&f, module, l->kernel), "hipModuleGetFunction");
  stub_next_takes(nanoseconds(l));
  if (l->name) {
    profiler->op_enter(name_of(l->name), 0);
    profiler->metric_double(name_of("flops16"), l->flops);
    profiler->metric_double(name_of("bytes"), l->bytes);
  }
  check(hipModuleLaunchKernel(f, 304, 1, 1, 256, 1, 1, 0, stream, NULL, NULL), "hipModuleLaunchKernel");
  if (l->name) profiler->op_exit();
}

static const struct launch matmul = {"matmul_kernel", "matmul <M=4096, N=4096, K=4096>", 137438953472., 100663296., 0.62};
static const struct launch softmax = {"softmax_kernel", "softmax <M=4096, N=4096>", 83886080., 67108864., 0.71};
static const struct launch add = {"_Z3addPKfS0_Pfi", NULL, 0, 50331648., 0.78}; // not Triton's: it has no hook

static void *exchange(void *unused) {
  struct hp_token scope = enter("exchange");
  for (int i = 0; i < 4; i++) launch(&add, streams[1]);
  leave(scope);
  return unused;
}

static void exchange_in_thread(void) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, exchange, NULL), "pthread_create");
  pthread_join(thread, NULL);
}

static void load_batch(void) {
  static char host[1 << 20];
  struct hp_token scope = enter("load batch");
  stub_next_takes(sizeof host / 50); // PCIe: 50 GB/s
  check(hipMemcpyAsync((void *)4096, host, sizeof host, 1, streams[0]), "hipMemcpyAsync");
  stub_next_takes(sizeof host / 2000);
  check(hipMemsetAsync((void *)4096, 0, sizeof host, streams[0]), "hipMemsetAsync");
  leave(scope);
}

static void *capture(void) {
  void *graph, *exec;
  struct hp_token scope = enter("optimizer");
  check(hipStreamBeginCapture(streams[0], 0), "hipStreamBeginCapture");
  launch(&add, streams[0]), launch(&softmax, streams[0]), launch(&add, streams[0]);
  check(hipStreamEndCapture(streams[0], &graph), "hipStreamEndCapture");
  leave(scope);
  check(hipGraphInstantiate(&exec, graph, NULL, NULL, 0), "hipGraphInstantiate");
  check(hipGraphDestroy(graph), "hipGraphDestroy");
  return exec;
}

static void step(void *exec) {
  struct hp_token scope = enter("step"), part;
  load_batch();
  part = enter("forward");
  for (int layer = 0; layer < 3; layer++) launch(&matmul, streams[0]), launch(&softmax, streams[0]);
  leave(part);
  part = enter("backward");
  for (int layer = 0; layer < 6; layer++) launch(&matmul, streams[0]);
  leave(part);
  exchange_in_thread();
  part = enter("update");
  check(hipGraphLaunch(exec, streams[0]), "hipGraphLaunch");
  leave(part);
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  leave(scope);
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 5;
  load_profiler();
  check(hipModuleLoadData(&module, "image"), "hipModuleLoadData");
  for (int i = 0; i < 2; i++) check(hipStreamCreate(&streams[i]), "hipStreamCreate");
  void *exec = capture();
  for (int i = 0; i < steps; i++) step(exec);
  return 0;
}
