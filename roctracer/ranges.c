// Ranges that the program marks are scopes. libroctx64 reports them to one listener. roctracer would pass them on, but only if
// libroctx64 had been loaded before roctracer's first use, and rocprofiler-sdk does not hear that library: both providers ask it
// themselves.
#include "abi_legacy.h"
#include "record.h"

#include <dlfcn.h>
#include <stdatomic.h>

static atomic_int wanted, watched;
static _Atomic(void (*)(roctx_listener *)) registration; // of the libroctx64 that has been asked

void room_range_push(const char *message) {
  if (room_listens() || atomic_load(&watched)) room_hp->range_push(message);
}

void room_range_pop(void) {
  if (room_listens() || atomic_load(&watched)) room_hp->range_pop();
}

static int on_range(uint32_t domain, uint32_t operation, void *data) {
  const char *message = operation == ROCTX_PUSH ? ((const struct roctx_call *)data)->message : NULL;
  if (domain != ROCTRACER_ROCTX || (operation != ROCTX_PUSH && operation != ROCTX_POP)) return 0;
  operation == ROCTX_PUSH ? room_range_push(message) : room_range_pop();
  record_range(operation, message, RANGE_OF_ROCTX);
  return 0;
}

void ranges_want(int on) { atomic_store(&wanted, on); }

void ranges_listen(void) {
  if (!atomic_load(&wanted) || atomic_load(&registration)) return;
  const char *path = loaded_library("libroctx64.so");
  void *library = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!library) return;
  void (*take)(roctx_listener *) = NULL;
  *(void **)&take = dlsym(library, "roctxRegisterTracerCallback"); // ROCm 5.2 has another
  if (!take) return;
  take(on_range);
  atomic_store(&registration, take);
}

void ranges_watch(int on) {
  atomic_store(&watched, on);
  if (on) ranges_listen();
}

void ranges_stop(void) {
  void (*take)(roctx_listener *) = atomic_exchange(&registration, NULL);
  if (take) take(NULL);
}
