#define _GNU_SOURCE
#include "entry.h"
#include "_cgo_export.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int forked;

static void child(void) { atomic_store(&forked, 1); }

// Registered when the library is loaded, so that at exit it runs before the handlers of libraries that were
// loaded earlier (the CUDA driver among them) and after Python's own, which has usually done the work.
static void at_exit(void) {
  if (!atomic_load(&forked)) protonAtExit();
}

__attribute__((constructor)) static void loaded(void) {
  pthread_atfork(NULL, NULL, child);
  atexit(at_exit);
}

int InitializeInjection(void) {
  if (!atomic_load(&forked)) protonGPUStarts();
  return 1;
}

char *proton_call(const char *method, const char *json) {
  if (atomic_load(&forked)) return strdup("{}");
  return protonCall((char *)method, (char *)(json ? json : ""));
}

int proton_start(const char *json) {
  char *answer = proton_call("start", json);
  const char *id = answer ? strstr(answer, "\"session\":") : NULL;
  int session = id && !strstr(answer, "\"error\"") ? atoi(id + strlen("\"session\":")) : -1;
  free(answer);
  return session;
}

const void *proton_hotpath(void) { return atomic_load(&forked) ? NULL : protonHotpath(); }
