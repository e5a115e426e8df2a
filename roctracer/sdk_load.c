// Opens librocprofiler-sdk.
#define _GNU_SOURCE
#include "record.h"
#include "sdk.h"

#include <dlfcn.h>
#include <stdio.h>

struct sdk_table sdk;
static char path[4096];
static uint32_t version;

const char *sdk_path(void) { return path; }
uint32_t sdk_version(void) { return version; }

static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0", "librocprofiler-sdk.so"};
enum { NAMES = sizeof names / sizeof *names };

int sdk_loaded(void) { return *loaded_library("librocprofiler-sdk.so") != 0; }

// Two copies in one process disturb each other up to deadlock, so a loaded one is taken whatever its path. RTLD_GLOBAL:
// librocprofiler-register, through which HIP hands out its tables, looks for the library by the name without a version, which an
// installation may lack, and among the global symbols.
static void *open_library(const char *wanted) {
  const char *loaded = loaded_library("librocprofiler-sdk.so");
  if (*loaded) return dlopen(loaded, RTLD_LAZY | RTLD_NOLOAD);
  if (wanted) return dlopen(wanted, RTLD_NOW | RTLD_GLOBAL);
  void *library = NULL;
  for (size_t i = 0; i < NAMES && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
  return library;
}

const char *sdk_open(const char *wanted, int *missing_function) {
  struct sdk_table t;
  Dl_info at;
  *missing_function = 0;
  void *library = open_library(wanted);
  if (!library) return dlerror();
#define F(name, arguments)                                          \
  *(void **)&t.name = dlsym(library, "rocprofiler_" #name);         \
  if (!t.name) return *missing_function = 1, "rocprofiler_" #name;
  SDK_FUNCTIONS(F)
#undef F
#define F(name, arguments) *(void **)&t.name = dlsym(library, "rocprofiler_" #name);
  SDK_COUNTING(F)
#undef F
#define OPTIONAL(name) *(void **)&t.name = dlsym(library, "rocprofiler_" #name)
  OPTIONAL(get_status_string);
  OPTIONAL(query_pc_sampling_agent_configurations);
  OPTIONAL(configure_pc_sampling_service);
  OPTIONAL(stop_context);
  snprintf(path, sizeof path, "%s", dladdr(*(void **)&t.get_version, &at) && at.dli_fname ? at.dli_fname : names[0]);
  uint32_t major = 0, minor = 0, patch = 0;
  if (t.get_version(&major, &minor, &patch)) major = minor = patch = 0;
  version = 10000 * major + 100 * minor + patch;
  sdk = t;
  if (room_recorder) record_library(version, path), record_sdk(&sdk);
  return NULL;
}

const char *sdk_status_text(uint32_t status) {
  const char *text = sdk.get_status_string ? sdk.get_status_string(status) : NULL;
  return text ? text : "";
}
