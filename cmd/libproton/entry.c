// The C entry points of every vendor.
#define _GNU_SOURCE
#include "entry.h"
#include "_cgo_export.h"
#include "refusal.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int forked;

// The socket of this process. The program may have closed it and used the number for a file of its own.
static int listening = -1;
static struct stat listening_to;

void entry_listens(int descriptor) {
  if (!fstat(descriptor, &listening_to)) listening = descriptor;
}

static void child(void) {
  struct stat now;
  atomic_store(&forked, 1);
  if (listening >= 0 && !fstat(listening, &now) && now.st_dev == listening_to.st_dev && now.st_ino == listening_to.st_ino) close(listening);
}

// Go is not called in a forked child, where it does not run, nor where it was not started.
static int without_go(void) { return atomic_load(&forked) || refusal(); }

// Python's faulthandler removes the main thread's signal stack when the interpreter ends. Go aborts if it gets a signal on a thread
// without one, and sends itself signals when something takes longer than 10 ms.
static void signal_stack(void) {
  static char memory[64 << 10];
  stack_t now, ours = {.ss_sp = memory, .ss_size = sizeof memory};
  if (!sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE) sigaltstack(&ours, NULL);
}

// Exit handlers run in reverse order of registration. at_exit is registered at the first launch, after those of the GPU libraries,
// so that these still work when it runs. at_exit_without_gpu is registered when the library is loaded, for processes that launch
// nothing; when it runs, the GPU libraries may have ended.
static void at_exit(void) {
  signal_stack();
  if (!without_go()) protonAtExit(1);
}

static void at_exit_without_gpu(void) {
  signal_stack();
  if (!without_go()) protonAtExit(0);
}

static void register_exit(void) { atexit(at_exit); }
void *exit_registrar(void) { return (void *)register_exit; }

__attribute__((constructor)) static void loaded(void) {
  pthread_atfork(NULL, NULL, child);
  atexit(at_exit_without_gpu);
}

void gpu_starts(void) {
  if (!without_go()) protonGPUStarts();
  else if (refusal() && !refusal_is_said()) fprintf(stderr, "proton: this process is not profiled: %s\n", refusal());
}

char *proton_call(const char *method, const char *json) {
  if (atomic_load(&forked)) return strdup("{}");
  if (without_go()) {
    char text[300];
    snprintf(text, sizeof text, "{\"error\":{\"kind\":\"RuntimeError\",\"text\":\"this process is not profiled: %s\"}}", refusal());
    return strdup(text);
  }
  return protonCall((char *)method, (char *)(json ? json : ""));
}

int proton_start(const char *json) {
  char *answer = proton_call("start", json);
  const char *id = answer ? strstr(answer, "\"session\":") : NULL;
  int session = id && !strstr(answer, "\"error\"") ? atoi(id + strlen("\"session\":")) : -1;
  free(answer);
  return session;
}

void proton_step(void) { free(proton_call("step", NULL)); }

const void *proton_hotpath(void) { return without_go() ? NULL : protonHotpath(); }
