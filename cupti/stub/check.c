// Checks a capture before it is played. A capture may come from anywhere, and the profiler trusts what CUPTI reports:
// it follows the pointers of records and callbacks. So everything here that is used as a pointer, or says how long
// something is, must be what the recorder writes. Strings are numbers into the capture's own table.
#include "check.h"

#include <stdio.h>
#include <string.h>

// What is wrong with the capture, with the number of the event. One capture is played in a process.
static char text[256];

#define DAMAGED(...) (snprintf(text, sizeof text, __VA_ARGS__), text)
#define AGAIN "the file is damaged: record it again"

// How many bytes of a record the profiler reads; 0 for kinds that it skips.
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

// The sizes of records by kind, which one version of CUPTI does not change.
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

// What CUPTI shows with a resource depends on the callback alone: the profiler takes the one for the other's pointers.
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
