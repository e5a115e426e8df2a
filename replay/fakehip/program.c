// A program for the fake HIP: three threads launch a kernel N times each. It loads the library of PROTON_LIB once HIP is loaded, as
// libproton-preload.so does for programs that are not Python.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int hipModuleLoadData(void **module, const void *image);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipStreamCreate(void **stream);
int hipModuleLaunchKernel(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **, void **);

enum { THREADS = 3 };
static void *function;
static long launches;

static void *launch(void *stream) {
  for (long i = 0; i < launches; i++) hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL);
  return NULL;
}

static int load_profiler(void) {
  const char *path = getenv("PROTON_LIB");
  if (!path) return 1;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void (*hip_loaded)(void) = NULL;
  if (library) *(void **)&hip_loaded = dlsym(library, "proton_hip_loaded");
  if (!hip_loaded) return fprintf(stderr, "program: load %s: %s\n", path, dlerror()), 0;
  hip_loaded();
  return 1;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  void *module, *streams[THREADS];
  launches = argc > 1 ? atol(argv[1]) : 1;
  if (!load_profiler() || hipModuleLoadData(&module, "image") || hipModuleGetFunction(&function, module, "add")) return 1;
  for (int i = 0; i < THREADS; i++)
    if (hipStreamCreate(&streams[i]) || pthread_create(&threads[i], NULL, launch, streams[i])) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}
