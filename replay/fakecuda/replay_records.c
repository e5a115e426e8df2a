#include "replay_records.h"

#include <string.h>

void records_open(struct records *r, const struct cap_event *buffer) {
  r->in = cap_open(buffer);
  cap_number(&r->in); // stream
  cap_number(&r->in); // size of the recorded buffer: the profiler's may differ now
  r->count = cap_number(&r->in);
  for (size_t i = 0; i < r->count; i++) {
    r->kinds[i].kind = (uint32_t)cap_number(&r->in);
    r->kinds[i].size = (uint32_t)cap_number(&r->in);
    cap_number(&r->in); // the offset of the name, see kind_string_field
  }
}

const uint8_t *records_next(struct records *r, uint32_t *kind, uint32_t *size) {
  if (r->in.at == r->in.end) return NULL;
  memcpy(kind, r->in.at, sizeof *kind);
  size_t i = 0;
  while (i < r->count && r->kinds[i].kind != *kind) i++;
  return i < r->count ? cap_bytes(&r->in, *size = r->kinds[i].size) : NULL;
}

struct record_fields record_fields(uint32_t kind) {
#define FIELDS(type) ((struct record_fields){offsetof(struct type, start), offsetof(struct type, correlation_id)})
  switch (kind) {
  case ACT_KERNEL: case ACT_CONCURRENT_KERNEL: return FIELDS(cupti_kernel_prefix);
  case ACT_MEMCPY: return FIELDS(cupti_memcpy_prefix);
  case ACT_MEMCPY2: return FIELDS(cupti_memcpy_peer_prefix);
  case ACT_MEMSET: return FIELDS(cupti_memset_prefix);
  case ACT_GRAPH_TRACE: return FIELDS(cupti_graph_trace);
  case ACT_SYNCHRONIZATION: return FIELDS(cupti_sync_prefix);
  }
#undef FIELDS
  return (struct record_fields){0, 0};
}

int record_times(const uint8_t *record, uint32_t kind, uint64_t times[2]) {
  size_t start = record_fields(kind).start;
  if (!start) return 0;
  memcpy(times, record + start, 2 * sizeof *times);
  return times[0] && times[1] >= times[0];
}
