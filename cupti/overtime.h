// What is read of whole GPUs while kernels are recorded: nvml.c reads energy and clocks, pm.c hardware counters. Threads of ours call
// it, one at a time.
#ifndef GOPROTON_CUPTI_OVERTIME_H
#define GOPROTON_CUPTI_OVERTIME_H

#include "abi_pm.h"
#include "counters.h"

// ---- nvml.c ----

// nvml_load opens the driver's management library. It returns NULL, or why it cannot be used; never freed.
const char *nvml_load(void);
// nvml_device returns the handle of a GPU by its ordinal in this process, NULL if there is none.
void *nvml_device(int ordinal);
// Results of NVML: 0 is success.
int nvml_energy(void *device, uint64_t *millijoules);
int nvml_power(void *device, uint32_t *milliwatts);
int nvml_clocks(void *device, uint32_t *multiprocessors, uint32_t *memory); // MHz
// Whether the program uses a GPU: its primary context is active.
int gpu_in_use(int ordinal);

// ---- pm.c ----

extern struct cupti_pm_table cupti_pm;
// cupti_pm_load fills the table. It returns NULL, or the name of a function that the library lacks.
const char *cupti_pm_load(void);

enum { PM_METRICS_MOST = 16 };

struct pm {
  void *sampling;
  struct counters_set set;
  const char *names[PM_METRICS_MOST];
  size_t count;
  uint8_t *image;
  size_t image_bytes;
  size_t filled, next; // samples in the image, and the first of them that pm_next has not returned
  int ended;           // the hardware's buffer was read to its end
  uint32_t refused;
  const char *doing;
};

// pm_begin samples metrics of a GPU, those of the list that it has and that can be sampled together. pm.names are those that are sampled. It
// returns whether it samples; if not, refused and doing say why.
int pm_begin(struct pm *p, uint32_t device, const char *const *names, size_t count, uint64_t nanos);
// pm_next returns whether there is one more complete sample: its time, and a value for each metric.
int pm_next(struct pm *p, uint64_t *start, uint64_t *end, double *values);
// pm_pause has it sample, or rest, until it is called again.
void pm_pause(struct pm *p, int rest);
void pm_end(struct pm *p);

#endif
