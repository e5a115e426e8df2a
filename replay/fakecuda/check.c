// A capture may come from anywhere, but the profiler trusts CUPTI: it follows the pointers of records and callbacks. So all
// that is replayed as a pointer or a length must be as the recorder writes it. A string is an index into the capture's table.
#include "check.h"

#include <stdio.h>
#include <string.h>

static char text[256]; // the answer: a process plays one capture

#define DAMAGED(...) (snprintf(text, sizeof text, __VA_ARGS__), text)
#define AGAIN "the file is damaged: record it again"

// How many bytes of a record are read.
static uint32_t least_size(uint32_t kind) {
  switch (kind) {
  case ACT_KERNEL: case ACT_CONCURRENT_KERNEL: return sizeof(struct cupti_kernel_prefix);
  case ACT_GRAPH_TRACE: return sizeof(struct cupti_graph_trace);
  case ACT_MEMCPY: return sizeof(struct cupti_memcpy_prefix);
  case ACT_MEMCPY2: return sizeof(struct cupti_memcpy_peer_prefix);
  case ACT_MEMSET: return sizeof(struct cupti_memset_prefix);
  case ACT_SYNCHRONIZATION: return sizeof(struct cupti_sync_prefix);
  }
  return 8;
}

// The sizes of records by kind. All buffers of a capture have the same, because they come from one version of CUPTI.
struct sizes { uint32_t of[CHECK_KINDS]; };

static const char *check_shape(struct sizes *sizes, size_t event, struct cap_cursor *at) {
  uint64_t kind = cap_number(at), size = cap_number(at), string_field = cap_number(at);
  if (at->short_ || kind == 0 || kind >= CHECK_KINDS) return DAMAGED("event %zu: records of kind %llu: " AGAIN, event, (unsigned long long)kind);
  if (size < least_size((uint32_t)kind) || size > CHECK_RECORD_MAX || size % 8)
    return DAMAGED("event %zu: records of kind %llu with %llu bytes: " AGAIN, event, (unsigned long long)kind, (unsigned long long)size);
  if (string_field != kind_string_field((uint32_t)kind))
    return DAMAGED("event %zu: records of kind %llu with a name at byte %llu: " AGAIN, event, (unsigned long long)kind, (unsigned long long)string_field);
  if (sizes->of[kind] && sizes->of[kind] != size)
    return DAMAGED("event %zu: records of kind %llu with %u and with %llu bytes: " AGAIN, event, (unsigned long long)kind, sizes->of[kind], (unsigned long long)size);
  sizes->of[kind] = (uint32_t)size;
  return NULL;
}

static const char *check_buffer(const struct capture *c, struct sizes *sizes, size_t event, struct cap_cursor *at) {
  cap_number(at); // stream
  cap_number(at); // size of the recorded buffer
  uint64_t shapes = cap_number(at);
  if (shapes > CHECK_KINDS) return DAMAGED("event %zu: a buffer with %llu kinds of records: " AGAIN, event, (unsigned long long)shapes);
  for (uint64_t i = 0; i < shapes; i++) {
    const char *wrong = check_shape(sizes, event, at);
    if (wrong) return wrong;
  }
  while (at->at < at->end) {
    uint32_t kind = 0;
    uint64_t name = 0;
    size_t left = (size_t)(at->end - at->at);
    if (left >= sizeof kind) memcpy(&kind, at->at, sizeof kind);
    uint32_t size = kind < CHECK_KINDS ? sizes->of[kind] : 0;
    if (!size || size > left) return DAMAGED("event %zu: a record of kind %u in the last %zu bytes of a buffer: " AGAIN, event, kind, left);
    if (kind_string_field(kind)) memcpy(&name, at->at + kind_string_field(kind), sizeof name);
    if (name > c->string_count) return DAMAGED("event %zu: a record is named by string %llu of %zu: " AGAIN, event, (unsigned long long)name, c->string_count);
    at->at += size;
  }
  return NULL;
}

// The id of a resource callback decides which descriptor it has; with the wrong one the profiler would take numbers for pointers.
static const char *check_resource(size_t event, struct cap_cursor *at) {
  uint64_t cbid = cap_number(at);
  cap_number(at); // context
  cap_number(at); // handle
  uint64_t shape = cap_number(at), wanted = cbid > UINT32_MAX ? SHAPE_NONE : resource_shape((uint32_t)cbid);
  if (shape == wanted || (shape == SHAPE_NONE && wanted == SHAPE_MODULE)) return NULL;
  return DAMAGED("event %zu: resource callback %llu with data of shape %llu: " AGAIN, event, (unsigned long long)cbid, (unsigned long long)shape);
}

static const char *check_event(const struct capture *c, struct sizes *sizes, size_t i) {
  struct cap_cursor at = cap_open(&c->events[i]);
  switch (c->events[i].type) {
  case EV_BUFFER: return check_buffer(c, sizes, i, &at);
  case EV_RESOURCE: return check_resource(i, &at);
  }
  return NULL;
}

const char *check_capture(const struct capture *c) {
  struct sizes sizes = {{0}};
  for (size_t i = 0; i < c->count; i++) {
    const char *wrong = check_event(c, &sizes, i);
    if (wrong) return wrong;
  }
  return NULL;
}
