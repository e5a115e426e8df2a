// A program of nothing but launches, through the fake driver: for instruction counts and overflow tests.
#include <pthread.h>
#include <stdlib.h>

#include "stub.h"

uint32_t cuInit(uint32_t flags);
uint32_t cuCtxCreate_v2(void **context, uint32_t flags, int device);
uint32_t cuCtxSetCurrent(void *context);
uint32_t cuModuleLoadData(void **module, const void *image);
uint32_t cuModuleGetFunction(void **function, void *module, const char *name);
uint32_t cuLaunchKernel(void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
                        void *stream, void **params, void **extra);

struct worker {
  void *context, *function;
  uint64_t n;
  pthread_t id;
  int failed;
};

static void *launch_all(void *argument) {
  struct worker *w = argument;
  cuCtxSetCurrent(w->context);
  for (uint64_t i = 0; i < w->n && !w->failed; i++)
    w->failed = cuLaunchKernel(w->function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL) != 0;
  return NULL;
}

int stub_synthetic(uint64_t n, unsigned threads) {
  static const char image[] = "stub";
  void *context, *module, *function;
  if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuModuleLoadData(&module, image) ||
      cuModuleGetFunction(&function, module, "synthetic_kernel"))
    return 1;
  struct worker *workers = calloc(threads ? threads : 1, sizeof *workers);
  if (!workers) return 1;
  int failed = 0;
  workers[0] = (struct worker){.context = context, .function = function, .n = n};
  for (unsigned i = 1; i < threads; i++) {
    workers[i] = workers[0];
    if (pthread_create(&workers[i].id, NULL, launch_all, &workers[i])) abort();
  }
  launch_all(&workers[0]);
  for (unsigned i = 0; i < threads; i++) {
    if (i) pthread_join(workers[i].id, NULL);
    failed |= workers[i].failed;
  }
  free(workers);
  return failed;
}
