// The fake driver: start-up, devices, contexts, modules, launches.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

STUB_EXPORT const char goproton_fake_driver = 1; // recordings say that they were made with it

static void no_call(uint32_t domain, uint32_t cbid, const void *data) { (void)domain, (void)cbid, (void)data; }
static void no_kernel(const struct stub_kernel *k) { (void)k; }
static void no_work(const struct stub_work *work) { (void)work; }
static int no_graph(const struct stub_kernel *k) { return (void)k, 0; }
static const struct stub_tracer untraced = {no_call, no_kernel, no_work, no_graph};
const struct stub_tracer *tracer = &untraced;

void stub_cuda_trace(const struct stub_tracer *t) { tracer = t ? t : &untraced; }

// ---- the capture, if any ----

static struct capture loaded;
static const struct capture *capture;

static void load_capture(void) {
  const char *path = getenv("PROTON_STUB_CAPTURE");
  if (!path || !*path) return;
  const char *wrong = capture_read(&loaded, path);
  if (wrong) fprintf(stderr, "stub: read capture %s: %s\n", path, wrong);
  else capture = &loaded;
}

const struct capture *stub_cuda_capture(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_capture);
  return capture;
}

// ---- live objects ----

struct object { struct object *next; uint64_t id; max_align_t body[]; };
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects; // guarded by objects_lock

void *object_new(size_t size, uint64_t id) {
  struct object *o = calloc(1, sizeof *o + size);
  if (!o) abort();
  o->id = id;
  pthread_mutex_lock(&objects_lock);
  o->next = objects;
  objects = o;
  pthread_mutex_unlock(&objects_lock);
  return o->body;
}

void object_free(void *body) {
  pthread_mutex_lock(&objects_lock);
  for (struct object **at = &objects; *at; at = &(*at)->next)
    if ((*at)->body == body) {
      struct object *o = *at;
      *at = o->next;
      free(o);
      break;
    }
  pthread_mutex_unlock(&objects_lock);
}

uint64_t stub_cuda_object_id(const void *handle) {
  uint64_t id = 0;
  pthread_mutex_lock(&objects_lock);
  for (struct object *o = objects; o; o = o->next)
    if (o->body == handle) id = o->id;
  pthread_mutex_unlock(&objects_lock);
  return id;
}

uint32_t next_id(void) {
  static _Atomic uint32_t ids;
  return atomic_fetch_add(&ids, 1) + 1;
}

// ---- start-up and devices ----

static void inject(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*initialize)(void);
  if (!library) return;
  *(void **)&initialize = dlsym(library, "InitializeInjection");
  if (initialize) initialize();
}

static atomic_int initialized;

STUB_EXPORT uint32_t cuInit(uint32_t flags) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)flags;
  uint32_t result = stub_result("cuInit");
  if (result) return result;
  atomic_store(&initialized, 1);
  pthread_once(&once, inject);
  return CU_OK;
}

static const struct cap_event *find_event(enum capture_event type, int n) {
  const struct capture *c = stub_cuda_capture();
  for (size_t i = 0; c && i < c->count; i++)
    if (c->events[i].type == type && n-- == 0) return &c->events[i];
  return NULL;
}

STUB_EXPORT uint32_t cuDriverGetVersion(int *version) {
  const struct cap_event *info = find_event(EV_INFO, 0);
  int recorded = 13000;
  if (info) {
    struct cap_cursor c = cap_open(info);
    cap_number(&c);
    recorded = (int)cap_number(&c);
  }
  *version = (int)stub_number("PROTON_STUB_DRIVER", (uint64_t)recorded);
  return CU_OK;
}

STUB_EXPORT uint32_t cuDeviceGetCount(int *count) {
  int recorded = 0;
  if (!atomic_load(&initialized) && !stub_cuda_capture()) return CU_NOT_INITIALIZED;
  while (recorded < 64 && find_event(EV_DEVICE, recorded)) recorded++;
  *count = (int)stub_number("PROTON_STUB_DEVICES", recorded ? (uint64_t)recorded : 1);
  return CU_OK;
}

STUB_EXPORT uint32_t cuDeviceGet(int *device, int ordinal) {
  int count;
  uint32_t result = cuDeviceGetCount(&count);
  if (result) return result;
  *device = ordinal;
  return ordinal >= 0 && ordinal < count ? CU_OK : CU_INVALID_DEVICE;
}

struct device { const char *name; uint64_t major, minor, sms, clock, memory_clock, bus_width; };

static struct device device_of(int ordinal) {
  const struct cap_event *e = find_event(EV_DEVICE, ordinal);
  if (!e && stub_cuda_capture()) return (struct device){0}; // the capture does not say
  if (!e) return (struct device){"stub GPU", 9, 0, 132, 1980000, 3201000, 6144};
  struct cap_cursor c = cap_open(e);
  struct device d = {0};
  cap_number(&c);
  d.name = cap_string(stub_cuda_capture(), &c);
  uint64_t *figures[] = {&d.major, &d.minor, &d.sms, &d.clock, &d.memory_clock, &d.bus_width};
  for (int i = 0; i < 6; i++) *figures[i] = cap_number(&c);
  return d;
}

STUB_EXPORT uint32_t cuDeviceGetName(char *name, int length, int device) {
  const char *text = device_of(device).name;
  snprintf(name, (size_t)length, "%s", text ? text : "");
  return CU_OK;
}

STUB_EXPORT uint32_t cuDeviceGetAttribute(int *value, uint32_t attribute, int device) {
  struct device d = device_of(device);
  switch (attribute) {
  case DEV_CC_MAJOR: *value = (int)d.major; break;
  case DEV_CC_MINOR: *value = (int)d.minor; break;
  case DEV_MULTIPROCESSORS: *value = (int)d.sms; break;
  case DEV_CLOCK_RATE: *value = (int)d.clock; break;
  case DEV_MEMORY_CLOCK_RATE: *value = (int)d.memory_clock; break;
  case DEV_BUS_WIDTH: *value = (int)d.bus_width; break;
  default: return CU_INVALID_VALUE;
  }
  return CU_OK;
}

STUB_EXPORT uint32_t cuGetErrorString(uint32_t error, const char **text) {
  switch (error) {
  case CU_OK: *text = "no error"; return CU_OK;
  case CU_NOT_INITIALIZED: *text = "initialization error"; return CU_OK;
  case CU_NO_DEVICE: *text = "no CUDA-capable device is detected"; return CU_OK;
  }
  *text = "unknown error";
  return CU_OK;
}

// ---- contexts ----

static _Thread_local void *stack[16];
static _Thread_local int depth; // of the stack; its top is current

struct context *current_context(void) { return depth ? stack[depth - 1] : NULL; }

STUB_EXPORT uint32_t cuCtxPushCurrent_v2(void *context) {
  if (depth == 16) return CU_INVALID_CONTEXT;
  stack[depth++] = context;
  return CU_OK;
}

STUB_EXPORT uint32_t cuCtxPopCurrent_v2(void **context) {
  if (!depth) return CU_INVALID_CONTEXT;
  void *top = stack[--depth];
  if (context) *context = top;
  return CU_OK;
}

void stub_cuda_set_current(void *context) {
  if (!depth) depth = 1;
  stack[depth - 1] = context;
}

STUB_EXPORT uint32_t cuCtxSetCurrent(void *context) { return stub_cuda_set_current(context), CU_OK; }

// wait_while waits as long as the file that the variable names exists.
static void wait_while(const char *variable) {
  const char *file = getenv(variable);
  while (file && !access(file, F_OK)) usleep(1000);
}

STUB_EXPORT uint32_t cuCtxSynchronize(void) {
  wait_while("PROTON_STUB_BUSY");
  wait_while("PROTON_STUB_HUNG");
  usleep((useconds_t)(stub_number("PROTON_STUB_LATE", 0) * 1000));
  return stub_result("cuCtxSynchronize");
}

static uint32_t call_without_arguments(uint32_t cbid, const char *name) {
  struct call c;
  call_enter(&c, cbid, name, NULL, NULL);
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuProfilerStart(void) { return call_without_arguments(CBID_cuProfilerStart, "cuProfilerStart"); }
STUB_EXPORT uint32_t cuProfilerStop(void) { return call_without_arguments(CBID_cuProfilerStop, "cuProfilerStop"); }
STUB_EXPORT uint32_t cuCtxGetCurrent(void **context) {
  *context = current_context();
  return stub_cuda_capture() ? CU_OK : call_without_arguments(CBID_cuCtxGetCurrent, "cuCtxGetCurrent"); // a replay's contexts are numbers
}

STUB_EXPORT uint32_t cuCtxGetDevice(int *device) {
  *device = 0;
  if (!depth) return CU_INVALID_CONTEXT;
  if (stub_cuda_object_id(current_context())) *device = (int)current_context()->device;
  return CU_OK;
}

STUB_EXPORT uint32_t cuCtxCreate_v2(void **context, uint32_t flags, int device) {
  (void)flags;
  uint32_t id = next_id();
  struct context *c = object_new(sizeof *c, id);
  *c = (struct context){id, (uint32_t)device};
  *context = c;
  stub_cuda_set_current(c);
  resource(RES_CONTEXT_CREATED, NULL);
  return CU_OK;
}

STUB_EXPORT uint32_t cuCtxDestroy_v2(void *context) {
  void *before = current_context();
  stub_cuda_set_current(context);
  resource(RES_CONTEXT_DESTROY_STARTING, NULL);
  stub_cuda_set_current(before == context ? NULL : before);
  object_free(context);
  return CU_OK;
}

// ---- calls ----

static _Atomic uint32_t in_progress;
static __thread int returning; // from a call: its EXIT is being reported
// The calls that are in progress, but for one of this thread's that returns.
uint32_t stub_cuda_calls(void) { return atomic_load(&in_progress) - (returning ? 1 : 0); }

uint32_t stub_cuda_correlation(void) {
  static _Atomic uint32_t drawn;
  return atomic_fetch_add(&drawn, 1) + 1;
}

// A symbol is valid in launches of kernels alone; newer libraries leave in other calls what was there.
void call_enter(struct call *c, uint32_t cbid, const char *name, const void *params, const char *symbol) {
  static const char *const undefined = (const char *)sizeof(void *);
  atomic_fetch_add(&in_progress, 1);
  struct context *context = current_context();
  *c = (struct call){.cbid = cbid};
  c->data = (struct cupti_callback_data){
      .site = SITE_ENTER, .function_name = name, .params = params, .return_value = &c->result, .symbol_name = symbol ? symbol : undefined,
      .context = context, .context_uid = context ? context->id : 0, .correlation_data = &c->cell,
      .correlation_id = stub_cuda_correlation()};
  tracer->call(DOMAIN_DRIVER, cbid, &c->data);
}

uint32_t call_exit(struct call *c, uint32_t result) {
  c->result = result;
  c->data.site = SITE_EXIT;
  returning = 1;
  tracer->call(DOMAIN_DRIVER, c->cbid, &c->data);
  returning = 0;
  atomic_fetch_sub(&in_progress, 1);
  return result;
}

void resource(uint32_t cbid, void *descriptor) {
  struct cupti_resource_data d = {current_context(), NULL, descriptor};
  tracer->call(DOMAIN_RESOURCE, cbid, &d);
}

// ---- modules ----

// The bytes of an ELF file, 0 for other images. Its section headers come last, except that program headers may follow.
size_t stub_cuda_elf_size(const void *image) {
  const uint8_t *p = image;
  uint64_t segments, sections;
  uint16_t counts[4]; // size and number of program headers, then of section headers
  if (!image || strncmp(image, "\177ELF", 4)) return 0;
  memcpy(&segments, p + 32, 8), memcpy(&sections, p + 40, 8), memcpy(counts, p + 54, 8);
  segments += (uint64_t)counts[0] * counts[1], sections += (uint64_t)counts[2] * counts[3];
  return sections > segments ? sections : segments;
}

STUB_EXPORT uint32_t cuModuleLoadData(void **module, const void *image) {
  uint32_t id = next_id();
  struct cuda_params_module_load_data p = {module, image};
  struct call c;
  call_enter(&c, CBID_cuModuleLoadData, "cuModuleLoadData", &p, NULL);
  struct module *m = object_new(sizeof *m, id);
  m->id = id;
  *module = m;
  size_t size = stub_cuda_elf_size(image);
  void *copy = size ? malloc(size) : NULL;
  if (copy) m->image = memcpy(copy, image, size);
  resource(RES_MODULE_LOADED, &(struct cupti_module_data){.module_id = id, .cubin = image, .cubin_size = size});
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuModuleUnload(void *module) {
  struct cuda_params_module_unload p = {module};
  struct module *m = module;
  struct call c;
  call_enter(&c, CBID_cuModuleUnload, "cuModuleUnload", &p, NULL);
  resource(RES_MODULE_UNLOAD_STARTING, &(struct cupti_module_data){.module_id = m->id});
  while (m->functions) {
    struct function *f = m->functions;
    m->functions = f->next;
    object_free(f);
  }
  object_free(m);
  return call_exit(&c, CU_OK);
}

// Names are never freed, and each is kept once: records in buffers may point at them after their module was unloaded.
static const char *keep_name(const char *name) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct kept { struct kept *next; char text[]; } *kept; // guarded by lock
  pthread_mutex_lock(&lock);
  struct kept *k = kept;
  while (k && strcmp(k->text, name)) k = k->next;
  if (!k) {
    k = malloc(sizeof *k + strlen(name) + 1);
    if (!k) abort();
    strcpy(k->text, name);
    k->next = kept;
    kept = k;
  }
  pthread_mutex_unlock(&lock);
  return k->text;
}

STUB_EXPORT uint32_t cuModuleGetFunction(void **function, void *module, const char *name) {
  struct module *m = module;
  struct function *f = object_new(sizeof *f, 0);
  f->name = keep_name(name), f->image = m->image;
  f->next = m->functions;
  m->functions = f;
  *function = f;
  return CU_OK;
}

// ---- launches ----

STUB_EXPORT uint32_t cuStreamDestroy_v2(void *stream) { return object_free(stream), CU_OK; }

STUB_EXPORT uint32_t cuStreamCreate(void **stream, uint32_t flags) {
  (void)flags;
  struct stream *s = object_new(sizeof *s, 0);
  s->id = 7 + next_id();
  s->context = current_context();
  *stream = s;
  return CU_OK;
}

uint32_t stream_id(const struct stream *s) { return s ? s->id : 7; } // CUPTI's id of the default stream is 7

uint64_t stub_cuda_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The GPU runs one kernel after the other: each starts when the one before it ends.
// With PROTON_STUB_NUMBERS launches have numbers, as those of the real driver, and kernels begin when they are launched. Without it the
// fake GPU has a time of its own, so that durations and gaps are the same in each run.
static int numbers(void) {
  static _Atomic int known; // 1: no, 2: yes
  if (!atomic_load(&known)) atomic_store(&known, getenv("PROTON_STUB_NUMBERS") ? 2 : 1);
  return atomic_load(&known) == 2;
}

static uint64_t next_start(uint64_t duration) {
  static _Atomic uint64_t free_at;
  if (!atomic_load(&free_at)) {
    uint64_t zero = 0;
    atomic_compare_exchange_strong(&free_at, &zero, stub_cuda_now());
  }
  if (!numbers()) return atomic_fetch_add(&free_at, duration);
  uint64_t free = atomic_load(&free_at), start;
  do start = free > stub_cuda_now() ? free : stub_cuda_now();
  while (!atomic_compare_exchange_weak(&free_at, &free, start + duration));
  return start;
}

static uint64_t kernel_duration(void) {
  static _Atomic uint64_t duration;
  if (!atomic_load(&duration)) atomic_store(&duration, stub_number("PROTON_STUB_KERNEL_NS", 1000));
  return atomic_load(&duration);
}

static uint64_t next_number(void) {
  static _Atomic uint64_t launched;
  uint64_t number = atomic_fetch_add(&launched, 1) + 1;
  return numbers() ? number : 0;
}

void run_kernel(const struct function *f, uint32_t correlation, uint32_t stream, uint32_t graph, const struct node *node) {
  struct context *context = current_context();
  uint64_t duration = kernel_duration(), start = next_start(duration);
  struct stub_kernel k = {.name = f->name, .start = start, .end = start + duration, .graph_node = node->id,
                          .correlation = correlation, .stream = stream, .graph = graph, .number = graph ? 0 : next_number(),
                          .context = context ? context->id : 0, .device = context ? context->device : 0, .image = f->image};
  if (node->reads.count) store_tensor(&node->reads, start);
  tracer->kernel(&k);
}

// ---- copies, fills and waits: each takes the time of a kernel ----

static uint32_t work(uint32_t cbid, const char *name, uint32_t kind, uint32_t detail, uint64_t bytes, void *stream) {
  void *params[4] = {stream};
  struct context *context = current_context();
  struct call c;
  call_enter(&c, cbid, name, params, NULL);
  uint64_t duration = kernel_duration(), start = next_start(duration);
  struct stub_work w = {.kind = kind, .detail = detail, .start = start, .end = start + duration, .bytes = bytes,
                        .correlation = c.data.correlation_id, .context = context ? context->id : 0, .stream = stream_id(stream)};
  tracer->work(&w);
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  (void)to, (void)from;
  return work(CBID_cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2", ACT_MEMCPY, COPY_HTOD, bytes, stream);
}

STUB_EXPORT uint32_t cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  if (stub_cuda_memory(from, bytes)) memcpy(to, (const void *)(uintptr_t)from, bytes);
  return work(CBID_cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2", ACT_MEMCPY, COPY_DTOH, bytes, stream);
}

STUB_EXPORT uint32_t cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  if (stub_cuda_memory(to, bytes)) memset((void *)(uintptr_t)to, value, bytes);
  return work(CBID_cuMemsetD8Async, "cuMemsetD8Async", ACT_MEMSET, 0, bytes, stream);
}

STUB_EXPORT uint32_t cuStreamSynchronize(void *stream) {
  return work(CBID_cuStreamSynchronize, "cuStreamSynchronize", ACT_SYNCHRONIZATION, SYNC_STREAM, 0, stream);
}

// As seen on an H100 (CUPTI 13.0): a launch that is sampled takes a lock of the driver's and then CUPTI's of sampling, and
// PCSamplingStart and Stop the other way round. Two threads that do both at once wait for ever.
static pthread_rwlock_t driver_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t sampling_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int sampled; // a context was, and may be
static _Atomic uint32_t waiting; // launches in the driver while the GPU's queue is full

STUB_EXPORT void stub_cuda_sampled(void) { atomic_store(&sampled, 1); }

STUB_EXPORT void stub_cuda_sampling_switches(int begins) {
  if (begins && atomic_load(&waiting)) {
    fprintf(stderr, "stub: sampling is switched while %u launches wait for the GPU\n", atomic_load(&waiting));
    abort();
  }
  if (begins) pthread_mutex_lock(&sampling_lock), usleep(200), pthread_rwlock_wrlock(&driver_lock);
  else pthread_rwlock_unlock(&driver_lock), pthread_mutex_unlock(&sampling_lock);
}

static void launch_is_sampled(void) {
  if (!atomic_load(&sampled)) return;
  pthread_rwlock_rdlock(&driver_lock);
  pthread_mutex_lock(&sampling_lock);
  pthread_mutex_unlock(&sampling_lock);
  pthread_rwlock_unlock(&driver_lock);
}

static uint32_t launch(struct call *c, struct function *f, struct stream *s, void **parameters) {
  atomic_fetch_add(&waiting, 1);
  wait_while("PROTON_STUB_FULL");
  atomic_fetch_sub(&waiting, 1);
  launch_is_sampled();
  if (s && s->capture) capture_kernel(s->capture, f, parameters);
  else run_kernel(f, c->data.correlation_id, stream_id(s), 0, &(struct node){.reads = tensor_arguments(f, parameters)});
  return call_exit(c, CU_OK);
}

STUB_EXPORT uint32_t cuLaunchKernel(void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                                    uint32_t shared, void *stream, void **params, void **extra) {
  struct cuda_params_launch_kernel p = {f, {gx, gy, gz}, {bx, by, bz}, shared, 0, stream, params, extra};
  struct call c;
  call_enter(&c, CBID_cuLaunchKernel, "cuLaunchKernel", &p, ((struct function *)f)->name);
  return launch(&c, f, stream, params);
}

STUB_EXPORT uint32_t cuLaunchKernelEx(const struct cuda_launch_config *config, void *f, void **params, void **extra) {
  struct cuda_params_launch_kernel_ex p = {config, f, params, extra};
  struct call c;
  call_enter(&c, CBID_cuLaunchKernelEx, "cuLaunchKernelEx", &p, ((struct function *)f)->name);
  return launch(&c, f, config->stream, params);
}
