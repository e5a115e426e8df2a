// Records what measured launches counted: each value of each counter, as the library gives them.
#include "record.h"

#include "sdk.h"

static struct sdk_table real;
static sdk_on_values on_values;

static const char *name_of(uint64_t instance) {
  struct sdk_counter_info info = {0};
  uint64_t counter;
  return real.query_record_counter_id(instance, &counter) || real.query_counter_info(counter, SDK_COUNTER_INFO, &info) ? NULL : info.name;
}

static void values_recorded(struct sdk_counted_dispatch d, struct sdk_counter_value *values, size_t count, uint64_t user, void *data) {
  if (recording()) {
    struct event e = {0};
    const uint64_t numbers[] = {d.internal, d.info.agent, d.info.kernel, d.end > d.start ? d.end - d.start : 0, count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(&e, numbers[i]);
    for (size_t i = 0; i < count; i++) {
      uint64_t bits;
      memcpy(&bits, &values[i].value, sizeof bits);
      put(&e, text_number(name_of(values[i].instance)));
      put(&e, bits);
    }
    room_recorder->write(&e, EV_COUNTERS);
  }
  on_values(d, values, count, user, data);
}

static uint32_t configure(uint64_t context, sdk_on_enqueue enqueue, void *enqueue_data, sdk_on_values values, void *values_data) {
  on_values = values;
  return real.configure_callback_dispatch_counting_service(context, enqueue, enqueue_data, values_recorded, values_data);
}

void record_sdk_counting(struct sdk_table *table) {
  real = *table;
  if (sdk_can_count()) table->configure_callback_dispatch_counting_service = configure;
}
