// What the hooks ask the driver. A trace asks without a session, so nothing here loads libcuda or waits for CUPTI: as long as
// the program has not loaded the driver, the answer is -1.
#define _GNU_SOURCE
#include "runtime.h"
#include "tensor.h"

#include <dlfcn.h>

static uint32_t (*is_capturing)(void *stream, int *status);
static uint32_t (*get_device)(int *device);

static int driver_found(void) {
  static atomic_int found;
  if (atomic_load_explicit(&found, memory_order_acquire)) return 1;
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) return 0;
  *(void **)&is_capturing = dlsym(driver, "cuStreamIsCapturing");
  *(void **)&get_device = dlsym(driver, "cuCtxGetDevice");
  atomic_store_explicit(&found, 1, memory_order_release);
  return 1;
}

static int stream_capturing(void *stream) {
  int status = 0;
  if (!driver_found() || !is_capturing || is_capturing(stream, &status)) return -1;
  return status != 0;
}

static int current_device(void) {
  int device = -1;
  return driver_found() && get_device && !get_device(&device) ? device : -1;
}

const struct hp_vendor cupti_vendor = {stream_capturing, current_device, cupti_read_tensor};
