#define _GNU_SOURCE
#include "driver.h"
#include "drain.h"

#include "../hotpath.h"

#include <dlfcn.h>
#include <stdatomic.h>

struct scratch_driver cu;

static int find(struct scratch_driver *to) {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  int complete = 1;
#define X(name, symbol, parameters) complete &= (*(void **)&to->name = dlsym(library, symbol)) != NULL;
  SCRATCH_DRIVER(X)
#undef X
#define X(name, symbol, parameters) *(void **)&to->name = dlsym(library, symbol);
  SCRATCH_DRIVER_NEWER(X)
#undef X
  return complete;
}

int scratch_driver_ready(void) {
  static atomic_int found;
  if (atomic_load_explicit(&found, memory_order_acquire)) return 1;
  struct scratch_driver all;
  if (!find(&all)) return 0;
  cu = all; // threads that come here at once write the same
  atomic_store_explicit(&found, 1, memory_order_release);
  return 1;
}

struct scratch_apart scratch_apart_begin(void) {
  struct scratch_apart before = {2 /* relaxed */, scratch_hp->own_work(1)};
  cu.capture_mode(&before.mode);
  return before;
}

void scratch_apart_end(struct scratch_apart before) {
  cu.capture_mode(&before.mode);
  scratch_hp->own_work(before.own);
}
