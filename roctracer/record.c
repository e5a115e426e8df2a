#include "record.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

const struct recorder_api *room_recorder;
static const char *backend;

// Variables that hide GPUs from HIP, and so change their numbers.
static const char *const variables[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};

static void write_variables(void) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (!value) continue;
    struct event e = {0};
    put(&e, text_number(variables[i]));
    put(&e, text_number(value));
    room_recorder->write(&e, EV_VARIABLE);
  }
}

void room_record_with(const struct recorder_api *api, const char *name) {
  room_recorder = api, backend = name;
  api->gpu_seen();
  write_variables();
  if (hip_find()) record_driver();
}

// ---- the machine ----

void record_library(uint32_t version, const char *path) {
  struct event e = {0};
  struct utsname machine = {0};
  int driver = 0;
  if (!recording()) return;
  if (hip.DriverGetVersion) hip.DriverGetVersion(&driver);
  uname(&machine);
  put(&e, version);
  put(&e, (uint64_t)driver);
  put(&e, text_number(path));
  put(&e, (uint64_t)time(NULL));
  put(&e, text_number(machine.machine));
  put(&e, text_number(backend));
  put(&e, text_number(hip_path()));
  room_recorder->write(&e, EV_INFO);
}

static void write_device(int ordinal) {
  struct hip_device d;
  char place[32] = "";
  if (!hip_describe(ordinal, &d)) return;
  if (hip.DeviceGetPCIBusId) hip.DeviceGetPCIBusId(place, sizeof place, ordinal);
  const uint64_t numbers[] = {0, 0, (uint64_t)d.units, (uint64_t)d.clock_khz, (uint64_t)d.memory_clock_khz, (uint64_t)d.bus_width}; // no compute capability
  struct event e = {0};
  put(&e, (uint64_t)ordinal);
  put(&e, text_number(d.name));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(&e, numbers[i]);
  put(&e, text_number(d.arch));
  put(&e, (uint64_t)d.memory);
  put(&e, (uint64_t)d.warp);
  put(&e, text_number(place));
  room_recorder->write(&e, EV_DEVICE);
}

// A flush is the time to ask: HIP has started by then, and no thread of the program waits.
void record_devices(void) {
  static int done;
  int count = 0;
  if (!recording() || done || !hip_find() || !hip.GetDeviceCount) return;
  room_own_call++;
  if (!hip.GetDeviceCount(&count)) {
    done = 1;
    for (int i = 0; i < count; i++) write_device(i);
  }
  room_own_call--;
}

void record_node(const struct record_node *n) {
  struct event e = {0};
  if (!recording()) return;
  const uint64_t numbers[] = {n->number, n->gpu, n->domain, n->location, n->agent, n->uuid, n->simds, text_number(n->chip)};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(&e, numbers[i]);
  room_recorder->write(&e, EV_NODE);
}

// ---- answers of HIP ----

static struct hip_driver real;

static void answer(enum capture_answer function, uint64_t of, uint64_t value) {
  uint64_t about = function == ANS_DEVICE ? (uint64_t)pthread_self() : of;
  if (!recording() || !room_recorder->is_new(about ^ (uint64_t)function << 56, value + 1)) return;
  struct event e = {0};
  put(&e, function);
  put(&e, of);
  put(&e, value);
  room_recorder->write(&e, EV_ANSWER);
}

static int get_device(int *device) {
  int result = real.GetDevice(device);
  if (!result && *device >= 0) answer(ANS_DEVICE, 0, (uint64_t)*device);
  return result;
}

static int get_capture(void *stream, int *status, unsigned long long *number) {
  int result = real.StreamGetCaptureInfo(stream, status, number);
  if (!result) answer(ANS_CAPTURE, (uintptr_t)stream, (uint64_t)(*status & 3) | (*status == HIP_CAPTURING ? *number << 2 : 0));
  return result;
}

static const char *kernel_name(const void *function) {
  const char *name = real.KernelNameRef(function);
  if (recording()) answer(ANS_NAME, (uintptr_t)function, text_number(name));
  return name;
}

static const char *kernel_name_by_pointer(const void *function, const void *stream) {
  const char *name = real.KernelNameRefByPtr(function, stream);
  if (recording()) answer(ANS_NAME, (uintptr_t)function, text_number(name));
  return name;
}

void record_driver(void) {
  if (!room_recorder || real.GetDevice) return;
  real = hip;
  room_recorder->driver_seen(dlopen(loaded_library("libamdhip64.so"), RTLD_LAZY | RTLD_NOLOAD));
  if (hip.GetDevice) hip.GetDevice = get_device;
  if (hip.StreamGetCaptureInfo) hip.StreamGetCaptureInfo = get_capture;
  if (hip.KernelNameRef) hip.KernelNameRef = kernel_name;
  if (hip.KernelNameRefByPtr) hip.KernelNameRefByPtr = kernel_name_by_pointer;
}

// ---- calls ----

void record_call(const struct hip_call *call, int exited, uint64_t correlation, struct hip_arguments a, int result) {
  size_t at;
  uint64_t target = 0;
  struct event e = {0};
  const void *const *pointer = capture_target(call, &a, exited, &at);
  if (pointer && *pointer && result <= 0) memcpy(&target, (const char *)*pointer + at, sizeof target);
  put(&e, text_number(call->name));
  put(&e, (uint64_t)exited);
  put(&e, correlation);
  put(&e, (uintptr_t)a.first);
  put(&e, (uintptr_t)a.second);
  put(&e, (uintptr_t)a.stream);
  put(&e, target);
  put(&e, (uint64_t)(result + 1)); // 0: the library does not say
  room_recorder->write(&e, EV_CALLBACK);
}

void record_range(uint64_t operation, const char *message, enum capture_ranges library) {
  struct event e = {0};
  if (!recording()) return;
  put(&e, operation);
  put(&e, text_number(message));
  put(&e, library);
  room_recorder->write(&e, EV_NVTX);
}

// ---- records ----

void record_buffer_begins(struct event *e, size_t count, uint64_t drops) {
  put(e, (uint64_t)room_to_realtime());
  put(e, drops);
  put(e, count);
}

void record_work(struct event *e, const struct record_work *w) {
  const uint64_t numbers[] = {w->work, w->size, w->category, w->kind, w->operation, w->correlation, w->external, w->thread,
                              w->begin, w->end, w->device, w->from, w->queue, w->bytes, w->name, w->kernel};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(e, numbers[i]);
}

void record_buffer_ends(struct event *e) { room_recorder->write(e, EV_BUFFER); }
