// How the fake HIP hands out its functions: by itself, or through a real librocprofiler-register, which PROTON_STUB_REGISTER names.
// That one looks for librocprofiler-sdk and calls its rocprofiler_set_api_table.
#define _GNU_SOURCE
#include "register.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 60342 }; // of HIP, 10000 * major + 100 * minor + patch

// It checks that its caller has this function.
STUB_EXPORT uint32_t rocprofiler_register_import_hip(void) { return VERSION; }

static void through(const char *library, stub_listen_fn *listen) {
  static struct stub_table table;
  static void *tables[1] = {&table};
  struct { uint64_t handle; } id = {0};
  int (*hand_out)(const char *, uint32_t (*)(void), uint32_t, void **, uint64_t, void *) = NULL;
  void *lib = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (lib) *(void **)&hand_out = dlsym(lib, "rocprofiler_register_library_api_table");
  table = (struct stub_table){sizeof table, listen};
  int result = hand_out ? hand_out("hip", rocprofiler_register_import_hip, VERSION, tables, 1, &id) : -1;
  if (getenv("PROTON_STUB_REGISTERED")) fprintf(stderr, "rocprofiler-register: %d%s%s\n", result, lib ? "" : " ", lib ? "" : dlerror());
}

void hand_out(stub_listen_fn *listen) {
  const char *library = getenv("PROTON_STUB_REGISTER");
  if (library) {
    through(library, listen);
    return;
  }
  static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *sdk = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    void (*starts)(stub_listen_fn *) = NULL;
    if (sdk) *(void **)&starts = dlsym(sdk, "stub_hip_starts");
    if (starts) starts(listen);
  }
}
