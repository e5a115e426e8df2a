// The callbacks that are subscribed if a session has a budget: the others, measured. Without a budget nothing is measured, and no launch
// pays for the question.
#include "meter.h"
#include "sampling.h"

static const struct hp_vendor_api *hp;

void cupti_meter_with(const struct hp_vendor_api *api) { hp = api; }

void cupti_on_metered_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  uint64_t began = hp->meter_begin(HP_METER_CALLBACK);
  cupti_on_callback(user, domain, cbid, data);
  hp->meter_end(began, HP_METER_CALLBACK);
}

void cupti_on_metered_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  uint64_t began = hp->meter_begin(HP_METER_CALLBACK);
  cupti_on_sampled_callback(user, domain, cbid, data);
  hp->meter_end(began, HP_METER_CALLBACK);
}
