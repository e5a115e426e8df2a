// The libamdhip64 that the program has loaded. Nothing here loads one: it would be another than the program's.
#define _GNU_SOURCE
#include "abi_hip.h"
#include "record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hip_driver hip;
static const char *path = "";
static atomic_int found;

static void fill(void *library) {
  struct { void *to; const char *name; } const functions[] = {
      {&hip.GetDevice, "hipGetDevice"}, {&hip.SetDevice, "hipSetDevice"}, {&hip.GetDeviceCount, "hipGetDeviceCount"},
      {&hip.DeviceSynchronize, "hipDeviceSynchronize"}, {&hip.GetStreamDeviceId, "hipGetStreamDeviceId"}, {&hip.DriverGetVersion, "hipDriverGetVersion"},
      {&hip.RuntimeGetVersion, "hipRuntimeGetVersion"}, {&hip.StreamIsCapturing, "hipStreamIsCapturing"},
      {&hip.StreamGetCaptureInfo, "hipStreamGetCaptureInfo"}, {&hip.GetDevicePropertiesR0600, "hipGetDevicePropertiesR0600"},
      {&hip.DeviceGetAttribute, "hipDeviceGetAttribute"}, {&hip.DeviceGetName, "hipDeviceGetName"}, {&hip.DeviceGetPCIBusId, "hipDeviceGetPCIBusId"},
      {&hip.KernelNameRef, "hipKernelNameRef"}, {&hip.KernelNameRefByPtr, "hipKernelNameRefByPtr"},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *f = dlsym(library, functions[i].name);
    memcpy(functions[i].to, &f, sizeof f);
  }
  record_driver();
}

int hip_find(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (atomic_load_explicit(&found, memory_order_acquire)) return 1;
  const char *name = loaded_library("libamdhip64.so");
  void *library = *name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!library) return 0;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&found)) {
    path = name;
    fill(library);
    atomic_store_explicit(&found, 1, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return 1;
}

int hip_started(void) {
  DIR *files = opendir("/proc/self/fd");
  int started = 0;
  for (struct dirent *f; files && !started && (f = readdir(files));) {
    char target[512];
    ssize_t length = readlinkat(dirfd(files), f->d_name, target, sizeof target - 1);
    static const char kfd[] = "/dev/kfd";
    started = length >= (ssize_t)strlen(kfd) && !memcmp(target + length - strlen(kfd), kfd, strlen(kfd));
  }
  if (files) closedir(files);
  return started;
}

const char *hip_path(void) { return hip_find() ? path : ""; }

// ---- what the hooks ask ----

static int stream_capturing(void *stream) {
  int status = 0;
  if (!hip_find() || !hip.StreamIsCapturing) return -1;
  room_own_call++;
  int result = hip.StreamIsCapturing(stream, &status);
  room_own_call--;
  return result ? -1 : status != 0;
}

static int current_device(void) {
  int device = -1;
  if (!hip_find() || !hip.GetDevice) return -1;
  room_own_call++;
  if (hip.GetDevice(&device)) device = -1;
  room_own_call--;
  return device;
}

const struct hp_vendor room_vendor = {stream_capturing, current_device, NULL};

enum hip_capture hip_capture_of(const void *stream, uint64_t *capture) {
  int status = 0;
  unsigned long long number = 0;
  *capture = 0;
  if (!stream) return HIP_NO_CAPTURE; // HIP refuses to capture this one, and asking about it would end another capture
  if (!hip.StreamGetCaptureInfo) return HIP_CAPTURE_UNKNOWN;
  room_own_call++;
  int result = hip.StreamGetCaptureInfo((void *)(uintptr_t)stream, &status, &number);
  room_own_call--;
  if (result) return HIP_CAPTURE_UNKNOWN;
  if (status == HIP_CAPTURING) *capture = number;
  return (enum hip_capture)status;
}

int hip_synchronize(int device) {
  int before = -1; // as HIP 5.2 says where there is no device
  if (!hip.GetDevice || !hip.SetDevice || !hip.DeviceSynchronize) return -1;
  room_own_call++;
  int result = hip.GetDevice(&before);
  if (!result) result = hip.SetDevice(device);
  if (!result) result = hip.DeviceSynchronize();
  if (before >= 0) hip.SetDevice(before);
  room_own_call--;
  return result;
}

// ---- devices ----

static int number_at(const char *properties, int at) {
  int value;
  memcpy(&value, properties + at, sizeof value);
  return value;
}

static int attribute(int device, int which) {
  int value = 0;
  return hip.DeviceGetAttribute && !hip.DeviceGetAttribute(&value, which, device) ? value : 0;
}

int hip_bus(int device, char *out, int size) {
  room_own_call++;
  int known = hip_find() && hip.DeviceGetPCIBusId && !hip.DeviceGetPCIBusId(out, size, device);
  room_own_call--;
  return known;
}

// HIP before 6.0 has attributes only, and no architecture.
static int describe_old(int device, struct hip_device *out) {
  if (!hip.DeviceGetName || hip.DeviceGetName(out->name, sizeof out->name, device)) return 0;
  out->clock_khz = attribute(device, ATTRIBUTE_CLOCK), out->memory_clock_khz = attribute(device, ATTRIBUTE_MEMORY_CLOCK);
  out->bus_width = attribute(device, ATTRIBUTE_BUS), out->units = attribute(device, ATTRIBUTE_UNITS), out->warp = attribute(device, ATTRIBUTE_WARP);
  return 1;
}

int hip_describe(int device, struct hip_device *out) {
  static char properties[PROPERTIES]; // Go asks on one thread at a time, and the program's stacks may be small
  memset(out, 0, sizeof *out);
  if (!hip_find()) return 0;
  room_own_call++;
  int known = hip.GetDevicePropertiesR0600 && !hip.GetDevicePropertiesR0600(properties, device);
  if (known) {
    snprintf(out->name, sizeof out->name, "%.255s", properties + PROP_NAME);
    snprintf(out->arch, sizeof out->arch, "%.255s", properties + PROP_ARCH);
    out->clock_khz = number_at(properties, PROP_CLOCK), out->memory_clock_khz = number_at(properties, PROP_MEMORY_CLOCK);
    out->bus_width = number_at(properties, PROP_BUS), out->units = number_at(properties, PROP_UNITS), out->warp = number_at(properties, PROP_WARP);
    memcpy(&out->memory, properties + PROP_MEMORY, sizeof out->memory);
  } else {
    known = describe_old(device, out);
  }
  room_own_call--;
  return known;
}
