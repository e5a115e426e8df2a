// A fake AMD SMI. Each GPU takes 500 W, of which its counter shows multiples of RESOLUTION.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum { WATTS = 500, UNKNOWN_GPU = 31, NOT_SUPPORTED = 2 };
static const float RESOLUTION = 15.3f; // microjoules

EXPORT int amdsmi_init(uint64_t flags) { return flags == 2 ? 0 : 1; }

EXPORT int amdsmi_get_processor_handle_from_bdf(uint64_t bdf, void **gpu) { return *gpu = (void *)(uintptr_t)(bdf + 1), getenv("PROTON_STUB_NO_GPU") ? UNKNOWN_GPU : 0; }

EXPORT int amdsmi_get_energy_count(void *gpu, uint64_t *count, float *microjoules, uint64_t *nanos) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  (void)gpu;
  if (getenv("PROTON_STUB_NO_ENERGY")) return NOT_SUPPORTED;
  *nanos = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec, *microjoules = RESOLUTION;
  *count = (uint64_t)((double)*nanos / 1000 * WATTS / (double)RESOLUTION);
  return 0;
}

EXPORT int amdsmi_get_clock_info(void *gpu, uint32_t kind, uint32_t *clock) {
  (void)gpu;
  memset(clock, 0, 9 * sizeof *clock);
  return clock[0] = kind == 4 ? 1300 : 2100, 0;
}
