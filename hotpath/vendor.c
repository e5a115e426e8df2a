#include "vendor.h"
#include "buffer.h"
#include "context.h"
#include "control.h"
#include "gate.h"
#include "launch.h"
#include "meter.h"
#include "names.h"
#include "questions.h"
#include "scope.h"
#include "thread.h"
#include <string.h>

static _Atomic(const struct hp_vendor *) vendors[HP_VENDORS];

int hp_vendor_add(const struct hp_vendor *vendor) {
  for (int i = 0; i < HP_VENDORS; i++) {
    const struct hp_vendor *here = NULL;
    if (atomic_compare_exchange_strong(&vendors[i], &here, vendor) || here == vendor) return 1;
  }
  return 0;
}

int hp_stream_capturing(void *stream) {
  for (int i = 0; i < HP_VENDORS; i++) {
    const struct hp_vendor *v = atomic_load(&vendors[i]);
    int answer = v ? v->stream_capturing(stream) : -1;
    if (answer >= 0) return answer;
  }
  return 0;
}

const struct hp_vendor *hp_vendor_capturing(void *stream) {
  for (int i = 0; i < HP_VENDORS; i++) {
    const struct hp_vendor *v = atomic_load(&vendors[i]);
    if (v && v->stream_capturing(stream) > 0) return v;
  }
  return NULL;
}

int hp_current_device(void) {
  for (int i = 0; i < HP_VENDORS; i++) {
    const struct hp_vendor *v = atomic_load(&vendors[i]);
    int device = v ? v->current_device() : -1;
    if (device >= 0) return device;
  }
  return -1;
}

static void range_push(const char *text) {
  if (!text) text = "";
  hp_scope_open(text, strlen(text));
}

static void range_pop(void) { hp_scope_exit((struct hp_token){0, 0}); }

static const struct hp_vendor_api table = {
    .size = sizeof table,
    .launch = hp_launch,
    .graph_launch = hp_graph_launch,
    .work = hp_work,
    .call = hp_call,
    .launched = hp_launched,
    .returned = hp_returned,
    .waited = hp_waited,
    .last_launch = hp_last_launch,
    .now = hp_now,
    .exits_matter = &hp_g.watch,
    .capture = hp_capture,
    .capturing = hp_capturing,
    .node_created = hp_node_created,
    .node_cloned = hp_node_cloned,
    .graph_destroyed = hp_graph_destroyed,
    .exec_destroyed = hp_exec_destroyed,
    .context_seen = hp_context_seen,
    .context_gone = hp_context_gone,
    .range_push = range_push,
    .range_pop = range_pop,
    .profiler_api = hp_profiler_api,
    .intern = hp_intern,
    .text = hp_text,
    .buffer_get = hp_buffer_get,
    .buffer_done = hp_buffer_done,
    .meter_begin = hp_meter_begin,
    .meter_end = hp_meter_end,
    .others_live = hp_others_live,
};

const struct hp_vendor_api *hp_vendor_api(void) { return &table; }
