#include "runtime.h"

static void kernel(struct cupti_activity *out, const struct cupti_kernel_prefix *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .name = r->name, .graph_node = r->graph_node_id,
      .correlation = r->correlation_id, .device = r->device_id, .context = r->context_id,
      .stream = r->stream_id, .graph = r->graph_id, .kind = ACTIVITY_KERNEL,
  };
}

static void graph(struct cupti_activity *out, const struct cupti_graph_trace *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .correlation = r->correlation_id, .device = r->device_id,
      .context = r->context_id, .stream = r->stream_id, .graph = r->graph_id, .kind = ACTIVITY_GRAPH,
  };
}

static void copy(struct cupti_activity *out, const struct cupti_memcpy_prefix *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .bytes = r->bytes, .graph_node = r->graph_node_id,
      .correlation = r->correlation_id, .device = r->device_id, .context = r->context_id,
      .stream = r->stream_id, .graph = r->graph_id, .kind = ACTIVITY_COPY, .detail = r->copy_kind,
  };
}

static void peer_copy(struct cupti_activity *out, const struct cupti_memcpy_peer_prefix *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .bytes = r->bytes, .graph_node = r->graph_node_id,
      .correlation = r->correlation_id, .device = r->device_id, .context = r->context_id,
      .stream = r->stream_id, .graph = r->graph_id, .kind = ACTIVITY_COPY, .detail = COPY_PTOP,
  };
}

static void fill(struct cupti_activity *out, const struct cupti_memset_prefix *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .bytes = r->bytes, .graph_node = r->graph_node_id,
      .correlation = r->correlation_id, .device = r->device_id, .context = r->context_id,
      .stream = r->stream_id, .graph = r->graph_id, .kind = ACTIVITY_FILL,
  };
}

static void wait(struct cupti_activity *out, const struct cupti_sync_prefix *r) {
  *out = (struct cupti_activity){
      .start = r->start, .end = r->end, .correlation = r->correlation_id, .context = r->context_id,
      .stream = r->stream_id, .kind = ACTIVITY_SYNC, .detail = (uint16_t)r->type,
  };
}

// The library itself steps from record to record: only it knows how long its version's records are.
int cupti_decode(uint8_t *buffer, size_t valid, void **cursor, struct cupti_activity *out, int max) {
  int n = 0;
  while (n < max && cupti.ActivityGetNextRecord(buffer, valid, cursor) == RC_OK) {
    switch (((const struct cupti_record *)*cursor)->kind) {
    case ACT_KERNEL: case ACT_CONCURRENT_KERNEL: kernel(&out[n++], *cursor); break;
    case ACT_GRAPH_TRACE: graph(&out[n++], *cursor); break;
    case ACT_MEMCPY: copy(&out[n++], *cursor); break;
    case ACT_MEMCPY2: peer_copy(&out[n++], *cursor); break;
    case ACT_MEMSET: fill(&out[n++], *cursor); break;
    case ACT_SYNCHRONIZATION:
      if (((const struct cupti_sync_prefix *)*cursor)->type != SYNC_STREAM_WAITS) wait(&out[n++], *cursor);
      break;
    }
  }
  return n;
}
