// The fake libcupti's PM sampling, Nothing of it is recorded: a replay has none.
#include <stdlib.h>
#include <string.h>

#include "../../cupti/abi_counters.h"
#include "../../cupti/abi_pm.h"
#include "replay.h"

#if STUB_CUPTI >= 24

struct sampling { uint64_t interval, next; };
struct pm_image { uint64_t mark; size_t capacity, count; struct { uint64_t start, end; } samples[]; };
static const uint64_t mark = 0x504d20696d616765;

STUB_EXPORT uint32_t cuptiPmSamplingEnable(struct cupti_pm_enable_params *p) {
  uint32_t result = stub_cuda_capture() ? (uint32_t)RC_NOT_SUPPORTED : stub_result("PmSamplingEnable");
  p->sampling = result ? NULL : calloc(1, sizeof(struct sampling));
  return result;
}

STUB_EXPORT uint32_t cuptiPmSamplingDisable(struct cupti_pm_params *p) { return free(p->sampling), RC_OK; }

STUB_EXPORT uint32_t cuptiPmSamplingSetConfig(struct cupti_pm_config_params *p) {
  if (p->trigger != PM_TIME) return RC_INVALID_PARAMETER;
  ((struct sampling *)p->sampling)->interval = p->interval;
  return stub_result("PmSamplingSetConfig");
}

STUB_EXPORT uint32_t cuptiPmSamplingStart(struct cupti_pm_params *p) {
  ((struct sampling *)p->sampling)->next = stub_cuda_now();
  return stub_result("PmSamplingStart");
}

STUB_EXPORT uint32_t cuptiPmSamplingStop(struct cupti_pm_params *p) { return (void)p, stub_result("PmSamplingStop"); }

STUB_EXPORT uint32_t cuptiPmSamplingGetCounterDataSize(struct cupti_pm_image_size_params *p) {
  p->bytes = sizeof(struct pm_image) + p->max_samples * sizeof *((struct pm_image *)NULL)->samples;
  return stub_result("PmSamplingGetCounterDataSize");
}

STUB_EXPORT uint32_t cuptiPmSamplingCounterDataImageInitialize(struct cupti_pm_image_params *p) {
  struct pm_image *i = (void *)p->image;
  memset(i, 0, p->bytes);
  i->mark = mark, i->capacity = (p->bytes - sizeof *i) / sizeof *i->samples;
  return stub_result("PmSamplingCounterDataImageInitialize");
}

STUB_EXPORT uint32_t cuptiPmSamplingDecodeData(struct cupti_pm_decode_params *p) {
  struct pm_image *i = (void *)p->image;
  struct sampling *s = p->sampling;
  uint64_t now = stub_cuda_now();
  for (; s->next + s->interval <= now && i->count < i->capacity; i->count++) {
    i->samples[i->count].start = s->next;
    i->samples[i->count].end = s->next += s->interval;
  }
  p->stopped = i->count == i->capacity ? PM_IMAGE_FULL : PM_END;
  return stub_result("PmSamplingDecodeData");
}

STUB_EXPORT uint32_t cuptiPmSamplingGetCounterDataInfo(struct cupti_pm_info_params *p) {
  const struct pm_image *i = (const void *)p->image;
  p->total = i->capacity, p->populated = i->count;
  return stub_result("PmSamplingGetCounterDataInfo");
}

STUB_EXPORT uint32_t cuptiPmSamplingCounterDataGetSampleInfo(struct cupti_pm_sample_params *p) {
  const struct pm_image *i = (const void *)p->image;
  if (p->index >= i->count) return RC_INVALID_PARAMETER;
  p->start = i->samples[p->index].start, p->end = i->samples[p->index].end;
  return RC_OK;
}

// The values of a sample, if the image is one of samples: each percentage is 40, each sum the length of the interval in ns.
int pm_values(struct cupti_evaluate_params *p) {
  const struct pm_image *i = (const void *)p->image;
  if (i->mark != mark || p->range >= i->count) return 0;
  for (size_t k = 0; k < p->count; k++)
    p->values[k] = strstr(p->names[k], ".pct") ? 40 : (double)(i->samples[p->range].end - i->samples[p->range].start);
  return 1;
}

#endif
