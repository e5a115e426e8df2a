// Plays AMD's events of a capture: what HIP answered, and what the tracing library said. replay/player plays the rest.
#define _GNU_SOURCE
#include "replay.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "map.h"
#include "player.h"

// ---- the capture, for what HIP says of the machine ----

static struct capture machine;
static int has_machine;

static void read_machine(void) {
  const char *path = getenv("PROTON_STUB_CAPTURE");
  if (!path || !*path) return;
  const char *wrong = capture_read(&machine, path);
  if (wrong) fprintf(stderr, "fake libamdhip64: %s: %s\n", path, wrong);
  else has_machine = 1;
}

const struct capture *replay_capture(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_machine);
  return has_machine ? &machine : NULL;
}

static int read_device(const struct capture *c, const struct cap_event *e, int ordinal, struct replay_device *out) {
  struct cap_cursor at = cap_open(e);
  if (e->type != EV_DEVICE || cap_number(&at) != (uint64_t)ordinal) return 0;
  out->name = cap_string(c, &at);
  cap_number(&at), cap_number(&at);
  out->units = cap_number(&at), out->clock = cap_number(&at), out->memory_clock = cap_number(&at), out->bus = cap_number(&at);
  out->arch = cap_string(c, &at);
  out->memory = cap_number(&at), out->warp = cap_number(&at);
  out->place = cap_string(c, &at);
  return !at.short_ && out->name && out->arch && out->place;
}

int replay_device(int ordinal, struct replay_device *out) {
  const struct capture *c = replay_capture();
  for (size_t i = 0; c && i < c->count; i++)
    if (read_device(c, &c->events[i], ordinal, out)) return 1;
  return 0;
}

static int devices;

static void count_devices(void) {
  struct replay_device d;
  while (devices < 256 && replay_device(devices, &d)) devices++;
  if (!devices) devices = 1; // a program that was killed early has recorded none
}

int replay_devices(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, count_devices);
  return devices;
}

STUB_EXPORT int stub_nodes(struct stub_node *out, int most) {
  const struct capture *c = replay_capture();
  int n = 0;
  for (size_t i = 0; c && i < c->count && n < most; i++) {
    struct cap_cursor at = cap_open(&c->events[i]);
    if (c->events[i].type != EV_NODE) continue;
    uint64_t *const numbers[] = {&out[n].number, &out[n].gpu, &out[n].domain, &out[n].location, &out[n].agent, &out[n].uuid};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) *numbers[k] = cap_number(&at);
    int read = !at.short_;
    out[n].simds = cap_number(&at), out[n].chip = cap_string(c, &at); // older recordings end before
    n += read;
  }
  return n;
}

STUB_EXPORT int stub_way_of(uint64_t agent, struct stub_way *out) {
  const struct capture *c = replay_capture();
  for (size_t i = 0; c && i < c->count; i++) {
    struct cap_cursor at = cap_open(&c->events[i]);
    if (c->events[i].type != EV_REASONS || cap_number(&at) != agent) continue;
    *out = (struct stub_way){agent, cap_number(&at), 0, 0, 0};
    out->method = cap_number(&at), out->unit = cap_number(&at), out->interval = cap_number(&at);
    if (!at.short_) return 1;
  }
  return 0;
}

static struct stub_counts **counted; // ends with NULL

static struct stub_counts *read_counts(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  struct stub_counts head = {0}, *out;
  head.call = cap_number(&at), head.agent = cap_number(&at), head.kernel = cap_number(&at), head.ns = cap_number(&at);
  head.count = cap_number(&at);
  if (at.short_ || head.count > e->length || !(out = calloc(1, sizeof *out + head.count * sizeof *out->values))) return NULL;
  *out = head;
  for (size_t i = 0; i < head.count; i++) {
    out->values[i].name = cap_string(c, &at);
    uint64_t bits = cap_number(&at);
    memcpy(&out->values[i].value, &bits, sizeof bits);
    if (at.short_ || !out->values[i].name) out->count = 0;
  }
  return out;
}

static void read_all_counts(void) {
  const struct capture *c = replay_capture();
  size_t n = 0;
  counted = calloc(c ? c->count + 1 : 1, sizeof *counted);
  for (size_t i = 0; c && counted && i < c->count; i++)
    if (c->events[i].type == EV_COUNTERS && (counted[n] = read_counts(c, &c->events[i]))) n++;
}

STUB_EXPORT const struct stub_counts *stub_counted(size_t n) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_all_counts);
  return counted ? counted[n] : NULL;
}

// ---- answers ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards answers: HIP is also asked on threads of the profiler
static struct map answers;

static uint64_t answer(enum capture_answer function, const void *of) {
  pthread_mutex_lock(&lock);
  const struct map_entry *e = map_get(&answers, function, (uintptr_t)of);
  uint64_t value = e ? e->value[0] : 0;
  pthread_mutex_unlock(&lock);
  return value;
}

int replay_stream(const void *stream, int *status, unsigned long long *number) {
  uint64_t value = answer(ANS_CAPTURE, stream);
  *status = (int)(value & 3);
  if (number) *number = value >> 2;
  return 0;
}

const char *replay_kernel_name(const void *function) { return (const char *)(uintptr_t)answer(ANS_NAME, function); }

static void play_answer(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint64_t function = cap_number(&at), of = cap_number(&at), value;
  if (function == ANS_NAME) value = (uintptr_t)cap_string(c, &at);
  else value = cap_number(&at);
  if (at.short_) return;
  if (function == ANS_DEVICE) {
    if (value < 256) replay_set_device((int)value);
    return;
  }
  pthread_mutex_lock(&lock);
  map_put(&answers, function, of, value, 0);
  pthread_mutex_unlock(&lock);
}

// ---- calls ----

static const void *pointer(struct cap_cursor *at) { return (const void *)(uintptr_t)cap_number(at); }

static int call_named(const char *name, unsigned *call) {
  for (*call = 0; name && *call < hip_call_count; ++*call)
    if (!strcmp(hip_calls[*call].name, name)) return 1;
  return 0;
}

static void play_call(const struct capture *c, const struct cap_event *e) {
  struct stub_said said = {.what = SAID_CALL};
  struct cap_cursor at = cap_open(e);
  const char *name = cap_string(c, &at);
  said.exited = cap_number(&at) != 0;
  said.correlation = cap_number(&at);
  said.arguments.first = pointer(&at), said.arguments.second = pointer(&at), said.arguments.stream = pointer(&at);
  uint64_t behind[8] = {0}, target = cap_number(&at); // what an argument points to
  said.result = (int)cap_number(&at) - 1;
  if (at.short_ || !call_named(name, &said.call)) return;
  size_t place;
  const void **argument = capture_target(&hip_calls[said.call], &said.arguments, said.exited, &place);
  behind[place / sizeof *behind] = target;
  if (argument && *argument) *argument = behind;
  if (hip_calls[said.call].what == HIP_LIST_LAUNCH) said.arguments.second = NULL; // of the list only the first function is known
  replay_tell(&said);
}

static void play_request(const struct cap_event *e) {
  struct stub_said said = {.what = SAID_REQUEST};
  struct cap_cursor at = cap_open(e);
  said.kind = cap_number(&at), said.correlation = cap_number(&at);
  if (!at.short_) replay_tell(&said);
}

// ---- ranges ----

static int (*roctx_push)(const char *), (*roctx_pop)(void);

static enum capture_ranges range(const struct capture *c, const struct cap_event *e, struct stub_said *said) {
  struct cap_cursor at = cap_open(e);
  *said = (struct stub_said){.what = SAID_RANGE, .kind = cap_number(&at)};
  said->name = cap_string(c, &at);
  if (at.short_) said->kind = 0;
  return at.at < at.end ? (enum capture_ranges)cap_number(&at) : RANGE_OF_SDK;
}

// The fake libroctx64 lies next to this library. It has to be there before the session begins.
static void load_roctx(void) {
  Dl_info this;
  char path[4096];
  const char *slash = dladdr((void *)load_roctx, &this) ? strrchr(this.dli_fname, '/') : NULL;
  if (!slash || roctx_push) return;
  snprintf(path, sizeof path, "%.*slibroctx64.so.4", (int)(slash + 1 - this.dli_fname), this.dli_fname);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  *(void **)&roctx_push = dlsym(library, "roctxRangePushA"), *(void **)&roctx_pop = dlsym(library, "roctxRangePop");
}

static void play_range(const struct capture *c, const struct cap_event *e) {
  struct stub_said said;
  if (range(c, e, &said) == RANGE_OF_SDK) replay_tell(&said);
  else if (said.kind == 1 && roctx_push) roctx_push(said.name ? said.name : "");
  else if (said.kind == 2 && roctx_pop) roctx_pop();
}

// ---- code ----

static struct map images; // hash to address and size, which live as long as the process

static void play_image(const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint64_t hash = cap_number(&at), size = (uint64_t)(at.end - at.at);
  uint8_t *copy = at.short_ || !size ? NULL : malloc(size);
  if (!copy) return;
  memcpy(copy, at.at, size);
  map_put(&images, hash, 0, (uintptr_t)copy, size);
}

static void play_code(const struct capture *c, const struct cap_event *e) {
  struct stub_said said = {.what = SAID_CODE};
  struct cap_cursor at = cap_open(e);
  said.kind = cap_number(&at), said.id = cap_number(&at);
  if (said.kind == CODE_KERNEL) {
    said.what = SAID_KERNEL, said.code = cap_number(&at), said.name = cap_string(c, &at);
  } else if (said.kind == CODE_LOADED) {
    said.agent = cap_number(&at), said.load_base = cap_number(&at), said.load_size = cap_number(&at), said.load_delta = (int64_t)cap_number(&at);
    said.name = cap_string(c, &at);
    const struct map_entry *image = map_get(&images, cap_number(&at), 0);
    if (image) said.image = (const void *)(uintptr_t)image->value[0], said.image_size = image->value[1];
  }
  if (!at.short_) replay_tell(&said);
}

// ---- records ----

static int64_t gpu_moves; // ns to add to the recorded CLOCK_REALTIME

static int64_t clock_now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The reading that took the least time is the most exact one of a few.
static int64_t boot_to_realtime(void) {
  int64_t narrowest = INT64_MAX, distance = 0;
  for (int i = 0; i < 4; i++) {
    int64_t before = clock_now(CLOCK_REALTIME), boot = clock_now(CLOCK_BOOTTIME), took = clock_now(CLOCK_REALTIME) - before;
    if (took >= 0 && took < narrowest) narrowest = took, distance = before + took / 2 - boot;
  }
  return distance;
}

static void play_record(const struct capture *c, struct cap_cursor *at, int64_t moves) {
  struct stub_said said = {.what = SAID_RECORD};
  struct stub_record *r = &said.record;
  r->work = (enum capture_work)cap_number(at);
  uint64_t *const numbers[] = {&r->size, &r->category, &r->kind, &r->operation, &r->correlation, &r->external, &r->thread, &r->begin,
                               &r->end, &r->device, &r->from, &r->queue, &r->bytes};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = cap_number(at);
  r->name = cap_string(c, at), r->kernel = cap_number(at);
  if (r->begin) r->begin += (uint64_t)moves;
  if (r->end) r->end += (uint64_t)moves;
  if (!at->short_) replay_tell(&said);
}

// The fake GPU has the clock of this machine, so that the profiler's conversion to CLOCK_REALTIME gives the time that is meant.
static void play_buffer(const struct capture *c, const struct cap_event *e) {
  struct stub_said end = {.what = SAID_BUFFER_ENDS};
  struct cap_cursor at = cap_open(e);
  int64_t ahead = (int64_t)cap_number(&at), moves = ahead + gpu_moves - boot_to_realtime();
  end.drops = cap_number(&at);
  for (uint64_t n = cap_number(&at); n && !at.short_; n--) play_record(c, &at, moves);
  replay_tell(&end);
}

static void play_samples(const struct cap_event *e) {
  enum { MOST = 1 << 20 }; // a hundred times what a buffer holds
  struct stub_said said = {.what = SAID_SAMPLES}, end = {.what = SAID_SAMPLES_END};
  struct cap_cursor at = cap_open(e);
  said.agent = end.agent = cap_number(&at), end.drops = cap_number(&at);
  for (uint64_t n = cap_number(&at), all = 0; n && !at.short_; n--) {
    uint64_t *members = (uint64_t *)&said.sample;
    for (size_t i = 0; i < sizeof said.sample / sizeof *members; i++) members[i] = cap_number(&at);
    said.times = cap_number(&at);
    if (at.short_ || said.times > MOST - all) break;
    all += said.times;
    replay_tell(&said);
  }
  replay_tell(&end);
}

// ---- the capture as a whole ----

// The first event happens now, and all others keep their distance to it.
static void set_times(struct capture *c) {
  uint64_t now = (uint64_t)clock_now(CLOCK_REALTIME), first = c->count ? c->events[0].time : 0;
  for (size_t i = 0; i < c->count; i++) c->events[i].time = now + (c->events[i].time - first);
  gpu_moves = (int64_t)(now - first);
}

// The variables that hide GPUs are those of the recording.
static void set_variables(const struct capture *c) {
  static const char *const hiding[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  for (size_t i = 0; i < sizeof hiding / sizeof *hiding; i++) unsetenv(hiding[i]);
  for (size_t i = 0; i < c->count; i++) {
    struct cap_cursor at = cap_open(&c->events[i]);
    const char *name = c->events[i].type == EV_VARIABLE ? cap_string(c, &at) : NULL, *value = name ? cap_string(c, &at) : NULL;
    for (size_t n = 0; value && n < sizeof hiding / sizeof *hiding; n++)
      if (!strcmp(hiding[n], name)) setenv(name, value, 1);
  }
}

static const char *begin(struct capture *c) {
  int has_machine = 0;
  for (size_t i = 0; i < c->count && !has_machine; i++) has_machine = c->events[i].type == EV_INFO;
  if (!has_machine || !c->timed) return "it does not say what was recorded: record it again";
  set_times(c);
  set_variables(c);
  for (size_t i = 0; i < c->count; i++) {
    struct stub_said said;
    if (c->events[i].type == EV_NVTX && range(c, &c->events[i], &said) == RANGE_OF_ROCTX) load_roctx();
  }
  return NULL;
}

static void play(const struct capture *c, const struct cap_event *e) {
  switch (e->type) {
  case EV_ANSWER: play_answer(c, e); return;
  case EV_CUBIN: play_image(e); return;
  case EV_REASONS: case EV_SYNTHETIC: case EV_COUNTERS: return; // of the whole process
  }
  replay_start_hip(); // what the library says comes of HIP's use
  switch (e->type) {
  case EV_CALLBACK: play_call(c, e); return;
  case EV_REQUEST: play_request(e); return;
  case EV_NVTX: play_range(c, e); return;
  case EV_RESOURCE: play_code(c, e); return;
  case EV_BUFFER: play_buffer(c, e); return;
  case EV_SAMPLES: play_samples(e); return;
  }
}

static void forget(void) {
  pthread_mutex_lock(&lock);
  map_free(&answers), map_free(&images);
  pthread_mutex_unlock(&lock);
}

STUB_EXPORT const char *stub_replay(const char *path, const struct hp_api *api, void (*control)(const char *, const char *)) {
  static const struct player_vendor amd = {begin, play, forget};
  return player_play(path, &amd, api, control);
}
