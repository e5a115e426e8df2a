// A fake NVML. The counter of energy moves on ten times a second, as that of an H200 does.
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum { WATTS = 300, STEPS = 10, MILLI = 1000 };

EXPORT int nvmlInit_v2(void) { return 0; }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) { return *device = (void *)(uintptr_t)bus, 0; }

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  (void)device;
  if (getenv("PROTON_STUB_NO_ENERGY")) return 3; // NVML_ERROR_NOT_SUPPORTED
  *millijoules = ((unsigned long long)t.tv_sec * STEPS + (unsigned long long)t.tv_nsec / (1000000000 / STEPS)) * (WATTS * MILLI / STEPS);
  return 0;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, uint32_t *milliwatts) { return (void)device, *milliwatts = WATTS * MILLI, 0; }
EXPORT int nvmlDeviceGetClockInfo(void *device, uint32_t kind, uint32_t *megahertz) { return (void)device, *megahertz = kind == 1 ? 1980 : 3201, 0; }
