// The entry point for proton attach, which calls it on a new thread of a program that runs already. It returns at once, because its
// caller is code without a name; a thread of its own does the work.
#define _GNU_SOURCE
#include "entry.h"
#include "_cgo_export.h"
#include "refusal.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void next_to(char *path, size_t size, const char *config, const char *name) {
  const char *end = strrchr(config, '/');
  snprintf(path, size, "%.*s/%s", (int)(end ? end - config : 0), config, name);
}

static void refuse(const char *config, const char *why) {
  char part[512], path[512];
  next_to(part, sizeof part, config, "error.part");
  next_to(path, sizeof path, config, "error");
  FILE *f = fopen(part, "we");
  if (!f) return;
  fputs(why, f);
  fclose(f);
  rename(part, path);
}

// Runs code with the Python of the process; 0 if it has none.
static int in_python(const char *code) {
  int (*initialized)(void), (*ensure)(void), (*run)(const char *, void *);
  void (*release)(int);
  *(void **)&initialized = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  *(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  *(void **)&release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
  *(void **)&run = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
  if (!initialized || !ensure || !release || !run || !initialized()) return 0;
  int state = ensure();
  run(code, NULL);
  release(state);
  return 1;
}

// proton attach leaves a script for Python next to its configuration, which says itself what goes wrong.
static int begins_in_python(const char *config) {
  char path[512], code[700];
  next_to(path, sizeof path, config, "attach.py");
  if (access(path, R_OK)) return 0;
  snprintf(code, sizeof code, "exec(compile(open('%s').read(), 'proton attach', 'exec'), {'__name__': 'proton attach'})", path);
  return in_python(code);
}

static void *work(void *argument) {
  char *config = argument;
  if (refusal()) {
    refuse(config, refusal());
  } else if (begins_in_python(config)) {
    protonAttachEnds();
    in_python("exec('try:\\n import goproton._run as a; a.detach()\\nexcept BaseException: pass', {})");
  } else {
    char *why = protonAttach(config);
    if (why) refuse(config, why);
    free(why);
  }
  free(config);
  return NULL;
}

int proton_attach(const char *config) {
  pthread_attr_t attributes;
  pthread_t thread;
  char *copy = strdup(config);
  pthread_detach(pthread_self());
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int failed = !copy || pthread_create(&thread, &attributes, work, copy);
  pthread_attr_destroy(&attributes);
  return failed;
}
