// A small CUDA program for the fake driver, with all that the profiler must handle, in a fixed order.
//
//   fake-program [LAUNCHES [SCENARIO]]
//
// It launches "alpha" LAUNCHES times (10) on the main thread, and "beta" as often on each of two other threads, each on its
// stream; a graph of three nodes ("gamma", "delta", "gamma") four times; "epsilon" through cuLaunchKernelEx. Then it unloads
// the module, loads one with the same kernel name, launches that, and destroys everything.
//
// A scenario runs first. All except copies need the fake libcupti (PROTON_CUPTI_PATH):
//   unknown-graph   two records of a graph that was captured before the profiler subscribed, and one of a launch
//                   that was not reported
//   lost            CUPTI reports five dropped records
//   copies          after "alpha": two copies to the GPU and one back, a fill, and a wait
//   overflow        LAUNCHES on each of four threads without pause, faster than any GPU
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>

#include "cuda_api.h"
#include "stub.h"

static void *context;
static int launches = 10;

static void check(uint32_t result, const char *what) {
  if (!result) return;
  fprintf(stderr, "fake-program: %s: error %u\n", what, result);
  exit(1);
}

static void *function(void *module, const char *name) {
  void *f;
  check(cuModuleGetFunction(&f, module, name), "cuModuleGetFunction");
  return f;
}

static void launch(void *f, void *stream) {
  check(cuLaunchKernel(f, 4, 1, 1, 128, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static void *beta(void *module) {
  void *stream, *f = function(module, "beta");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, 0), "cuStreamCreate");
  for (int i = 0; i < launches; i++) launch(f, stream);
  return NULL;
}

static void threads(void *modules[2]) {
  pthread_t ids[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&ids[i], NULL, beta, modules[i])) exit(1);
  for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

static void graph(void *module) {
  void *stream, *g, *exec, *gamma = function(module, "gamma"), *delta = function(module, "delta");
  check(cuStreamCreate(&stream, 0), "cuStreamCreate");
  check(cuStreamBeginCapture_v2(stream, 0), "cuStreamBeginCapture");
  launch(gamma, stream), launch(delta, stream), launch(gamma, stream);
  check(cuStreamEndCapture(stream, &g), "cuStreamEndCapture");
  check(cuGraphInstantiateWithFlags(&exec, g, 0), "cuGraphInstantiate");
  for (int i = 0; i < 4; i++) check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
  check(cuGraphDestroy(g), "cuGraphDestroy");
  check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
}

static void *of_cupti(const char *name) {
  const char *path = getenv("PROTON_CUPTI_PATH");
  void *lib = path ? dlopen(path, RTLD_LAZY) : NULL, *symbol = lib ? dlsym(lib, name) : NULL;
  check(!symbol, "find the fake libcupti in PROTON_CUPTI_PATH");
  return symbol;
}

static void scenario(const char *name) {
  if (!strcmp(name, "unknown-graph")) {
    void (*emit)(const struct stub_kernel *);
    struct stub_kernel k = {.name = "unknown", .start = 5000, .end = 6000, .correlation = stub_cuda_correlation(), .graph = 4711, .graph_node = 1ull << 40};
    *(void **)&emit = of_cupti("stub_emit");
    emit(&k), k.graph_node++, emit(&k);
    k.graph_node = 0, k.graph = 0, k.correlation = stub_cuda_correlation(), k.name = "orphan";
    emit(&k);
  } else if (!strcmp(name, "lost")) {
    void (*lose)(uint64_t);
    *(void **)&lose = of_cupti("stub_lose");
    lose(5);
  } else if (!strcmp(name, "overflow")) {
    int (*synthetic)(uint64_t, unsigned);
    *(void **)&synthetic = of_cupti("stub_synthetic");
    check((uint32_t)synthetic((uint64_t)launches, 4), "launch");
  } else if (strcmp(name, "copies")) {
    check(1, "unknown scenario");
  }
}

static void copies(void) {
  static char host[4096];
  check(cuMemcpyHtoDAsync_v2(1, host, sizeof host, NULL), "cuMemcpyHtoDAsync");
  check(cuMemcpyHtoDAsync_v2(1, host, sizeof host, NULL), "cuMemcpyHtoDAsync");
  check(cuMemsetD8Async(1, 0, 100, NULL), "cuMemsetD8Async");
  check(cuMemcpyDtoHAsync_v2(host, 1, 1000, NULL), "cuMemcpyDtoHAsync");
  check(cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

int main(int argc, char **argv) {
  void *module, *modules[2];
  if (argc > 1) launches = atoi(argv[1]);
  check(cuInit(0), "cuInit");
  if (argc > 2) scenario(argv[2]);
  check(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
  check(cuModuleLoadData(&module, "first"), "cuModuleLoadData");
  for (int i = 0; i < 2; i++) check(cuModuleLoadData(&modules[i], "of a thread"), "cuModuleLoadData");
  void *alpha = function(module, "alpha");
  for (int i = 0; i < launches; i++) launch(alpha, NULL);
  if (argc > 2 && !strcmp(argv[2], "copies")) copies();
  threads(modules);
  graph(module);
  struct cuda_launch_config config = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  check(cuLaunchKernelEx(&config, function(module, "epsilon"), NULL, NULL), "cuLaunchKernelEx");
  check(cuModuleUnload(module), "cuModuleUnload");
  check(cuModuleLoadData(&module, "second"), "cuModuleLoadData");
  launch(function(module, "alpha"), NULL);
  for (int i = 0; i < 2; i++) check(cuModuleUnload(modules[i]), "cuModuleUnload");
  check(cuModuleUnload(module), "cuModuleUnload");
  check(cuCtxDestroy_v2(context), "cuCtxDestroy");
  return 0;
}
