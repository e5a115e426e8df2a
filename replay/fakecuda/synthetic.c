// A program that only launches, through the fake driver: for instruction counts and overflow tests.
#include <pthread.h>
#include <stdlib.h>

#include "cuda_api.h"
#include "stub.h"

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
