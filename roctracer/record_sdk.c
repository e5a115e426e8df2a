// Records what librocprofiler-sdk reports: calls of HIP, requests for ids, code, ranges, and buffers of records.
#include "record.h"

#include <stdlib.h>

#include "sdk.h"

static struct sdk_table real;

// ---- callbacks ----

static const struct hip_call *calls[SDK_OPERATIONS]; // by the library's number

static uint32_t query_name(uint32_t kind, int32_t operation, const char **name, uint64_t *length) {
  uint32_t status = real.query_callback_tracing_kind_operation_name(kind, operation, name, length);
  if (status || !*name || (uint32_t)operation >= SDK_OPERATIONS) return status;
  for (unsigned i = 0; i < hip_call_count; i++)
    if (!hip_calls[i].sdk.absent && !strcmp(hip_calls[i].name, *name)) calls[operation] = &hip_calls[i];
  return status;
}

static const struct hip_call *call_of(int32_t operation) {
  return recording() && !room_own_call && (uint32_t)operation < SDK_OPERATIONS ? calls[operation] : NULL;
}

static void before_hip(int32_t operation, uint32_t phase) {
  if (call_of(operation) && phase == SDK_ENTER) room_recorder->python_path();
}

static void after_hip(uint64_t internal, int32_t operation, uint32_t phase, const void *payload) {
  const struct hip_call *call = call_of(operation);
  int exited = phase == SDK_EXIT;
  if (call) record_call(call, exited, internal, hip_arguments(&call->sdk, payload), exited ? ((const struct sdk_hip_call *)payload)->result : -1);
}

static void before_marker(int32_t operation, uint32_t phase) { (void)operation, (void)phase; }

static void after_marker(uint64_t internal, int32_t operation, uint32_t phase, const void *payload) {
  const struct sdk_marker_call *call = payload;
  if (phase != SDK_ENTER || (operation != SDK_RANGE_PUSH && operation != SDK_RANGE_POP)) return;
  record_range((uint64_t)operation, operation == SDK_RANGE_PUSH && call ? call->message : NULL, RANGE_OF_SDK);
}

// ---- code ----

static uint64_t hash_of(const uint8_t *bytes, size_t length) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

// Small images, such as Triton's, are kept; those of libraries only where they are asked for.
static size_t largest_image(void) {
  enum { SMALL = 256 << 10 };
  const char *wanted = getenv("PROTON_RECORD_CUBINS");
  if (!wanted || !*wanted) return SMALL;
  return strcmp(wanted, "0") ? SDK_IMAGES : 0;
}

static uint64_t write_bytes(const uint8_t *image, size_t size) {
  uint64_t hash = hash_of(image, size);
  if (room_recorder->is_new(hash, 1)) {
    struct event e = {0};
    put(&e, hash);
    room_recorder->bytes(&e, image, size);
    room_recorder->write(&e, EV_CUBIN);
  }
  return hash;
}

// Of images in files only samples need a copy.
static uint64_t write_image(const struct sdk_code_load *l) {
  const uint8_t *image = (const uint8_t *)(uintptr_t)l->memory;
  uint8_t *read = NULL;
  size_t most = largest_image(), size = 0;
  if (l->storage == SDK_IN_MEMORY && image && l->memory_size <= most) size = l->memory_size;
  if (l->storage == SDK_IN_FILE && l->uri && record_sdk_samples_wanted()) size = sdk_read_file(l->uri, most, &read), image = read;
  uint64_t hash = size ? write_bytes(image, size) : 0;
  free(read);
  return hash;
}

static void write_load(const struct sdk_code_load *l, uint32_t phase) {
  struct event e = {0};
  uint64_t image = phase == SDK_ENTER ? write_image(l) : 0;
  put(&e, phase == SDK_ENTER ? CODE_LOADED : CODE_UNLOADED);
  put(&e, l->id);
  if (phase == SDK_ENTER) {
    const uint64_t numbers[] = {l->agent, l->load_base, l->load_size, (uint64_t)l->load_delta, text_number(l->uri), image};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put(&e, numbers[i]);
  }
  room_recorder->write(&e, EV_RESOURCE);
}

static void before_code(int32_t operation, uint32_t phase) { (void)operation, (void)phase; }

static void after_code(uint64_t internal, int32_t operation, uint32_t phase, const void *payload) {
  const struct sdk_code_load *l = payload;
  const struct sdk_code_kernel *k = payload;
  struct event e = {0};
  if (!recording() || !payload) return;
  if (operation == SDK_CODE_LOAD && l->size >= sizeof *l) write_load(l, phase);
  if (operation != SDK_CODE_KERNEL || phase != SDK_ENTER || k->size < sizeof *k) return;
  put(&e, CODE_KERNEL);
  put(&e, k->kernel);
  put(&e, k->code);
  put(&e, text_number(k->name));
  room_recorder->write(&e, EV_RESOURCE);
}

// Of each kind the room's callback, and those that stand before it in the library's two layouts.
#define RECORDED(kind, layout)                                                                                      \
  static void kind##_recorded_##layout(struct sdk_callback_##layout r, uint64_t *user, void *data) {                \
    before_##kind(r.operation, r.phase);                                                                            \
    ((void (*)(struct sdk_callback_##layout, uint64_t *, void *))on_##kind)(r, user, data);                         \
    after_##kind(r.internal, r.operation, r.phase, r.payload);                                                      \
  }
#define RECORDED_KIND(kind)    \
  static void (*on_##kind)(void); \
  RECORDED(kind, a) RECORDED(kind, b)
RECORDED_KIND(hip)
RECORDED_KIND(marker)
RECORDED_KIND(code)

#define REPLACE(kind) (on_##kind = f, f = sdk_version() >= SDK_LAYOUT_B ? (void (*)(void))kind##_recorded_b : (void (*)(void))kind##_recorded_a)

static uint32_t configure_callbacks(uint64_t context, uint32_t kind, const int32_t *operations, size_t n, void (*f)(void), void *data) {
  switch (kind) {
  case SDK_ON_HIP: REPLACE(hip); break;
  case SDK_ON_MARKER: REPLACE(marker); break;
  case SDK_ON_CODE: REPLACE(code); break;
  }
  return real.configure_callback_tracing_service(context, kind, operations, n, f, data);
}

// ---- requests for ids: one of the room's functions for each kind ----

enum { REQUEST_KINDS = 16 };
static sdk_on_request on_request[REQUEST_KINDS];

static int request_recorded(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data) {
  struct event e = {0};
  int answer = on_request[kind % REQUEST_KINDS](thread, context, kind, operation, internal, external, data);
  if (!recording()) return answer;
  put(&e, kind);
  put(&e, internal);
  room_recorder->write(&e, EV_REQUEST);
  return answer;
}

static uint32_t configure_requests(uint64_t context, const uint32_t *kinds, size_t n, sdk_on_request f, void *data) {
  for (size_t i = 0; i < n; i++) on_request[kinds[i] % REQUEST_KINDS] = f;
  return real.configure_external_correlation_id_request_service(context, kinds, n, request_recorded, data);
}

// ---- buffers ----

static uint64_t all_drops; // of all buffers, which one thread hands over

static void write_record(struct event *e, const struct sdk_header *h) {
  struct record_work w = {.category = h->category, .kind = h->kind};
  uint64_t size;
  if (h->category == SDK_TRACING && h->payload) memcpy(&size, h->payload, sizeof size), w.size = size;
  if (w.size && h->kind == SDK_DISPATCHES) {
    struct sdk_dispatch d = {0};
    memcpy(&d, h->payload, size < sizeof d ? size : sizeof d);
    w.work = WORK_KERNEL, w.operation = (uint32_t)d.operation, w.correlation = d.internal, w.external = d.external, w.thread = d.thread;
    w.begin = d.start, w.end = d.end, w.device = d.info.agent, w.queue = d.info.queue, w.bytes = d.info.number, w.kernel = d.info.kernel;
  } else if (w.size && h->kind == SDK_COPIES) {
    struct sdk_copied c = {0};
    memcpy(&c, h->payload, size < sizeof c ? size : sizeof c);
    w.work = WORK_COPY, w.operation = (uint32_t)c.operation, w.correlation = c.internal, w.external = c.external, w.thread = c.thread;
    w.begin = c.start, w.end = c.end, w.device = c.to_agent, w.from = c.from_agent, w.bytes = c.bytes;
  }
  record_work(e, &w);
}

// drops counts from the creation of a buffer; the room keeps the count of each in what data points to.
static void records_recorded(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *data, uint64_t drops) {
  const uint64_t *before = data;
  if (drops > *before) all_drops += drops - *before;
  if (recording() && (count || drops > *before)) {
    struct event e = {0};
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += records[i] != NULL;
    record_buffer_begins(&e, n, all_drops);
    for (size_t i = 0; i < count; i++)
      if (records[i]) write_record(&e, records[i]);
    record_buffer_ends(&e);
  }
  sdk_take_records(context, buffer, records, count, data, drops);
}

static uint32_t create_buffer(uint64_t context, size_t size, size_t watermark, uint32_t policy, sdk_on_records f, void *data, uint64_t *buffer) {
  f = f == sdk_take_records ? records_recorded : record_sdk_samples(f);
  return real.create_buffer(context, size, watermark, policy, f, data, buffer);
}

static uint32_t flush_buffer(uint64_t buffer) {
  record_devices();
  return real.flush_buffer(buffer);
}

// ---- agents ----

static sdk_on_agents on_agents;

static void write_agent(const struct sdk_agent *a) {
  enum { LOCATION = 108, DOMAIN = 112 };
  uint32_t location, domain;
  memcpy(&location, (const char *)a + LOCATION, sizeof location);
  memcpy(&domain, (const char *)a + DOMAIN, sizeof domain);
  record_node(&(struct record_node){.number = a->node, .gpu = a->type == SDK_GPU, .domain = domain, .location = location, .agent = a->id,
                                    .uuid = a->size >= SDK_AGENT_SIZE + sizeof a->uuid ? a->uuid : 0, .simds = a->simds, .chip = a->name});
}

static int agents_recorded(uint32_t version, const struct sdk_agent **agents, size_t n, void *data) {
  for (size_t i = 0; i < n; i++) write_agent(agents[i]);
  return on_agents(version, agents, n, data);
}

static uint32_t query_agents(uint32_t version, sdk_on_agents f, size_t size, void *data) {
  on_agents = f;
  return real.query_available_agents(version, agents_recorded, size, data);
}

void record_sdk(struct sdk_table *table) {
  record_sdk_sampling(table);
  record_sdk_counting(table);
  real = *table;
  table->query_callback_tracing_kind_operation_name = query_name;
  table->configure_callback_tracing_service = configure_callbacks;
  table->configure_external_correlation_id_request_service = configure_requests;
  table->create_buffer = create_buffer;
  table->flush_buffer = flush_buffer;
  table->query_available_agents = query_agents;
}
