// Records what libroctracer64 reports: calls of HIP, and buffers of records.
#include "record.h"

#include "abi_legacy.h"

// The original functions, and the callbacks of the room.
static struct roctracer_table real;
static roctracer_call_fn *on_call;
static roctracer_buffer_fn *on_buffer;

static void call_recorded(uint32_t domain, uint32_t op, const void *data, void *argument) {
  const struct hip_call *call = argument;
  const struct roctracer_call *d = data;
  int exited = d->phase == ROCTRACER_EXIT, recorded = recording() && !room_own_call;
  if (recorded && !exited) room_recorder->python_path();
  on_call(domain, op, data, argument);
  if (recorded) record_call(call, exited, d->correlation, hip_arguments(&call->legacy, data), -1);
}

static int enable_op_callback(uint32_t domain, uint32_t op, roctracer_call_fn *f, void *argument) {
  const struct hip_call *call = argument;
  if (call < hip_calls || call >= hip_calls + hip_call_count) return real.enable_op_callback(domain, op, f, argument); // no call for the room
  on_call = f;
  return real.enable_op_callback(domain, op, call_recorded, argument);
}

static void write_record(struct event *e, const struct roctracer_record *r) {
  struct record_work w = {.size = sizeof *r, .category = r->domain, .kind = r->kind, .operation = r->op, .correlation = r->correlation,
                          .begin = r->begin, .end = r->end, .device = (uint32_t)r->device, .queue = r->queue};
  if (r->domain == ROCTRACER_HIP_OPS && r->op == ROCTRACER_DISPATCH) w.work = WORK_KERNEL, w.name = text_number(r->name);
  else w.work = r->op == ROCTRACER_COPY ? WORK_COPY : WORK_OTHER, w.bytes = r->bytes;
  record_work(e, &w);
}

static void buffer_recorded(const char *begin, const char *end, void *argument) {
  size_t count = end > begin ? (size_t)(end - begin) / sizeof(struct roctracer_record) : 0;
  if (recording() && count) {
    struct event e = {0};
    record_buffer_begins(&e, count, 0);
    for (size_t i = 0; i < count; i++) {
      struct roctracer_record r;
      memcpy(&r, begin + i * sizeof r, sizeof r);
      write_record(&e, &r);
    }
    record_buffer_ends(&e);
  }
  on_buffer(begin, end, argument);
}

static int open_pool(const struct roctracer_properties *p) {
  struct roctracer_properties ours = *p;
  on_buffer = p->buffer;
  ours.buffer = buffer_recorded;
  return real.open_pool(&ours);
}

static int flush_activity(void) {
  record_devices();
  return real.flush_activity();
}

void record_legacy(struct roctracer_table *table) {
  real = *table;
  table->enable_op_callback = enable_op_callback;
  table->open_pool = open_pool;
  table->flush_activity = flush_activity;
}
