// AMD SMI, AMD's management library. It is opened at run time; amdsmi.h of ROCm 6.0 to 7.1 has the facts.
#include "overtime.h"

#include <dlfcn.h>
#include <stdio.h>

#define SMI_FUNCTIONS(F) \
  F(amdsmi_init, (uint64_t flags)) \
  F(amdsmi_get_processor_handle_from_bdf, (uint64_t bdf, void **gpu)) \
  F(amdsmi_get_energy_count, (void *gpu, uint64_t *count, float *microjoules, uint64_t *nanos)) \
  F(amdsmi_get_clock_info, (void *gpu, uint32_t kind, uint32_t *clock))

enum { SMI_GPUS = 2, SMI_CLOCK_COMPUTE = 0, SMI_CLOCK_MEMORY = 4, CLOCK_WORDS = 32 }; // the first word of a clock is MHz now

static struct {
#define F(name, arguments) int(*name) arguments;
  SMI_FUNCTIONS(F)
#undef F
} smi;

static const char *load(const char *path) {
  void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return "libamd_smi.so could not be opened; install amd-smi-lib of ROCm 6.0 or newer, or set LD_LIBRARY_PATH to its folder";
#define F(name, arguments)                \
  *(void **)&smi.name = dlsym(lib, #name); \
  if (!smi.name) return "libamd_smi.so has no " #name "; it needs a newer ROCm";
  SMI_FUNCTIONS(F)
#undef F
  return smi.amdsmi_init(SMI_GPUS) ? "amdsmi_init failed" : NULL;
}

const char *smi_load(const char *path) {
  static int tried;
  static const char *failure;
  if (!tried) tried = 1, failure = load(path);
  return failure;
}

void *smi_gpu(int device) {
  unsigned domain, bus, place, function;
  char text[32] = "";
  void *gpu;
  if (!hip_bus(device, text, sizeof text) || sscanf(text, "%x:%x:%x.%x", &domain, &bus, &place, &function) != 4) return NULL;
  uint64_t bdf = (uint64_t)domain << 16 | (uint64_t)(bus & 255) << 8 | (place & 31) << 3 | (function & 7);
  return smi.amdsmi_get_processor_handle_from_bdf(bdf, &gpu) ? NULL : gpu;
}

int smi_energy(void *gpu, double *joules) {
  uint64_t count = 0, nanos = 0;
  float microjoules = 0;
  int rc = smi.amdsmi_get_energy_count(gpu, &count, &microjoules, &nanos);
  *joules = (double)count * (double)microjoules / 1e6;
  return rc;
}

void smi_clocks(void *gpu, uint32_t *compute, uint32_t *memory) {
  uint32_t c[CLOCK_WORDS] = {0}, m[CLOCK_WORDS] = {0};
  if (!smi.amdsmi_get_clock_info(gpu, SMI_CLOCK_COMPUTE, c)) *compute = c[0];
  if (!smi.amdsmi_get_clock_info(gpu, SMI_CLOCK_MEMORY, m)) *memory = m[0];
}
