// libproton-preload.so: loads libproton into programs other than Python that link HIP, whose runtime has no variable for that. `proton run`
// puts it into LD_PRELOAD on machines with an AMD driver, so every program that the target starts has it: it does nothing in those
// without libamdhip64. A program that loads HIP later, by dlopen, is not profiled.
//
// It is linked with no library and its references are weak, so that it fits any libc: an old glibc, whose dlopen is in another library,
// and musl.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#pragma weak dl_iterate_phdr
#pragma weak dlopen
#pragma weak dlsym
#pragma weak getenv
#pragma weak strstr

static int is_hip(struct dl_phdr_info *library, size_t size, void *unused) {
  (void)size, (void)unused;
  return library->dlpi_name && strstr(library->dlpi_name, "libamdhip64.so") != NULL;
}

// The loader has mapped all libraries that the program links before it runs the first constructor.
__attribute__((constructor)) static void begin(void) {
  if (!dl_iterate_phdr || !dlopen || !dlsym || !getenv || !strstr || !dl_iterate_phdr(is_hip, NULL)) return;
  const char *path = getenv("PROTON_LIB");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void (*loaded)(void) = NULL;
  if (library) *(void **)&loaded = dlsym(library, "proton_hip_loaded");
  if (loaded) loaded();
}
