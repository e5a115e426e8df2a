// A training step as a program for the fake HIP, with what a Triton program gives the profiler: scopes, ranges of roctx, launches
// with their flops and bytes, copies, a graph and a second stream. testdata/captures has a recording of it. The durations are those
// that an MI300X would need at the fractions of its peaks that are written here: they are not measured.
//
//   fake-training [STEPS [FOLDER]]    FOLDER has the code objects of the kernels; without it, they have no code
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
int roctxRangePushA(const char *name);
int roctxRangePop(void);
void stub_next_takes(uint64_t nanoseconds);

static const struct hp_api *profiler;
static void *streams[2];

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

struct launch { const char *kernel, *name; double flops, bytes, fraction; void **module; }; // fraction: of the nearer peak

static uint64_t nanoseconds(const struct launch *l) {
  double computing = l->flops / TFLOPS / 1000, moving = l->bytes / GIGABYTES;
  return (uint64_t)((computing > moving ? computing : moving) / l->fraction);
}

static void launch(const struct launch *l, void *stream) {
  void *f;
  check(hipModuleGetFunction(&f, *l->module, l->kernel), "hipModuleGetFunction");
  stub_next_takes(nanoseconds(l));
  if (l->name) {
    profiler->op_enter(name_of(l->name), 0);
    profiler->metric_double(name_of("flops16"), l->flops);
    profiler->metric_double(name_of("bytes"), l->bytes);
  }
  check(hipModuleLaunchKernel(f, 304, 1, 1, 256, 1, 1, 0, stream, NULL, NULL), "hipModuleLaunchKernel");
  if (l->name) profiler->op_exit();
}

static void *modules[3];
static const struct launch matmul = {"matmul_kernel", "matmul <M=4096, N=4096, K=4096>", 137438953472., 100663296., 0.62, &modules[0]};
static const struct launch softmax = {"softmax_kernel", "softmax <M=4096, N=4096>", 83886080., 67108864., 0.71, &modules[1]};
static const struct launch add = {"add", NULL, 0, 50331648., 0.78, &modules[2]}; // it has no hook

// The image stays, as that of a program does.
static void *image_of(const char *folder, const char *name) {
  char path[4096];
  static const long largest = 1 << 20;
  snprintf(path, sizeof path, "%s/%s.gfx942.hsaco", folder, name);
  FILE *file = fopen(path, "rb");
  void *image = file ? calloc(1, largest) : NULL;
  check(!image || !fread(image, 1, largest, file), path);
  fclose(file);
  return image;
}

static void load_modules(const char *folder) {
  static const char *const names[] = {"matmul", "softmax", "add"};
  for (int i = 0; i < 3; i++) check(hipModuleLoadData(&modules[i], folder ? image_of(folder, names[i]) : "image"), "hipModuleLoadData");
}

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

// Ranges of libroctx64, and of librocprofiler-sdk-roctx, which is the fake SDK's part.
static int (*push)(const char *) = roctxRangePushA, (*pop)(void) = roctxRangePop;

static void find_ranges(void) {
  void *sdk = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!sdk) sdk = dlopen("librocprofiler-sdk.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (sdk) *(void **)&push = dlsym(sdk, "roctxRangePushA"), *(void **)&pop = dlsym(sdk, "roctxRangePop");
}

static void load_batch(void) {
  static char host[1 << 20];
  roctxRangePushA("load batch");
  stub_next_takes(sizeof host / 50); // PCIe: 50 GB/s
  check(hipMemcpyAsync((void *)4096, host, sizeof host, 1, streams[0]), "hipMemcpyAsync");
  stub_next_takes(sizeof host / 2000);
  check(hipMemsetAsync((void *)4096, 0, sizeof host, streams[0]), "hipMemsetAsync");
  roctxRangePop();
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
  push("update");
  check(hipGraphLaunch(exec, streams[0]), "hipGraphLaunch");
  pop();
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  leave(scope);
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 5;
  load_profiler();
  find_ranges();
  load_modules(argc > 2 ? argv[2] : NULL);
  for (int i = 0; i < 2; i++) check(hipStreamCreate(&streams[i]), "hipStreamCreate");
  void *exec = capture();
  for (int i = 0; i < steps; i++) step(exec);
  return 0;
}
