// What is read of whole GPUs while kernels are recorded: smi.c reads energy and clocks, sdk_devices.c hardware counters. Threads of ours
// call it, one at a time.
#ifndef GOPROTON_ROCTRACER_OVERTIME_H
#define GOPROTON_ROCTRACER_OVERTIME_H

#include "sdk.h"

// ---- smi.c ----
// smi_load opens AMD SMI, at a path or by its name. It returns NULL, or why it cannot be used; never freed.
const char *smi_load(const char *path);
void *smi_gpu(int device); // the handle of a GPU by HIP's number, NULL if there is none
// Results of AMD SMI: 0 is success. The energy is that since the driver was loaded.
int smi_energy(void *gpu, double *joules);
void smi_clocks(void *gpu, uint32_t *compute, uint32_t *memory); // MHz; unchanged where they are not known

// ---- sdk_devices.c ----
void sdk_devices_set_up(void); // while the library initialises us
const char *sdk_devices_refused(uint32_t *status); // what was refused when it was set up; NULL: nothing
// Counts the first group of each GPU. It returns a status: HIP may not have started the GPUs yet.
uint32_t sdk_devices_start(struct sdk_counted_gpu *const *gpus, size_t count);
// Reads what all have counted since they were started: the values of each GPU's metrics, one GPU after the other.
uint32_t sdk_devices_read(double *values);
void sdk_devices_stop(void);

#endif
