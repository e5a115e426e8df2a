#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>

// Functions are found by the names that cuda.h maps the plain ones to.
const char *driver_open(struct driver *d) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return dlerror();
  const struct { void *slot; const char *name; } wanted[] = {
    {&d->init, "cuInit"},
    {&d->device, "cuDeviceGet"},
    {&d->retain, "cuDevicePrimaryCtxRetain"},
    {&d->make_current, "cuCtxSetCurrent"},
    {&d->load, "cuModuleLoadData"},
    {&d->function, "cuModuleGetFunction"},
    {&d->allocate, "cuMemAlloc_v2"},
    {&d->read, "cuMemcpyDtoH_v2"},
    {&d->launch, "cuLaunchKernel"},
    {&d->error_name, "cuGetErrorName"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    void *found = dlsym(library, wanted[i].name);
    if (!found) return dlerror();
    *(void **)wanted[i].slot = found;
  }
  return NULL;
}

int driver_start(const struct driver *d, const char *ptx, void **context, void **fill, void **saxpy) {
  int device, rc;
  void *module;
  if ((rc = d->init(0)) || (rc = d->device(&device, 0)) || (rc = d->retain(context, device)) ||
      (rc = d->make_current(*context)) || (rc = d->load(&module, ptx)) || (rc = d->function(fill, module, "fill")))
    return rc;
  return d->function(saxpy, module, "saxpy");
}

// Goroutines move between threads, so every call makes the context current first: a driver call of some
// nanoseconds that finds it is so already.

int driver_allocate(const struct driver *d, void *context, uint64_t *address, size_t size) {
  int rc = d->make_current(context);
  return rc ? rc : d->allocate(address, size);
}

int driver_read(const struct driver *d, void *context, float *to, uint64_t from) {
  int rc = d->make_current(context);
  return rc ? rc : d->read(to, from, sizeof *to);
}

static int launch(const struct driver *d, void *context, void *kernel, uint32_t n, void **params) {
  const unsigned block = 256;
  int rc = d->make_current(context);
  return rc ? rc : d->launch(kernel, (n + block - 1) / block, 1, 1, block, 1, 1, 0, NULL, params, NULL);
}

int driver_fill(const struct driver *d, void *context, void *kernel, uint64_t v, float value, uint32_t n) {
  return launch(d, context, kernel, n, (void *[]){&v, &value, &n});
}

int driver_saxpy(const struct driver *d, void *context, void *kernel, uint64_t y, float a, uint64_t x, uint32_t n) {
  return launch(d, context, kernel, n, (void *[]){&y, &a, &x, &n});
}

const char *driver_error(const struct driver *d, int result) {
  const char *name;
  return d->error_name(result, &name) == 0 ? name : "an error that the driver does not know";
}
