// Opens libcupti and libcuda, and wraps functions of theirs for Go.
#define _GNU_SOURCE
#include "overtime.h"
#include "sampling.h"
#include <dlfcn.h>
#include <time.h>

struct cupti_table cupti;
struct cuda_table cuda;
__thread int cupti_own_call;
struct cupti_sampling_table cupti_sampling;
static void *library; // libcupti

// RTLD_LOCAL: a process can have two libcuptis (torch's and Triton's), and neither may see the other's symbols.
const char *cupti_load(const char *path, int *missing_symbol) {
  struct cupti_table t;
  *missing_symbol = 0;
  void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return dlerror();
#define F(name, required, arguments)                     \
  *(void **)&t.name = dlsym(lib, "cupti" #name);         \
  if (required && !t.name) {                             \
    *missing_symbol = 1;                                 \
    return "cupti" #name;                                \
  }
  CUPTI_FUNCTIONS(F)
#undef F
  cupti = t;
  library = lib;
  return NULL;
}

void *cupti_library(void) { return library; }

// For a list of functions that are all required: fills t, or returns the name of the first that libcupti lacks.
#define LOOK_UP(name, arguments)                     \
  *(void **)&t.name = dlsym(library, "cupti" #name); \
  if (!t.name) return "cupti" #name;

const char *cupti_sampling_load(void) {
  struct cupti_sampling_table t;
  CUPTI_SAMPLING_FUNCTIONS(LOOK_UP)
  cupti_sampling = t;
  return NULL;
}

const char *cupti_counters_load(const char *host_library) {
  struct cupti_counters_table t;
  dlopen(host_library, RTLD_LAZY | RTLD_LOCAL);
  CUPTI_COUNTERS_FUNCTIONS(LOOK_UP)
  cupti_counters = t;
  return NULL;
}

const char *cupti_lines_load(void) {
  struct cupti_lines_table t;
  CUPTI_LINES_FUNCTIONS(LOOK_UP)
  cupti_lines = t;
  return NULL;
}

const char *cupti_pm_load(void) {
  struct cupti_pm_table t;
  CUPTI_PM_FUNCTIONS(LOOK_UP)
  cupti_pm = t;
  return NULL;
}

const char *cuda_load(int *missing_symbol) {
  struct cuda_table t;
  *missing_symbol = 0;
  void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return dlerror();
#define F(name, arguments)               \
  *(void **)&t.name = dlsym(lib, #name); \
  if (!t.name) {                         \
    *missing_symbol = 1;                 \
    return #name;                        \
  }
  CUDA_FUNCTIONS(F)
#undef F
  cuda = t;
  return NULL;
}

int cuda_is_loaded(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (lib) dlclose(lib);
  return lib != NULL;
}

uint32_t cupti_set_u8(uint32_t attribute, uint8_t value) {
  size_t size = sizeof value;
  return cupti.ActivitySetAttribute(attribute, &size, &value);
}

uint32_t cupti_set_size(uint32_t attribute, size_t value) {
  size_t size = sizeof value;
  return cupti.ActivitySetAttribute(attribute, &size, &value);
}

static int64_t realtime(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The reading that took the least time is the most exact one.
int64_t cupti_clock_ahead(void) {
  int64_t narrowest = INT64_MAX, ahead = 0;
  for (int i = 0; i < 32; i++) {
    uint64_t theirs = 0;
    int64_t before = realtime();
    if (cupti.GetTimestamp(&theirs)) return 0;
    int64_t after = realtime();
    if (after - before >= narrowest || after < before) continue;
    narrowest = after - before;
    ahead = (int64_t)theirs - (before + narrowest / 2);
  }
  return ahead;
}

uint32_t cuda_synchronize(void *context) {
  void *popped;
  uint32_t rc = cuda.cuCtxPushCurrent_v2(context);
  if (rc) return rc;
  cupti_own_call = 1;
  rc = cuda.cuCtxSynchronize();
  cupti_own_call = 0;
  cuda.cuCtxPopCurrent_v2(&popped);
  return rc;
}
