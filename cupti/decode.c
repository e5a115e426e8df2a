#include "runtime.h"

static void kernel(struct cupti_kernel *out, const struct cupti_kernel_prefix *r) {
  *out = (struct cupti_kernel){
      .start = r->start, .end = r->end, .name = r->name, .graph_node = r->graph_node_id,
      .correlation = r->correlation_id, .device = r->device_id, .context = r->context_id,
      .stream = r->stream_id, .graph = r->graph_id,
  };
}

static void graph(struct cupti_kernel *out, const struct cupti_graph_trace *r) {
  *out = (struct cupti_kernel){
      .start = r->start, .end = r->end, .correlation = r->correlation_id, .device = r->device_id,
      .context = r->context_id, .stream = r->stream_id, .graph = r->graph_id, .whole_graph = 1,
  };
}

// The library itself steps from record to record: only it knows how long its version's records are.
int cupti_decode(uint8_t *buffer, size_t valid, void **cursor, struct cupti_kernel *out, int max) {
  int n = 0;
  while (n < max && cupti.ActivityGetNextRecord(buffer, valid, cursor) == RC_OK) {
    switch (((const struct cupti_record *)*cursor)->kind) {
    case ACT_KERNEL: case ACT_CONCURRENT_KERNEL: kernel(&out[n++], *cursor); break;
    case ACT_GRAPH_TRACE: graph(&out[n++], *cursor); break;
    }
  }
  return n;
}
