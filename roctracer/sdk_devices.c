// Hardware counters of whole GPUs, by the library's device counting.
#include "overtime.h"

#include <stdlib.h>

static uint64_t context;
static const char *what = "rocprofiler_configure_device_counting_service";
static uint32_t status = SDK_LOCKED;
static struct sdk_counted_gpu *const *gpus;
static size_t gpu_count;
static int started;
static struct sdk_counter_value *values; // of all units of all GPUs
enum { VALUES = 1 << 15 };

static int refused(const char *function, uint32_t rc) {
  if (rc && !what) what = function, status = rc;
  return rc != 0;
}

const char *sdk_devices_refused(uint32_t *rc) { return *rc = status, what; }

static void starts(uint64_t of, uint64_t agent, sdk_set_config set, void *data) {
  for (size_t i = 0; i < gpu_count; i++)
    if (gpus[i]->agent == agent && gpus[i]->groups) set(of, gpus[i]->configs[0]);
}

void sdk_devices_set_up(void) {
  uint64_t agents[SDK_GPUS];
  what = NULL, status = SDK_OK;
  if (!sdk_can_count()) {
    refused("rocprofiler_configure_device_counting_service", SDK_NOT_IMPLEMENTED);
    return;
  }
  if (refused("rocprofiler_create_context", sdk.create_context(&context))) return;
  for (int i = 0, n = sdk_visible_gpus(agents); i < n; i++)
    refused("rocprofiler_configure_device_counting_service", sdk.configure_device_counting_service(context, 0, agents[i], starts, NULL));
}

uint32_t sdk_devices_start(struct sdk_counted_gpu *const *list, size_t count) {
  gpus = list, gpu_count = count;
  if (!values) values = calloc(VALUES, sizeof *values);
  uint32_t rc = !values ? SDK_ERROR : started ? SDK_OK : !sdk_usable() ? SDK_FINALIZED : sdk.start_context(context);
  if (!rc) started = 1;
  return rc;
}

uint32_t sdk_devices_read(double *out) {
  size_t n = VALUES, at = 0;
  uint64_t counter;
  if (!sdk_usable()) return SDK_FINALIZED;
  uint32_t rc = sdk.sample_device_counting_service(context, 0, 0, values, &n);
  if (rc) return rc;
  for (size_t g = 0; g < gpu_count; at += gpus[g++]->count)
    for (size_t m = 0; m < gpus[g]->count; m++) out[at + m] = 0;
  for (size_t i = 0; i < n; i++) {
    if (sdk.query_record_counter_id(values[i].instance, &counter)) continue;
    at = 0;
    for (size_t g = 0; g < gpu_count; at += gpus[g++]->count)
      for (size_t m = 0; m < gpus[g]->count && gpus[g]->agent == values[i].agent; m++)
        if (gpus[g]->metrics[m].counter == counter && !gpus[g]->metrics[m].group) sdk_count(&gpus[g]->metrics[m], values[i].value, &out[at + m]);
  }
  return SDK_OK;
}

void sdk_devices_stop(void) {
  if (started && sdk_usable() && sdk.stop_context && !sdk.stop_context(context)) started = 0;
}
