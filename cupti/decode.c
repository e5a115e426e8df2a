// Turns CUPTI's records into activities. Only the drainer's commands run this, one at a time: the tables need no lock.
#include "counters.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

static const struct hp_vendor_api *hp;

void cupti_decode_with(const struct hp_vendor_api *api) { hp = api; }

// ---- names ----
// All records of a kernel have the same pointer to its name until its module is unloaded; then another name may stand at that
// address. So the name found by its pointer is compared with the text there: that is cheaper than the hash of interning.

enum { NAMES = 4096 }; // elements of a direct-mapped cache
static struct { const char *at; uint32_t id; } names[NAMES];

static uint32_t metric_frame; // the id of METRIC_FRAME, once the kernel that reads tensors has run

static int same(uint32_t id, const char *name) {
  size_t length;
  if (id == metric_frame) return !strcmp(name, TENSOR_KERNEL);
  const char *text = hp->text(id, &length);
  return !strncmp(text, name, length) && !name[length];
}

static uint32_t new_name(const char *name) {
  if (strcmp(name, TENSOR_KERNEL)) return hp->intern(name, strlen(name));
  return metric_frame = hp->intern(METRIC_FRAME, strlen(METRIC_FRAME));
}

static uint32_t name_of(const char *name) {
  if (!name) return 0;
  size_t at = ((uintptr_t)name * 0x9E3779B97F4A7C15u) >> 52;
  if (names[at].at != name || !names[at].id || !same(names[at].id, name)) {
    names[at].at = name;
    names[at].id = new_name(name);
  }
  return names[at].id;
}

static uint32_t fixed_name(uint32_t *id, const char *name) { return *id ? *id : (*id = hp->intern(name, strlen(name))); }

static uint32_t copy_name(uint32_t kind) {
  static const char *const known[] = {
      "<memcpy>", [COPY_HTOD] = "<memcpy HtoD>", [COPY_DTOH] = "<memcpy DtoH>", [COPY_HTOA] = "<memcpy HtoA>",
      [COPY_ATOH] = "<memcpy AtoH>", [COPY_ATOA] = "<memcpy AtoA>", [COPY_ATOD] = "<memcpy AtoD>",
      [COPY_DTOA] = "<memcpy DtoA>", [COPY_DTOD] = "<memcpy DtoD>", [COPY_HTOH] = "<memcpy HtoH>", [COPY_PTOP] = "<memcpy PtoP>"};
  static uint32_t ids[sizeof known / sizeof *known];
  if (kind >= sizeof known / sizeof *known) kind = 0;
  return fixed_name(&ids[kind], known[kind]);
}

static uint32_t fill_name(void) {
  static uint32_t id;
  return fixed_name(&id, "<memset>");
}

static uint32_t sync_name(uint32_t type) {
  static const char *const known[] = {
      "<sync>", [SYNC_EVENT] = "<sync event>", [SYNC_STREAM_WAITS] = "<sync>", [SYNC_STREAM] = "<sync stream>", [SYNC_CONTEXT] = "<sync context>"};
  static uint32_t ids[sizeof known / sizeof *known];
  if (type >= sizeof known / sizeof *known) type = 0;
  return fixed_name(&ids[type], known[type]);
}

// ---- records ----

#define TIMES(r) \
  .start = (r)->start, .end = (r)->end, .correlation = cupti_correlation_base() + (r)->correlation_id, .context = (r)->context_id, .stream = (r)->stream_id
#define WORK(r) TIMES(r), .device = (uint16_t)(r)->device_id, .graph = (r)->graph_id

static uint64_t packed(const int32_t grid[3]) { return (uint64_t)(uint32_t)grid[0] | (uint64_t)(uint32_t)grid[1] << 31 | (uint64_t)(uint32_t)grid[2] << 47; }

// What launches asked for, of the last kernels: counters are read after the records that have it.
enum { SHAPES = 1 << 14 };
static struct cupti_shape shapes[SHAPES]; // by correlation id
static int shapes_kept;

void cupti_keep_shapes(int keep) { shapes_kept = keep; }

const struct cupti_shape *cupti_shape_of(uint32_t correlation) {
  const struct cupti_shape *s = &shapes[correlation % SHAPES];
  return s->threads && s->correlation == correlation ? s : NULL;
}

static void keep_shape(const struct cupti_kernel_prefix *r) {
  shapes[r->correlation_id % SHAPES] = (struct cupti_shape){r->correlation_id, r->registers_per_thread, (uint32_t)(r->block[0] * r->block[1] * r->block[2]),
                                                            (uint32_t)r->static_shared, (uint32_t)r->dynamic_shared};
}

// The driver numbers what it launches in a context, also while no library is attached. Nodes of graphs keep the numbers of their capture.
static void kernel(struct hp_activity *out, const struct cupti_kernel_prefix *r) {
  *out = (struct hp_activity){WORK(r), .kind = HP_KERNEL, .name = name_of(r->name), .graph_node = r->graph_node_id, .grid = packed(r->grid)};
  if (shapes_kept) keep_shape(r);
  if (!r->graph_id && !r->graph_node_id && r->grid_id > 0) out->numbered = 1, out->number = (uint64_t)r->grid_id;
}

static void graph(struct hp_activity *out, const struct cupti_graph_trace *r) {
  *out = (struct hp_activity){WORK(r), .kind = HP_GRAPH};
}

static void copy(struct hp_activity *out, const struct cupti_memcpy_prefix *r) {
  *out = (struct hp_activity){WORK(r), .kind = HP_MEMCPY, .name = copy_name(r->copy_kind), .bytes = r->bytes, .graph_node = r->graph_node_id};
}

static void peer_copy(struct hp_activity *out, const struct cupti_memcpy_peer_prefix *r) {
  *out = (struct hp_activity){WORK(r), .kind = HP_MEMCPY, .name = copy_name(COPY_PTOP), .bytes = r->bytes, .graph_node = r->graph_node_id};
}

static void fill(struct hp_activity *out, const struct cupti_memset_prefix *r) {
  *out = (struct hp_activity){WORK(r), .kind = HP_MEMSET, .name = fill_name(), .bytes = r->bytes, .graph_node = r->graph_node_id};
}

static void wait(struct hp_activity *out, const struct cupti_sync_prefix *r) {
  *out = (struct hp_activity){TIMES(r), .kind = HP_SYNC, .name = sync_name(r->type)};
}

// CUPTI makes the step from record to record: only the loaded library knows how long its records are.
int cupti_read(uint8_t *buffer, size_t valid, void **cursor, struct hp_activity *out, int max) {
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
