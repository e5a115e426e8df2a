// Hardware counters, a part of sdk.c. Each counter has UNITS values, each of which is COUNTED times the length of the kernel's name and the length of
// the counter's. A GPU counts so many counters of a block at once, as AMD's documents say.

#ifdef STUB_LAYOUT_A
static void count_dispatch(struct context *c, const char *name, const struct stub_work *w, uint64_t number) { (void)c, (void)name, (void)w, (void)number; }
static void count_recorded(uint64_t call) { (void)call; }
static int count_devices(uint64_t context) { return (void)context, OK; }
#else
enum { UNITS = 2, COUNTED = 1000, UNIT_SHIFT = 48, COUNTERS_MOST = 64, CONFIGS = 4096, EXCEEDS = 38, NO_COUNTER = 8, NO_CONFIG = 30, NO_HSA = 22 };

static const char *const counter_names[] = {
    "GRBM_GUI_ACTIVE", "GRBM_COUNT", "SQ_BUSY_CU_CYCLES", "SQ_INSTS", "SQ_INSTS_LDS", "SQ_INSTS_VALU", "SQ_INSTS_VALU_ADD_F16", "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_ADD_F64", "SQ_INSTS_VALU_FMA_F16", "SQ_INSTS_VALU_FMA_F32", "SQ_INSTS_VALU_FMA_F64", "SQ_INSTS_VALU_MFMA_MOPS_BF16",
    "SQ_INSTS_VALU_MFMA_MOPS_F16", "SQ_INSTS_VALU_MFMA_MOPS_F32", "SQ_INSTS_VALU_MFMA_MOPS_F64", "SQ_INSTS_VALU_MFMA_MOPS_F8", "SQ_INSTS_VALU_MFMA_MOPS_I8",
    "SQ_INSTS_VALU_MUL_F16", "SQ_INSTS_VALU_MUL_F32", "SQ_INSTS_VALU_MUL_F64", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "SQ_VALU_MFMA_BUSY_CYCLES",
    "SQ_WAVE_CYCLES", "TCC_BUBBLE", "TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B", "TCC_EA0_WRREQ", "TCC_EA0_WRREQ_64B", "TCC_HIT", "TCC_MISS",
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ", "TCP_TCC_ATOMIC_WITH_RET_REQ", "TCP_TCC_READ_REQ", "TCP_TCC_WRITE_REQ", "TCP_TOTAL_CACHE_ACCESSES",
};
enum { COUNTERS = sizeof counter_names / sizeof *counter_names };

struct counter_info { uint64_t id; const char *name, *about, *block, *expression; uint64_t bits; };
struct counter_value { uint64_t instance; double value; uint64_t dispatch, data, agent; };
struct counted_dispatch {
  uint64_t size, internal, external, start, end;
  struct { uint64_t size, agent, queue, kernel, number; uint8_t rest[88]; } info;
};
typedef void enqueue_cb(struct counted_dispatch d, uint64_t *config, uint64_t *user, void *data);
typedef void values_cb(struct counted_dispatch d, struct counter_value *values, size_t n, uint64_t user, void *data);
typedef void device_cb(uint64_t context, uint64_t agent, int (*set)(uint64_t context, uint64_t config), void *data);

static struct config { uint64_t agent, ids[COUNTERS_MOST]; size_t count; } configs[CONFIGS];
static _Atomic int config_count;
static struct { enqueue_cb *enqueue; values_cb *values; void *enqueue_data, *values_data; } counts[CONTEXTS + 1];
static struct device { device_cb *cb; void *data; uint64_t context, agent, config, since; } counted_devices[64];
static int counted_device_count;

// ---- replays: a GPU has the counters that were recorded, and counts those at once that a launch has counted ----

static const struct stub_counts *recorded_launch(size_t n) {
  static const struct stub_counts *(*find)(size_t);
  void *hip = find ? NULL : dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (hip) *(void **)&find = dlsym(hip, "stub_counted");
  return find ? find(n) : NULL;
}

static const char *recorded_counters[COUNTERS_MOST];

static void list_recorded(void) {
  const struct stub_counts *launch;
  for (size_t n = 0; (launch = recorded_launch(n)); n++)
    for (size_t i = 0, at = 0; i < launch->count; i++) {
      for (at = 0; at < COUNTERS_MOST && recorded_counters[at] && strcmp(recorded_counters[at], launch->values[i].name);) at++;
      if (at < COUNTERS_MOST) recorded_counters[at] = launch->values[i].name;
    }
}

static int has_counted(const struct stub_counts *launch, const char *name) {
  for (size_t i = 0; i < launch->count; i++)
    if (!strcmp(launch->values[i].name, name)) return 1;
  return 0;
}

static const char *counter(uint64_t id) {
  if (!id || id > COUNTERS_MOST) return NULL;
  if (replaying()) return recorded_counters[id - 1];
  return id <= COUNTERS && !stub_named(stub_order("lacking"), counter_names[id - 1]) ? counter_names[id - 1] : NULL;
}

static int recorded_at_once(const uint64_t *ids, size_t n) {
  const struct stub_counts *launch;
  for (size_t at = 0; (launch = recorded_launch(at)); at++) {
    size_t has = 0;
    while (has < n && has_counted(launch, counter(ids[has]))) has++;
    if (has == n) return 1;
  }
  return 0;
}

API rocprofiler_iterate_agent_supported_counters(uint64_t agent, int (*cb)(uint64_t, uint64_t *, size_t, void *), void *data) {
  uint64_t list[COUNTERS_MOST];
  size_t n = 0;
  ENTRY(iterate_agent_supported_counters);
  if (!replaying() && agent <= 7000) return ERROR;
  for (uint64_t id = 1; id <= COUNTERS_MOST; id++)
    if (counter(id)) list[n++] = id;
  return cb(agent, list, n, data);
}

API rocprofiler_query_counter_info(uint64_t id, int info_version, void *out) {
  ENTRY(query_counter_info);
  if (info_version != 1) return ABI;
  if (!counter(id)) return NO_COUNTER;
  struct counter_info info = {.id = id, .name = counter(id), .about = "", .block = "", .expression = ""};
  return memcpy(out, &info, 48), OK;
}

API rocprofiler_query_record_counter_id(uint64_t instance, uint64_t *id) {
  ENTRY(query_record_counter_id);
  return *id = instance >> UNIT_SHIFT, OK;
}

static int same_block(const char *a, const char *b) { return !strncmp(a, b, strcspn(a, "_") + 1); }
static size_t at_once(const char *name) { return same_block("SQ_", name) ? 8 : same_block("GRBM_", name) ? 2 : 4; }

API rocprofiler_create_counter_config(uint64_t agent, uint64_t *ids, size_t n, uint64_t *config) {
  ENTRY(create_counter_config);
  for (size_t i = 0; i < n; i++) {
    size_t block = 0;
    if (!counter(ids[i])) return NO_COUNTER;
    for (size_t k = 0; k < n; k++) block += counter(ids[k]) && same_block(counter(ids[i]), counter(ids[k]));
    if (!replaying() && block > at_once(counter(ids[i]))) return EXCEEDS;
  }
  if (replaying() && !recorded_at_once(ids, n)) return EXCEEDS;
  int at = atomic_fetch_add(&config_count, 1);
  if (at >= CONFIGS || n > COUNTERS_MOST) return ERROR;
  configs[at] = (struct config){.agent = agent, .count = n};
  memcpy(configs[at].ids, ids, n * sizeof *ids);
  return *config = (uint64_t)at + 1, OK;
}

static struct config *config_at(uint64_t handle) { return handle && handle <= (uint64_t)atomic_load(&config_count) ? &configs[handle - 1] : NULL; }

API rocprofiler_configure_callback_dispatch_counting_service(uint64_t context, enqueue_cb *enqueue, void *enqueue_data, values_cb *values, void *values_data) {
  ENTRY(configure_callback_dispatch_counting_service);
  ONLY_INITIALISING;
  if (!context_at(context)) return NO_CONTEXT;
  if (replaying() && !recorded_launch(0)) return UNIMPLEMENTED; // as a library without counters answers: the recorded run has none
  if (replaying()) list_recorded();
  counts[context - 101].enqueue = enqueue, counts[context - 101].enqueue_data = enqueue_data;
  counts[context - 101].values = values, counts[context - 101].values_data = values_data;
  return OK;
}

struct counting { struct counted_dispatch d; uint64_t config, user, context; const char *kernel; const struct stub_counts *recorded; };

static void *enqueue(void *argument) {
  struct counting *k = argument;
  counts[k->context].enqueue(k->d, &k->config, &k->user, counts[k->context].enqueue_data);
  return NULL;
}

static uint64_t recorded_id(const char *name) {
  for (uint64_t id = 1; id <= COUNTERS_MOST && counter(id); id++)
    if (!strcmp(counter(id), name)) return id;
  return 0; // there is no room for it, and no session asks for it
}

static void *give_recorded(void *argument) {
  struct counting *k = argument;
  size_t n = k->recorded->count;
  struct counter_value *list = made((n + 1) * sizeof *list);
  for (size_t i = 0; i < n; i++)
    list[i] = (struct counter_value){.instance = recorded_id(k->recorded->values[i].name) << UNIT_SHIFT | i, .agent = k->recorded->agent,
                                     .value = k->recorded->values[i].value};
  counts[k->context].values(k->d, list, n, k->user, counts[k->context].values_data);
  free(list), free(k);
  return NULL;
}

static void *give_values(void *argument) {
  struct counting *k = argument;
  const struct config *c = config_at(k->config);
  struct counter_value list[COUNTERS_MOST * UNITS];
  size_t n = 0;
  for (size_t i = 0; i < c->count; i++)
    for (uint64_t unit = 0; unit < UNITS; unit++)
      list[n++] = (struct counter_value){.instance = c->ids[i] << UNIT_SHIFT | unit, .dispatch = k->d.info.number, .agent = c->agent,
                                         .value = (double)(COUNTED * strlen(k->kernel) + strlen(counter(c->ids[i])))};
  counts[k->context].values(k->d, list, n, k->user, counts[k->context].values_data);
  memset(list, 0xee, sizeof list);
  free(k);
  return NULL;
}

// A dispatch is asked about on the thread that writes its packet; its values come on another one.
static void count_dispatch(struct context *c, const char *name, const struct stub_work *w, uint64_t number) {
  static _Atomic uint64_t dispatches;
  pthread_t thread;
  struct counting *k = made(sizeof *k);
  k->context = (uint64_t)(c - contexts), k->kernel = name;
  if (!counts[k->context].enqueue) return free(k);
  k->d = (struct counted_dispatch){.size = sizeof k->d, .internal = number};
  k->d.info.size = 128, k->d.info.agent = agent_of(w->device), k->d.info.kernel = kernel(w->function, name)->id;
  k->d.info.number = atomic_fetch_add(&dispatches, 1) + 1;
  if (!stub_order("indirect")) enqueue(k);
  else if (pthread_create(&thread, NULL, enqueue, k) || pthread_join(thread, NULL)) abort();
  if (!k->config || stub_named(stub_order("uncounted"), name)) return free(k);
  if (!config_at(k->config) || config_at(k->config)->agent != k->d.info.agent) wrong("a dispatch is counted by another GPU's configuration");
  k->d.start = w->start, k->d.end = w->end;
  if (pthread_create(&thread, NULL, give_values, k)) abort();
  pthread_detach(thread);
}

// A launch that was counted is asked about where it was; its values come on another thread.
static void count_recorded(uint64_t call) {
  const struct stub_counts *launch = NULL;
  pthread_t thread;
  for (size_t n = 0; (launch = recorded_launch(n)) && launch->call != call;) n++;
  for (int i = 0; launch && i < context_count; i++) {
    if (!contexts[i].started || !counts[i].enqueue) continue;
    struct counting *k = made(sizeof *k);
    *k = (struct counting){.d = {.size = sizeof k->d, .internal = call, .end = launch->ns}, .context = (uint64_t)i, .recorded = launch};
    k->d.info.size = 128, k->d.info.agent = launch->agent, k->d.info.kernel = launch->kernel;
    enqueue(k);
    if (!k->config) free(k);
    else if (pthread_create(&thread, NULL, give_recorded, k)) abort();
    else pthread_detach(thread);
  }
}

// ---- whole GPUs ----

API rocprofiler_configure_device_counting_service(uint64_t context, uint64_t buffer, uint64_t agent, device_cb *cb, void *data) {
  ENTRY(configure_device_counting_service);
  ONLY_INITIALISING;
  if (!context_at(context)) return NO_CONTEXT;
  if (buffer && !buffer_at(buffer)) return NO_BUFFER;
  if (replaying() || counts[context - 101].enqueue) return UNIMPLEMENTED;
  counted_devices[counted_device_count++] = (struct device){.cb = cb, .data = data, .context = context, .agent = agent};
  return OK;
}

static struct device *starting;

static int set_config(uint64_t context, uint64_t config) {
  if (!starting || starting->context != context) return code(LOCKED);
  if (!config_at(config)) return NO_CONFIG;
  if (config_at(config)->agent != starting->agent) return ARGUMENT;
  return starting->config = config, starting->since = now(CLOCK_BOOTTIME), OK;
}

static int count_devices(uint64_t context) {
  for (starting = counted_devices; starting < counted_devices + counted_device_count; starting++) {
    if (starting->context != context) continue;
    if (!started_hip) return contexts[context - 101].started = 0, NO_HSA;
    starting->cb(context, starting->agent, set_config, starting->data);
  }
  return starting = NULL, OK;
}

// Each unit has counted since its context was started: so many for each ns as the counter's name is long.
API rocprofiler_sample_device_counting_service(uint64_t context, uint64_t user, int flags, struct counter_value *out, size_t *n) {
  size_t most = *n;
  ENTRY(sample_device_counting_service);
  if (!context_at(context) || !context_at(context)->started) return NO_CONTEXT;
  *n = 0;
  for (struct device *d = counted_devices; d < counted_devices + counted_device_count; d++) {
    const struct config *c = d->context == context ? config_at(d->config) : NULL;
    for (size_t i = 0; c && i < c->count; i++)
      for (uint64_t unit = 0; unit < UNITS; unit++, ++*n) {
        if (*n >= most) return 29;
        out[*n] = (struct counter_value){.instance = c->ids[i] << UNIT_SHIFT | unit, .data = user, .agent = d->agent,
                                         .value = (double)(now(CLOCK_BOOTTIME) - d->since) * (double)strlen(counter(c->ids[i]))};
      }
  }
  return (void)flags, OK;
}
#endif
