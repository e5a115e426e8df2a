// Plays the callbacks and buffers of a capture.
#include "replay.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "replay_records.h"

// ---- answers ----

static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct map answers; // (function, handle) to (result, value); guarded by answers_lock
static struct map cubins;  // hash to (bytes, size); only the thread whose turn it is uses it

void play_answer(const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint64_t function = cap_number(&at), handle = cap_number(&at); // in this order: the declarators are
  uint64_t result = cap_number(&at), value = cap_number(&at);
  if (at.short_) return;
  if (function == ANS_DROPPED) {
    stub_lose(value);
    return;
  }
  pthread_mutex_lock(&answers_lock);
  map_put(&answers, function, handle, result, value);
  pthread_mutex_unlock(&answers_lock);
}

int replayed_answer(enum capture_answer function, const void *handle, uint32_t *result, uint64_t *value) {
  pthread_mutex_lock(&answers_lock);
  const struct map_entry *e = map_get(&answers, function, (uintptr_t)handle);
  if (e) *result = (uint32_t)e->value[0], *value = e->value[1];
  pthread_mutex_unlock(&answers_lock);
  return e != NULL;
}

// ---- callbacks ----

static void *pointer(uint64_t value) { return (void *)(uintptr_t)value; }

// What the data of a callback points at: the arguments, what these point at, and correlation_data.
struct arguments {
  uint64_t words[32];
  struct cuda_launch_config config;
  uint64_t out, cell;
};

// The arguments of the calls in progress on this thread; calls nest. EXIT gets those of ENTER.
static struct arguments *arguments_of(uint32_t site) {
  enum { NESTED = 16 };
  static _Thread_local struct arguments calls[NESTED];
  static _Thread_local unsigned depth;
  if (site == SITE_ENTER) {
    struct arguments *a = &calls[++depth % NESTED];
    memset(a, 0, sizeof *a);
    return a;
  }
  struct arguments *a = &calls[depth % NESTED];
  if (depth) depth--;
  return a;
}

// Pointers are cleared: those of the recorded process mean nothing here, and none from a file may be followed.
static void copy_arguments(struct arguments *a, const struct params_shape *shape, const uint8_t *bytes, size_t size) {
  memcpy(a->words, bytes, size);
  for (uint32_t i = 0; i < 32; i++)
    if (shape->clear >> i & 1) ((uint32_t *)a->words)[i] = 0;
}

static void read_arguments(struct arguments *a, uint32_t domain, uint32_t cbid, const char *symbol, struct cap_cursor *at) {
  const struct params_shape *shape = params_shape_of(domain, cbid);
  a->out = cap_number(at);
  uint64_t size = cap_number(at);
  const uint8_t *bytes = cap_bytes(at, size);
  if (bytes && shape && size <= shape->size) copy_arguments(a, shape, bytes, size);
  uint64_t config_size = cap_number(at);
  const uint8_t *config = cap_bytes(at, config_size);
  if (config && config_size == sizeof a->config) memcpy(&a->config, config, sizeof a->config);
  a->config.attributes = NULL, a->config.num_attributes = 0;
  if (shape && shape->out >= 0) a->words[shape->out / 8] = (uintptr_t)&a->out;
  uint32_t name = params_name_field(domain, cbid);
  if (name) a->words[name / 8] = (uintptr_t)symbol;
  if (shape && shape->config >= 0) a->words[shape->config / 8] = (uintptr_t)&a->config;
}

void play_callback(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint32_t result;
  uint32_t domain = (uint32_t)cap_number(&at);
  uint32_t cbid = (uint32_t)cap_number(&at);
  struct cupti_callback_data d = {.site = (uint32_t)cap_number(&at)};
  d.correlation_id = (uint32_t)cap_number(&at);
  d.context = pointer(cap_number(&at));
  d.context_uid = (uint32_t)cap_number(&at);
  d.symbol_name = cap_string(c, &at);
  result = (uint32_t)cap_number(&at);
  struct arguments *arguments = arguments_of(d.site);
  read_arguments(arguments, domain, cbid, d.symbol_name, &at);
  if (at.short_) return;
  d.function_name = "replayed";
  d.params = arguments->words;
  d.return_value = &result;
  d.correlation_data = &arguments->cell;
  stub_cuda_set_current(d.context);
  deliver(domain, cbid, &d);
}

static void read_graph(struct cupti_graph_data *g, struct cap_cursor *at) {
  g->graph = pointer(cap_number(at));
  g->original_graph = pointer(cap_number(at));
  g->node = pointer(cap_number(at));
  g->original_node = pointer(cap_number(at));
  g->node_type = (uint32_t)cap_number(at);
  g->dependency = pointer(cap_number(at));
  g->graph_exec = pointer(cap_number(at));
}

static void read_module(struct cupti_module_data *m, struct cap_cursor *at) {
  m->module_id = (uint32_t)cap_number(at);
  m->cubin_size = cap_number(at);
  const struct map_entry *cubin = map_get(&cubins, cap_number(at), 0);
  if (cubin) m->cubin = pointer(cubin->value[0]);
  else m->cubin_size = 0; // it was not recorded
}

void play_resource(const struct capture *c, const struct cap_event *e) {
  (void)c;
  struct cap_cursor at = cap_open(e);
  uint32_t cbid = (uint32_t)cap_number(&at);
  struct cupti_resource_data d = {.context = pointer(cap_number(&at))};
  d.handle = pointer(cap_number(&at));
  struct cupti_graph_data graph = {0};
  struct cupti_module_data module = {0};
  switch (cap_number(&at)) {
  case SHAPE_GRAPH: read_graph(&graph, &at), d.descriptor = &graph; break;
  case SHAPE_MODULE: read_module(&module, &at), d.descriptor = &module; break;
  }
  if (at.short_) return;
  stub_cuda_set_current(d.context);
  deliver(DOMAIN_RESOURCE, cbid, &d);
}

void play_nvtx(const struct capture *c, const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint32_t cbid = (uint32_t)cap_number(&at);
  struct nvtx_params_message message = {cap_string(c, &at)};
  struct cupti_nvtx_data d = {"replayed", &message, NULL};
  if (!at.short_) deliver(DOMAIN_NVTX, cbid, &d);
}

void play_cubin(const struct cap_event *e) {
  struct cap_cursor at = cap_open(e);
  uint64_t hash = cap_number(&at);
  if (!at.short_) map_put(&cubins, hash, 0, (uintptr_t)at.at, (uint64_t)(at.end - at.at));
}

// ---- buffers ----

// ns to add to the times of records, see set_event_times. Only the thread whose turn it is uses it.
static int64_t shift;

void move_gpu_times(int64_t by) { shift = by; }

static void play_record(const struct capture *c, uint32_t kind, const uint8_t *bytes, uint32_t size) {
  uint64_t record[CHECK_RECORD_MAX / 8], times[2];
  memcpy(record, bytes, size);
  if (kind_string_field(kind)) {
    uint64_t *field = &record[kind_string_field(kind) / 8];
    *field = (uintptr_t)c->strings[*field];
  }
  if (record_times(bytes, kind, times)) {
    times[0] += (uint64_t)shift, times[1] += (uint64_t)shift;
    memcpy((uint8_t *)record + record_fields(kind).start, times, sizeof times);
  }
  if (kind_ever_wanted(kind)) emit(record, size);
}

void play_buffer(const struct capture *c, const struct cap_event *e) {
  struct records records;
  uint32_t kind, size;
  records_open(&records, e);
  for (size_t i = 0; i < records.count; i++) learn_size(records.kinds[i].kind, records.kinds[i].size);
  for (const uint8_t *record; (record = records_next(&records, &kind, &size));) play_record(c, kind, record, size);
  flush_buffers(); // the profiler gets the records when it got them in the recording, in one or more buffers
}

void forget_answers(void) {
  map_free(&answers);
  map_free(&cubins);
}
