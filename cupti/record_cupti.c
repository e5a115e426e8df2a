// Records what CUPTI reports to the profiler: callbacks, buffers, and the answers to questions about handles.
#include "record.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "record_counters.h"
#include "record_sampling.h"
#include "runtime.h"

const struct recorder_api *recorder;

void record_use(const struct recorder_api *api) { recorder = api; }

// The original functions, and the callbacks of the profiler. They are written by record_wrap_cupti, Subscribe and
// ActivityRegisterCallbacks, before CUPTI can call a callback.
static struct cupti_table real;
static struct cuda_table driver;
static cupti_callback_fn callback;
static void *callback_user;
static cupti_complete_fn complete;

// ---- the machine ----

static void write_info(const char *library) {
  struct event e = {0};
  struct utsname machine = {0};
  uint32_t version = 0;
  int driver_version = 0;
  real.GetVersion(&version);
  if (driver.cuDriverGetVersion) driver.cuDriverGetVersion(&driver_version);
  uname(&machine);
  event_number(&e, version);
  event_number(&e, (uint64_t)driver_version);
  event_number(&e, record_cstring(library));
  event_number(&e, (uint64_t)time(NULL));
  event_number(&e, record_cstring(machine.machine));
  event_write(&e, EV_INFO);
}

static void write_device(int ordinal) {
  static const uint32_t wanted[] = {DEV_CC_MAJOR, DEV_CC_MINOR, DEV_MULTIPROCESSORS,
                                    DEV_CLOCK_RATE, DEV_MEMORY_CLOCK_RATE, DEV_BUS_WIDTH};
  char name[256] = "";
  int device;
  if (driver.cuDeviceGet(&device, ordinal)) return;
  driver.cuDeviceGetName(name, sizeof name - 1, device);
  struct event e = {0};
  event_number(&e, (uint64_t)ordinal);
  event_number(&e, record_cstring(name));
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, wanted[i], device);
    event_number(&e, (uint64_t)(value > 0 ? value : 0));
  }
  event_write(&e, EV_DEVICE);
}

// The driver is asked for the GPUs at each flush until it answers. A flush runs on a thread of ours; attaching may run inside
// cuInit, and a callback must not call the driver.
void record_gpus(void) {
  static int done;
  int count = 0;
  if (!record_on() || done || !driver.cuDeviceGetCount || driver.cuDeviceGetCount(&count)) return;
  done = 1;
  for (int i = 0; i < count; i++) write_device(i);
}

// ---- answers ----

static uint32_t answer(enum capture_answer function, const void *handle, uint32_t result, uint64_t value) {
  if (!record_on()) return result;
  uint64_t key = (uint64_t)(uintptr_t)handle ^ (uint64_t)function << 56;
  if (function != ANS_DROPPED && !record_is_new(key, value * 1024 + result + 1)) return result;
  struct event e = {0};
  event_number(&e, function);
  event_number(&e, (uintptr_t)handle);
  event_number(&e, result);
  event_number(&e, value);
  event_write(&e, EV_ANSWER);
  return result;
}

// A question about a handle whose answer is a number.
#define ASKED(name, function, type, code)                  \
  static uint32_t name(void *handle, type *id) {           \
    uint32_t result = real.function(handle, id);           \
    return answer(code, handle, result, result ? 0 : *id); \
  }
ASKED(get_graph_id, GetGraphId, uint32_t, ANS_GRAPH_ID)
ASKED(get_node_id, GetGraphNodeId, uint64_t, ANS_NODE_ID)
ASKED(get_exec_id, GetGraphExecId, uint32_t, ANS_EXEC_ID)
ASKED(get_context_id, GetContextId, uint32_t, ANS_CONTEXT_ID)
ASKED(get_device_id, GetDeviceId, uint32_t, ANS_DEVICE_ID)
#undef ASKED

static uint32_t get_dropped(void *context, uint32_t stream_id, size_t *dropped) {
  uint32_t result = real.ActivityGetNumDroppedRecords(context, stream_id, dropped);
  if (!result && *dropped) answer(ANS_DROPPED, NULL, 0, *dropped);
  return result;
}

// A later version of the profiler may ask more when it replays the capture, so ids are asked for and written in any case.
static void ask_context(void *context) {
  static _Thread_local void *last;
  uint32_t id;
  if (!context || context == last) return;
  last = context;
  get_context_id(context, &id);
  get_device_id(context, &id);
}

// Only the handles that the event is about: CUPTI does not set the others.
static void ask_graph(uint32_t cbid, const struct cupti_graph_data *g) {
  uint32_t id;
  uint64_t node;
  switch (cbid) {
  case RES_GRAPHNODE_CLONED:
    if (g->original_node) get_node_id(g->original_node, &node);
    // fall through
  case RES_GRAPHNODE_CREATED:
    if (g->node) get_node_id(g->node, &node);
    // fall through
  case RES_GRAPH_CREATED:
  case RES_GRAPH_DESTROY_STARTING:
    if (g->graph) get_graph_id(g->graph, &id);
    return;
  case RES_GRAPHEXEC_CREATED:
  case RES_GRAPHEXEC_DESTROY_STARTING:
    if (g->graph_exec && real.GetGraphExecId) get_exec_id(g->graph_exec, &id);
    return;
  }
}

// ---- callbacks ----

static void write_params(struct event *e, const struct params_shape *shape, const struct cupti_callback_data *d) {
  uint32_t words[16] = {0};
  uint64_t out = 0;
  const uint8_t *params = d->params;
  const void *config = NULL;
  memcpy(words, params, shape->size);
  if (shape->config >= 0) memcpy(&config, params + shape->config, sizeof config);
  if (shape->out >= 0 && d->site == SITE_EXIT) {
    const uint64_t *target;
    memcpy(&target, params + shape->out, sizeof target);
    if (target) out = *target;
  }
  for (int i = 0; i < 16; i++)
    if (shape->clear >> i & 1) words[i] = 0;
  event_number(e, out);
  if (d->site == SITE_EXIT) { // the parameters are those of ENTER
    event_number(e, 0);
    event_number(e, 0);
    return;
  }
  event_number(e, shape->size);
  event_bytes(e, words, shape->size);
  event_number(e, config ? sizeof(struct cuda_launch_config) : 0);
  if (config) {
    struct cuda_launch_config c;
    memcpy(&c, config, sizeof c);
    c.attributes = NULL, c.num_attributes = 0, c.reserved0 = c.reserved1 = 0;
    event_bytes(e, &c, sizeof c);
  }
}

// The name of a symbol is valid in launches of kernels alone: in other calls it may be anything.
static const char *name_in(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *d) {
  const char *name;
  uint32_t field = params_name_field(domain, cbid);
  if (field && d->params) {
    memcpy(&name, (const uint8_t *)d->params + field, sizeof name);
    return name;
  }
#define CASE(function, number) case number:
  if (domain == DOMAIN_DRIVER) switch (cbid) {
    CUDA_LAUNCH_CALLS(CASE)
    CUDA_LAUNCH_EX_CALLS(CASE)
      return d->symbol_name;
    }
#undef CASE
  return NULL;
}

static void note_callback(struct event *e, uint32_t domain, uint32_t cbid, const struct cupti_callback_data *d) {
  const struct params_shape *shape = params_shape_of(domain, cbid);
  event_number(e, domain);
  event_number(e, cbid);
  event_number(e, d->site);
  event_number(e, d->correlation_id);
  event_number(e, (uintptr_t)d->context);
  event_number(e, d->context_uid);
  event_number(e, record_cstring(name_in(domain, cbid, d)));
  event_number(e, d->site == SITE_EXIT && d->return_value ? *(const uint32_t *)d->return_value : 0);
  if (shape && d->params) {
    write_params(e, shape, d);
  } else { // no output, no parameters, no configuration
    event_number(e, 0);
    event_number(e, 0);
    event_number(e, 0);
  }
}

static uint64_t hash_image(const void *bytes, size_t length) {
  const uint8_t *p = bytes;
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) h = (h ^ p[i]) * 1099511628211u;
  return h;
}

// A capture has no binaries by default, because they are large and most replays do not need them. One with samples has the
// small ones, such as Triton's, because samples are attributed to lines of the binary.
static int cubin_wanted(size_t size) {
  enum { SMALL = 256 << 10 };
  const char *wanted = getenv("PROTON_RECORD_CUBINS");
  if (!wanted || !*wanted) return record_samples() && size <= SMALL;
  return strcmp(wanted, "0") != 0;
}

static uint64_t write_cubin(const struct cupti_module_data *m) {
  if (!m->cubin || !m->cubin_size) return 0;
  uint64_t hash = hash_image(m->cubin, m->cubin_size);
  if (cubin_wanted(m->cubin_size) && record_is_new(hash, 1)) {
    struct event e = {0};
    event_number(&e, hash);
    event_bytes(&e, m->cubin, m->cubin_size);
    event_write(&e, EV_CUBIN);
  }
  return hash;
}

static void write_module(struct event *e, const struct cupti_module_data *m) {
  uint64_t hash = write_cubin(m);
  event_number(e, SHAPE_MODULE);
  event_number(e, m->module_id);
  event_number(e, m->cubin_size);
  event_number(e, hash);
}

static void write_graph(struct event *e, const struct cupti_graph_data *g) {
  event_number(e, SHAPE_GRAPH);
  event_number(e, (uintptr_t)g->graph);
  event_number(e, (uintptr_t)g->original_graph);
  event_number(e, (uintptr_t)g->node);
  event_number(e, (uintptr_t)g->original_node);
  event_number(e, g->node_type);
  event_number(e, (uintptr_t)g->dependency);
  event_number(e, (uintptr_t)g->graph_exec);
}

static void note_resource(struct event *e, uint32_t cbid, const struct cupti_resource_data *d) {
  enum capture_shape shape = d->descriptor ? resource_shape(cbid) : SHAPE_NONE;
  event_number(e, cbid);
  event_number(e, (uintptr_t)d->context);
  event_number(e, (uintptr_t)d->handle);
  if (shape == SHAPE_MODULE) write_module(e, d->descriptor);
  else if (shape == SHAPE_GRAPH) write_graph(e, d->descriptor);
  else event_number(e, SHAPE_NONE);
}

static void note_nvtx(struct event *e, uint32_t cbid, const struct cupti_nvtx_data *d) {
  const char *message = NULL;
  if ((cbid == NVTX_RangePushA || cbid == NVTX_MarkA) && d->params)
    message = ((const struct nvtx_params_message *)d->params)->message;
  event_number(e, cbid);
  event_number(e, record_cstring(message));
}

static int is_graph_launch(uint32_t cbid) { return cbid == CBID_cuGraphLaunch || cbid == CBID_cuGraphLaunch_ptsz; }

static void before_driver_call(uint32_t cbid, const struct cupti_callback_data *d) {
  uint32_t id;
  if (d->site != SITE_ENTER) return;
  record_python_path();
  ask_context(d->context);
  if (is_graph_launch(cbid) && real.GetGraphExecId)
    get_exec_id(((const struct cuda_params_graph_launch *)d->params)->exec, &id);
}

static void before_resource(uint32_t cbid, const struct cupti_resource_data *d) {
  if (cbid == RES_GRAPHNODE_CREATED) record_python_path(); // the node is attributed to the call path at its creation
  if (cbid != RES_CONTEXT_DESTROY_STARTING) ask_context(d->context);
  if (d->descriptor) ask_graph(cbid, d->descriptor);
}

static enum capture_event note(struct event *e, uint32_t domain, uint32_t cbid, const void *data) {
  switch (domain) {
  case DOMAIN_DRIVER: before_driver_call(cbid, data); // fall through
  case DOMAIN_RUNTIME: return note_callback(e, domain, cbid, data), EV_CALLBACK;
  case DOMAIN_RESOURCE: return before_resource(cbid, data), note_resource(e, cbid, data), EV_RESOURCE;
  case DOMAIN_NVTX: return note_nvtx(e, cbid, data), EV_NVTX;
  }
  return 0;
}

// An event is noted before the profiler is called, which may call CUPTI, and CUPTI the driver; it is written after what that adds. Calls of
// the profiler's own are not the program's.
static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  (void)user;
  struct event e = {0};
  const struct cupti_callback_data *d = domain == DOMAIN_DRIVER ? data : NULL;
  enum capture_event type = record_on() && !(d && cupti_own_call) ? note(&e, domain, cbid, data) : 0;
  struct record_launch outer = record_counters_launch(d ? (struct record_launch){d->correlation_id, d->site != SITE_ENTER} : (struct record_launch){0});
  callback(callback_user, domain, cbid, data);
  record_counters_launch(outer);
  if (type) event_write(&e, type);
}

static uint32_t subscribe(void **subscriber, cupti_callback_fn f, void *user) {
  callback = f, callback_user = user;
  return real.Subscribe(subscriber, on_callback, NULL);
}

static uint32_t subscribe_v2(void **subscriber, cupti_callback_fn f, void *user, struct cupti_subscriber_params *params) {
  callback = f, callback_user = user;
  return real.Subscribe_v2(subscriber, on_callback, NULL, params);
}

// ---- buffers ----

enum { KINDS = 64 };

// The layout of a buffer, as found by walking over its records.
struct walk {
  struct { uint32_t kind, size, string_field; } kinds[KINDS];
  size_t count; // of kinds
  size_t valid; // bytes whose layout is known
};

// Stores the size of a record's kind. Returns 0 if an earlier record of this kind had another size.
static int note_size(struct walk *w, uint32_t kind, size_t size) {
  for (size_t i = 0; i < w->count; i++)
    if (w->kinds[i].kind == kind) return w->kinds[i].size == size;
  if (w->count == KINDS) return 0;
  w->kinds[w->count].kind = kind;
  w->kinds[w->count].size = (uint32_t)size;
  w->kinds[w->count].string_field = kind_string_field(kind);
  w->count++;
  return 1;
}

// Only the library knows how long its records are: a record ends where the next one begins.
static void measure(struct walk *w, uint8_t *buffer, size_t valid) {
  uint8_t *at = NULL;
  void *next = NULL;
  while (w->valid < valid) {
    if (!at && real.ActivityGetNextRecord(buffer, valid, &next)) return;
    at = next;
    uint8_t *end = real.ActivityGetNextRecord(buffer, valid, &next) ? buffer + valid : (uint8_t *)next;
    if (!note_size(w, ((struct cupti_record *)(void *)at)->kind, (size_t)(end - at))) return;
    w->valid = (size_t)(end - buffer);
  }
}

static uint32_t size_of_kind(const struct walk *w, uint32_t kind, uint32_t *string_field) {
  for (size_t i = 0; i < w->count; i++)
    if (w->kinds[i].kind == kind) {
      *string_field = w->kinds[i].string_field;
      return w->kinds[i].size;
    }
  return 0;
}

// Replaces pointers to strings by the strings' numbers, and clears other pointers, which mean nothing in another process.
static void relocate(const struct walk *w, uint8_t *records) {
  enum { ACCESS_POLICY_WINDOW = 160 }; // of kernel records from 11.2 on
  for (size_t at = 0; at < w->valid;) {
    uint32_t kind, field = 0;
    memcpy(&kind, records + at, sizeof kind);
    uint32_t size = size_of_kind(w, kind, &field);
    if (!size) return;
    if (field) {
      const char *text;
      memcpy(&text, records + at + field, sizeof text);
      uint64_t number = record_cstring(text);
      memcpy(records + at + field, &number, sizeof number);
      if (size >= ACCESS_POLICY_WINDOW + 8) memset(records + at + ACCESS_POLICY_WINDOW, 0, 8);
    }
    at += size;
  }
}

static void write_buffer(uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid) {
  struct walk w = {0};
  measure(&w, buffer, valid);
  uint8_t *records = malloc(w.valid ? w.valid : 1);
  if (!records) return;
  memcpy(records, buffer, w.valid);
  relocate(&w, records);
  struct event e = {0};
  event_number(&e, stream_id);
  event_number(&e, size);
  event_number(&e, w.count);
  for (size_t i = 0; i < w.count; i++) {
    event_number(&e, w.kinds[i].kind);
    event_number(&e, w.kinds[i].size);
    event_number(&e, w.kinds[i].string_field);
  }
  event_bytes(&e, records, w.valid);
  event_write(&e, EV_BUFFER);
  free(records);
}

static void on_complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid) {
  if (record_on() && buffer && valid) write_buffer(stream_id, buffer, size, valid);
  complete(context, stream_id, buffer, size, valid);
}

static uint32_t register_callbacks(cupti_request_fn request, cupti_complete_fn f) {
  complete = f;
  return real.ActivityRegisterCallbacks(request, on_complete);
}

static uint32_t flush_all(uint32_t flag) {
  record_gpus();
  return real.ActivityFlushAll(flag);
}

void record_wrap_cupti(struct cupti_table *table, const struct cuda_table *cuda, const char *library) {
  real = *table;
  if (cuda) driver = *cuda;
  recorder->gpu_seen();
  recorder->driver_seen(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD));
  table->Subscribe = subscribe;
  if (real.Subscribe_v2) table->Subscribe_v2 = subscribe_v2;
  table->ActivityRegisterCallbacks = register_callbacks;
  table->ActivityFlushAll = flush_all;
  table->ActivityGetNumDroppedRecords = get_dropped;
  table->GetGraphId = get_graph_id;
  table->GetGraphNodeId = get_node_id;
  if (real.GetGraphExecId) table->GetGraphExecId = get_exec_id;
  table->GetContextId = get_context_id;
  table->GetDeviceId = get_device_id;
  write_info(library);
}
