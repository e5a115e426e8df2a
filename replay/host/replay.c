// proton-replay CAPTURE [START]: the program that was recorded, without its GPU and without its Python.
//
// It loads the profiler as a workload does and plays a capture (not compressed) through the fake libcuda and
// libcupti next to it. `proton run --backend replay` starts it. One session is profiled, from where the
// recorded program started its first to where it ended its last; its settings are those of proton run
// (PROTON_RUN_CONFIG), or START, the JSON parameters of the control call of that name.
//
// Environment: PROTON_LIB names libproton.so, PROTON_CUPTI_PATH the fake libcupti, PROTON_STUB_CAPTURE the
// capture again, for the fake driver. Of a capture from an AMD GPU, PROTON_STUB_PLAYER names the fake libamdhip64.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *(*call)(const char *method, const char *params);
static int (*start)(const char *params);
static const void *(*hotpath)(void);
static const char *(*replay)(const char *path, const void *api, void (*control)(const char *method, const char *params));

static const char *start_params; // NULL: proton run's session
static int running;              // recorded sessions that have begun and not ended
static int session = -1, ended;

static int fail(const char *doing, const char *why) {
  fprintf(stderr, "proton-replay: %s: %s\n", doing, why ? why : "no reason given");
  return 1;
}

static void *library(const char *path, int flags) {
  void *lib = path && *path ? dlopen(path, flags) : NULL;
  if (!lib) fail("load a part of the replay", path && *path ? dlerror() : "its path is not set; use proton run --backend replay");
  return lib;
}

static int symbol(void *function, void *lib, const char *name) {
  void *found = dlsym(lib, name);
  memcpy(function, &found, sizeof found);
  return found ? 0 : fail("find a function", dlerror());
}

// Prints what a control call complains of. 0 when it does not.
static int complain(char *answer) {
  const char *text = answer ? strstr(answer, "\"error\"") : "no answer";
  if (text) fail("control the profiler", text);
  free(answer);
  return text != NULL;
}

static void begin(void) {
  char *answer;
  if (start_params) {
    session = start(start_params);
    if (session < 0) fail("start a session", start_params);
    return;
  }
  answer = call("run.begin", "{}");
  const char *id = answer ? strstr(answer, "\"session\":") : NULL;
  if (id) session = atoi(id + strlen("\"session\":"));
  complain(answer);
}

static int end(void) {
  if (session < 0 || ended) return 0;
  ended = 1;
  return complain(call(start_params ? "finalize" : "run.end", "{}"));
}

// The recorded program's control calls, with our session in the place of its own.
static void control(const char *method, const char *params) {
  char ours[64];
  if (!strcmp(method, "start") || !strcmp(method, "run.begin")) {
    if (running++ == 0 && session < 0) begin();
  } else if (!strcmp(method, "finalize") || !strcmp(method, "run.end")) {
    running = strstr(params, "\"session\":") && !strstr(params, "\"session\": null") && !strstr(params, "\"session\":null") ? running - 1 : 0;
    if (running <= 0) end();
  } else if (!strcmp(method, "activate") || !strcmp(method, "deactivate") || !strcmp(method, "data.advance_phase")) {
    int flushing = strstr(params, "\"flushing\": true") || strstr(params, "\"flushing\":true");
    snprintf(ours, sizeof ours, "{\"session\": %d, \"flushing\": %s}", session, flushing ? "true" : "false");
    if (session >= 0 && !ended) complain(call(method, ours));
  } else if (!strcmp(method, "metric_vector") || !strcmp(method, "inside.launch")) {
    if (session >= 0 && !ended) complain(call(method, params));
  } else if (!strcmp(method, "launch_kind") || !strcmp(method, "trace_folder")) {
    complain(call(method, params)); // they belong to the process, not to a session
  }
}

// The fake driver is loaded under its real name before the profiler asks for that name.
static int load_driver(const char *cupti) {
  char path[4096];
  const char *slash = cupti ? strrchr(cupti, '/') : NULL;
  snprintf(path, sizeof path, "%.*slibcuda.so.1", slash ? (int)(slash - cupti) + 1 : 0, cupti ? cupti : "");
  void *lib = library(path, RTLD_NOW | RTLD_GLOBAL);
  unsigned (*init)(unsigned);
  return !lib || symbol(&init, lib, "cuInit") || init(0) != 0;
}

int main(int argc, char **argv) {
  const char *cupti = getenv("PROTON_CUPTI_PATH"), *player = getenv("PROTON_STUB_PLAYER");
  if (argc < 2 || argc > 3) return fail("start", "usage: proton-replay CAPTURE [START]; proton run --backend replay CAPTURE does it for you"), 2;
  start_params = argc == 3 ? argv[2] : NULL;
  unsetenv("CUDA_INJECTION64_PATH"); // the session begins when the capture says so, not when the driver starts
  void *stub = player ? library(player, RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (player ? !stub : load_driver(cupti)) return 1;
  void *proton = library(getenv("PROTON_LIB"), RTLD_NOW | RTLD_LOCAL);
  if (!stub) stub = library(cupti, RTLD_NOW | RTLD_LOCAL);
  if (!proton || !stub || symbol(&call, proton, "proton_call") || symbol(&start, proton, "proton_start") ||
      symbol(&hotpath, proton, "proton_hotpath") || symbol(&replay, stub, "stub_replay"))
    return 1;
  const char *wrong = replay(argv[1], hotpath(), control);
  if (wrong) fail(argv[1], wrong);
  return end() || wrong != NULL || session < 0;
}
