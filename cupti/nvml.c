// NVML, the management library that comes with the driver. It is opened at run time; NVIDIA's nvml.h has the facts.
#define _GNU_SOURCE
#include "overtime.h"

#include <dlfcn.h>
#include <stdio.h>

#define NVML_FUNCTIONS(F) \
  F(nvmlInit_v2, (void)) \
  F(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **device)) \
  F(nvmlDeviceGetTotalEnergyConsumption, (void *device, unsigned long long *millijoules)) \
  F(nvmlDeviceGetPowerUsage, (void *device, uint32_t *milliwatts)) \
  F(nvmlDeviceGetClockInfo, (void *device, uint32_t kind, uint32_t *megahertz))

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

static struct {
#define F(name, arguments) int(*name) arguments;
  NVML_FUNCTIONS(F)
#undef F
} nvml;

static const char *load(void) {
  void *lib = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return "libnvidia-ml.so.1 could not be opened; it comes with the driver: in a container, let NVIDIA_DRIVER_CAPABILITIES have utility";
#define F(name, arguments)                 \
  *(void **)&nvml.name = dlsym(lib, #name); \
  if (!nvml.name) return "libnvidia-ml.so.1 has no " #name "; it needs a newer driver";
  NVML_FUNCTIONS(F)
#undef F
  return nvml.nvmlInit_v2() ? "nvmlInit failed" : NULL;
}

const char *nvml_load(void) {
  static int tried;
  static const char *failure;
  if (!tried) tried = 1, failure = load();
  return failure;
}

static int attribute(int device, uint32_t which) {
  int v = 0;
  return cuda.cuDeviceGetAttribute(&v, which, device) ? -1 : v;
}

void *nvml_device(int ordinal) {
  int d;
  char bus[32];
  void *handle;
  if (cuda.cuDeviceGet(&d, ordinal)) return NULL;
  snprintf(bus, sizeof bus, "%08x:%02x:%02x.0", (unsigned)attribute(d, DEV_PCI_DOMAIN), (unsigned)attribute(d, DEV_PCI_BUS), (unsigned)attribute(d, DEV_PCI_DEVICE));
  return nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, &handle) ? NULL : handle;
}

int nvml_energy(void *device, uint64_t *millijoules) {
  unsigned long long v = 0;
  int rc = nvml.nvmlDeviceGetTotalEnergyConsumption(device, &v);
  *millijoules = v;
  return rc;
}

int nvml_power(void *device, uint32_t *milliwatts) { return nvml.nvmlDeviceGetPowerUsage(device, milliwatts); }

int nvml_clocks(void *device, uint32_t *multiprocessors, uint32_t *memory) {
  int rc = nvml.nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, multiprocessors);
  return rc ? rc : nvml.nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEMORY, memory);
}

int gpu_in_use(int ordinal) {
  static uint32_t (*state)(int device, uint32_t *flags, int *active);
  int d, active = 0;
  uint32_t flags;
  if (!state) *(void **)&state = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL), "cuDevicePrimaryCtxGetState");
  return state && !cuda.cuDeviceGet(&d, ordinal) && !state(d, &flags, &active) && active;
}
