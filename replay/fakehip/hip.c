// The fake libamdhip64: devices, modules, streams, launches, copies, captures and graphs. Work is done when the call returns; a
// kernel takes a microsecond. Functions that a profiler does not look at are not reported.
#define _GNU_SOURCE
#include "register.h"
#include "replay.h"
#include "stub.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_HANDLE = 400, CAPTURE_UNMATCHED = 901 };
enum { NANOS = 1000, WORDS = 12, LISTENERS = 4 };

// ---- listeners ----

static const struct stub_listener *listeners[LISTENERS];
static atomic_int listener_count, started;

STUB_EXPORT const char goproton_fake_driver = 1; // recordings say that they were made with it

STUB_EXPORT int stub_listen(const struct stub_listener *listener) {
  int n = atomic_load(&listener_count);
  for (int i = 0; i < n; i++)
    if (listeners[i] == listener) return atomic_load(&started);
  if (n == LISTENERS) abort();
  listeners[n] = listener;
  atomic_store(&listener_count, n + 1);
  return atomic_load(&started);
}

#define TELL(what, ...)                                            \
  for (int i_ = 0, n_ = atomic_load(&listener_count); i_ < n_; i_++) \
    if (listeners[i_]->what) listeners[i_]->what(__VA_ARGS__)

static void start(void) {
  const char *root = getenv("PROTON_ROOT");
  char driver[4096];
  snprintf(driver, sizeof driver, "%s/dev/kfd", root ? root : "");
  open(driver, O_RDWR | O_CLOEXEC); // as the real one has it open from here on
  hand_out(stub_listen);
  atomic_store(&started, 1);
  TELL(initialised);
}

static void hip_starts(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
}

void replay_start_hip(void) { hip_starts(); }
void replay_tell(const struct stub_said *said) { TELL(said, said); }

// ---- calls ----

struct call { struct stub_call said; uint64_t numbers[LISTENERS]; int listeners; };

static void begin(struct call *c, const char *name, int count, const uint64_t *arguments) {
  hip_starts();
  memset(c, 0, sizeof *c);
  c->said.name = name, c->said.count = count;
  for (int i = 0; i < count && i < WORDS; i++) c->said.arguments[i] = arguments[i];
  c->listeners = atomic_load(&listener_count);
  for (int i = 0; i < c->listeners; i++)
    if (listeners[i]->enter && !replay_capture()) c->numbers[i] = listeners[i]->enter(&c->said);
}

static int end(struct call *c, int result) {
  c->said.result = result;
  for (int i = c->listeners; i-- > 0;)
    if (listeners[i]->exit && !replay_capture()) listeners[i]->exit(&c->said, c->numbers[i]);
  return result;
}

static void report(const struct call *c, const struct stub_work *work) {
  for (int i = 0; i < c->listeners; i++)
    if (listeners[i]->work) listeners[i]->work(work, c->numbers[i]);
}

// With the order "held" in PROTON_STUB_SCRIPT a device does its work when the program waits for it.
static struct held { struct held *next; struct call call; struct stub_work work; } *held;
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

static void ran(const struct call *c, const struct stub_work *work) {
  struct held *h = stub_order("held") ? malloc(sizeof *h) : NULL;
  if (!h) {
    report(c, work);
    return;
  }
  pthread_mutex_lock(&holding);
  *h = (struct held){held, *c, *work}, held = h;
  pthread_mutex_unlock(&holding);
}

static void release(int device) {
  pthread_mutex_lock(&holding);
  for (struct held **at = &held; *at;) {
    struct held *h = *at;
    if (h->work.device != device) { at = &h->next; continue; }
    *at = h->next;
    report(&h->call, &h->work);
    free(h);
  }
  pthread_mutex_unlock(&holding);
}

#define W(x) (uint64_t)(uintptr_t)(x)
#define BEGIN(...)                                                                   \
  struct call call;                                                                  \
  begin(&call, __func__, (int)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), (uint64_t[]){__VA_ARGS__}); \
  int result = stub_result(__func__);                                                \
  if (result) return end(&call, result)
#define END(r) return end(&call, r)

static uint64_t boot_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- devices ----

STUB_EXPORT int hipRuntimeGetVersion(int *version) {
  BEGIN(W(version));
  *version = 60342133;
  END(OK);
}

static __thread int current;
static int devices(void) { return replay_capture() ? replay_devices() : (int)stub_number("PROTON_STUB_DEVICES", 1); }

STUB_EXPORT int hipInit(unsigned flags) {
  (void)flags;
  hip_starts();
  return devices() ? stub_result("hipInit") : NO_DEVICE;
}
STUB_EXPORT int hipGetDeviceCount(int *count) { return hip_starts(), *count = devices(), *count ? OK : NO_DEVICE; }
STUB_EXPORT int hipDriverGetVersion(int *version) { return *version = 60342133, OK; }
STUB_EXPORT int hipGetDevice(int *device) { return hip_starts(), *device = current, devices() ? stub_result("hipGetDevice") : NO_DEVICE; }

STUB_EXPORT int hipSetDevice(int device) {
  BEGIN(W(device));
  if (device < 0 || device >= devices()) END(INVALID_DEVICE);
  current = device;
  END(OK);
}

void replay_set_device(int device) { current = device; }

static void put(char *properties, int at, int value) { memcpy(properties + at, &value, sizeof value); }

// A device as it was recorded, otherwise an MI300X; device i is on bus 0xc0 + i. 0: there is none of that number.
static int describe(int device, struct replay_device *out) {
  static __thread char place[16];
  if (device < 0 || device >= devices()) return 0;
  if (replay_capture() && replay_device(device, out)) return 1;
  snprintf(place, sizeof place, "0000:%02x:00.0", (0xc0 + device) & 0xff);
  *out = (struct replay_device){"AMD Instinct MI300X", "gfx942:sramecc+:xnack-", place, 304, 2100000, 1300000, 8192, 192ull << 30, 64};
  return 1;
}

// Members of hipDeviceProp_tR0600 by their offsets in HIP 6.
STUB_EXPORT int hipGetDevicePropertiesR0600(void *properties, int device) {
  char *p = properties;
  struct replay_device d;
  if (!describe(device, &d)) return INVALID_DEVICE;
  memset(p, 0, 1472);
  snprintf(p + 0, 256, "%s", d.name);
  memset(p + 256, 0x40 + device, 16);
  memcpy(p + 288, &d.memory, sizeof d.memory);
  put(p, 308, (int)d.warp), put(p, 348, (int)d.clock), put(p, 388, (int)d.units), put(p, 608, (int)d.memory_clock), put(p, 612, (int)d.bus);
  snprintf(p + 1160, 256, "%s", d.arch);
  return stub_result("hipGetDevicePropertiesR0600");
}

STUB_EXPORT int hipDeviceGetName(char *name, int length, int device) {
  struct replay_device d;
  return describe(device, &d) ? (snprintf(name, (size_t)length, "%s", d.name), OK) : INVALID_DEVICE;
}

STUB_EXPORT int hipDeviceGetPCIBusId(char *text, int length, int device) {
  struct replay_device d;
  return describe(device, &d) ? (snprintf(text, (size_t)length, "%s", d.place), OK) : INVALID_DEVICE;
}

STUB_EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device) {
  struct replay_device d;
  if (!describe(device, &d)) return INVALID_DEVICE;
  switch (attribute) {
  case 5: *value = (int)d.clock; return OK;
  case 59: *value = (int)d.bus; return OK;
  case 60: *value = (int)d.memory_clock; return OK;
  case 63: *value = (int)d.units; return OK;
  case 87: *value = (int)d.warp; return OK;
  }
  return INVALID_VALUE;
}

// ---- modules and functions ----

struct function { struct function *next; uint64_t module; char name[]; };
struct host { struct host *next; const void *function; char name[]; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static struct function *functions;
static struct host *hosts;
static uint64_t numbers = 1000; // of modules, streams and captures

static void *made(size_t size) {
  void *p = calloc(1, size);
  if (!p) abort();
  return p;
}

static size_t image_size(const void *image) {
  const unsigned char *b = image;
  uint64_t sections;
  uint16_t each, count;
  if (!b || memcmp(b, "\177ELF", 4)) return b ? strlen((const char *)b) : 0;
  memcpy(&sections, b + 40, 8), memcpy(&each, b + 58, 2), memcpy(&count, b + 60, 2);
  return sections + (size_t)each * count;
}

STUB_EXPORT int hipModuleLoadData(void **module, const void *image) {
  BEGIN(W(module), W(image));
  pthread_mutex_lock(&lock);
  uint64_t number = ++numbers * 16;
  pthread_mutex_unlock(&lock);
  *module = (void *)(uintptr_t)number;
  TELL(code_loaded, image, image_size(image), number);
  END(OK);
}

STUB_EXPORT int hipModuleUnload(void *module) {
  BEGIN(W(module));
  pthread_mutex_lock(&lock);
  for (struct function **at = &functions; *at;) {
    struct function *f = *at;
    if (f->module != W(module)) { at = &f->next; continue; }
    *at = f->next;
    memset(f->name, '?', strlen(f->name)); // a profiler that kept the name instead of copying it shows this
    free(f);
  }
  pthread_mutex_unlock(&lock);
  TELL(code_unloaded, W(module));
  END(OK);
}

STUB_EXPORT int hipModuleGetFunction(void **function, void *module, const char *name) {
  hip_starts();
  pthread_mutex_lock(&lock);
  struct function *f = functions;
  while (f && (f->module != W(module) || strcmp(f->name, name))) f = f->next;
  int known = f != NULL;
  if (!known) {
    f = made(sizeof *f + strlen(name) + 1);
    f->module = W(module), f->next = functions, functions = f;
    strcpy(f->name, name);
  }
  pthread_mutex_unlock(&lock);
  if (!known) { TELL(kernel_loaded, f->module, W(f), f->name); }
  *function = f;
  return stub_result("hipModuleGetFunction");
}

STUB_EXPORT void stub_register_host_function(const void *function, const char *name) {
  struct host *h = made(sizeof *h + strlen(name) + 1);
  h->function = function;
  strcpy(h->name, name);
  pthread_mutex_lock(&lock);
  h->next = hosts, hosts = h;
  pthread_mutex_unlock(&lock);
}

STUB_EXPORT const char *hipKernelNameRef(const void *function) {
  if (replay_capture()) return replay_kernel_name(function);
  return function ? ((const struct function *)function)->name : NULL;
}

STUB_EXPORT const char *hipKernelNameRefByPtr(const void *function, void *stream) {
  (void)stream;
  if (replay_capture()) return replay_kernel_name(function);
  pthread_mutex_lock(&lock);
  struct host *h = hosts;
  while (h && h->function != function) h = h->next;
  pthread_mutex_unlock(&lock);
  return h ? h->name : NULL;
}

// ---- streams, captures, graphs ----

// A captured command, by value: the function may be unloaded before the graph is launched.
struct node { struct stub_work work; char name[256]; };
struct graph { struct node *nodes; int count, capacity; };
struct capture { uint64_t number; struct graph *graph; int streams; };
struct stream { int device; uint64_t queue, busy; struct capture *capture; }; // busy: until when its last work takes
struct event { struct stream *of; };
static struct stream null_stream;

static struct stream *stream_at(void *stream) { return (uintptr_t)stream > 2 ? stream : &null_stream; }

STUB_EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags) {
  (void)flags;
  struct stream *s = made(sizeof *s);
  pthread_mutex_lock(&lock);
  *s = (struct stream){.device = current, .queue = ++numbers % 4}; // streams share queues
  pthread_mutex_unlock(&lock);
  *stream = s;
  return stub_result("hipStreamCreateWithFlags");
}
STUB_EXPORT int hipStreamCreate(void **stream) { return hipStreamCreateWithFlags(stream, 0); }
STUB_EXPORT int hipStreamDestroy(void *stream) { return free(stream), OK; }
STUB_EXPORT int hipGetStreamDeviceId(void *stream) { return stream ? stream_at(stream)->device : current; }
STUB_EXPORT int hipEventCreate(void **event) { return *event = made(sizeof(struct event)), OK; }
STUB_EXPORT int hipEventRecord(void *event, void *stream) { return ((struct event *)event)->of = stream_at(stream), OK; }

// A stream that waits for an event of a captured stream is part of the capture from then on.
STUB_EXPORT int hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)flags;
  struct stream *of = ((struct event *)event)->of;
  if (of && of->capture && !stream_at(stream)->capture) stream_at(stream)->capture = of->capture, of->capture->streams++;
  return OK;
}

static uint64_t gpu_busy; // until when its last work takes

STUB_EXPORT int hipDeviceSynchronize(void) {
  BEGIN(0);
  pthread_mutex_lock(&lock);
  uint64_t until = gpu_busy;
  pthread_mutex_unlock(&lock);
  for (uint64_t now = boot_time(); now < until; now = boot_time()) nanosleep(&(struct timespec){.tv_nsec = (long)((until - now) % 1000000000)}, NULL);
  release(current);
  END(devices() ? OK : NO_DEVICE);
}
STUB_EXPORT int hipProfilerStart(void) {
  BEGIN(0);
  END(OK);
}
STUB_EXPORT int hipProfilerStop(void) {
  BEGIN(0);
  END(OK);
}
STUB_EXPORT int hipStreamSynchronize(void *stream) {
  BEGIN(W(stream));
  END(OK);
}
STUB_EXPORT int hipEventSynchronize(void *event) {
  BEGIN(W(event));
  END(OK);
}

STUB_EXPORT int hipStreamBeginCapture(void *stream, int mode) {
  BEGIN(W(stream), W(mode));
  if (!stream || stream_at(stream)->capture) END(INVALID_VALUE);
  struct capture *c = made(sizeof *c);
  pthread_mutex_lock(&lock);
  c->number = ++numbers, c->graph = made(sizeof *c->graph), c->streams = 1;
  pthread_mutex_unlock(&lock);
  stream_at(stream)->capture = c;
  END(OK);
}

STUB_EXPORT int hipStreamEndCapture(void *stream, void **graph) {
  BEGIN(W(stream), W(graph));
  struct capture *c = stream_at(stream)->capture;
  if (!c) {
    *graph = NULL;
    END(CAPTURE_UNMATCHED);
  }
  *graph = c->graph; // the capture itself stays: other streams may still point to it
  c->number = 0;
  stream_at(stream)->capture = NULL;
  END(OK);
}

static struct capture *capture_of(void *stream) {
  struct stream *s = stream_at(stream);
  if (s->capture && !s->capture->number) s->capture = NULL; // its first stream has ended it
  return s->capture;
}

STUB_EXPORT int hipStreamGetCaptureInfo(void *stream, int *status, unsigned long long *number) {
  if (replay_capture()) return replay_stream(stream, status, number);
  struct capture *c = capture_of(stream);
  *status = c != NULL;
  if (c && number) *number = c->number;
  return stub_result("hipStreamGetCaptureInfo");
}
STUB_EXPORT int hipStreamIsCapturing(void *stream, int *status) {
  if (replay_capture()) return replay_stream(stream, status, NULL);
  return *status = capture_of(stream) != NULL, stub_result("hipStreamIsCapturing");
}

static void add_node(struct graph *g, const struct stub_work *work) {
  pthread_mutex_lock(&lock);
  if (g->count == g->capacity) {
    g->capacity = g->capacity ? 2 * g->capacity : 16;
    g->nodes = realloc(g->nodes, (size_t)g->capacity * sizeof *g->nodes);
    if (!g->nodes) abort();
  }
  struct node *n = &g->nodes[g->count++];
  n->work = *work;
  snprintf(n->name, sizeof n->name, "%s", work->name ? work->name : "");
  pthread_mutex_unlock(&lock);
}

STUB_EXPORT int hipGraphInstantiate(void **exec, void *graph, void **error_node, char *log, size_t size) {
  BEGIN(W(exec), W(graph), W(error_node), W(log), W(size));
  struct graph *from = graph, *g = made(sizeof *g);
  for (int i = 0; i < from->count; i++) {
    from->nodes[i].work.name = from->nodes[i].name;
    add_node(g, &from->nodes[i].work);
  }
  *exec = g;
  END(OK);
}

static void free_graph(struct graph *g) {
  free(g->nodes);
  free(g);
}
STUB_EXPORT int hipGraphDestroy(void *graph) {
  BEGIN(W(graph));
  free_graph(graph);
  END(OK);
}
STUB_EXPORT int hipGraphExecDestroy(void *exec) {
  BEGIN(W(exec));
  free_graph(exec);
  END(OK);
}

// The work of a stream runs one after the other.
static void take_turn(struct stream *s, struct stub_work *work, uint64_t nanoseconds) {
  uint64_t now = boot_time();
  pthread_mutex_lock(&lock);
  work->start = s->busy > now ? s->busy : now;
  work->end = s->busy = work->start + nanoseconds;
  if (s->busy > gpu_busy) gpu_busy = s->busy;
  pthread_mutex_unlock(&lock);
}

static __thread uint64_t next_takes;
STUB_EXPORT void stub_next_takes(uint64_t nanoseconds) { next_takes = nanoseconds; }

static uint64_t duration(void) {
  uint64_t wanted = next_takes ? next_takes : NANOS;
  return next_takes = 0, wanted;
}

STUB_EXPORT int hipGraphLaunch(void *exec, void *stream) {
  BEGIN(W(exec), W(stream));
  struct graph *g = exec;
  for (int i = 0; i < g->count; i++) {
    struct stub_work work = g->nodes[i].work;
    work.name = g->nodes[i].name, work.in_graph = 1;
    take_turn(stream_at(stream), &work, work.end);
    work.device = stream_at(stream) == &null_stream ? current : stream_at(stream)->device;
    ran(&call, &work);
  }
  END(OK);
}

// ---- work ----

static void do_work(const struct call *c, void *stream, struct stub_work work) {
  struct capture *capture = capture_of(stream);
  struct stream *s = stream_at(stream);
  work.device = s == &null_stream ? current : s->device;
  work.queue = s->queue;
  if (capture) {
    work.end = duration();
    add_node(capture->graph, &work);
    return;
  }
  take_turn(s, &work, duration());
  ran(c, &work);
}

static struct stub_work kernel(void *function) { return (struct stub_work){.kind = STUB_KERNEL, .name = hipKernelNameRef(function), .function = W(function)}; }

STUB_EXPORT int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                                      void **arguments, void **extra) {
  BEGIN(W(f), gx, gy, gz, bx, by, bz, shared, W(stream), W(arguments), W(extra));
  if (!f) END(INVALID_HANDLE);
  do_work(&call, stream, kernel(f));
  END(OK);
}

static struct stub_work host_kernel(const void *function, void *stream) {
  return (struct stub_work){.kind = STUB_KERNEL, .name = hipKernelNameRefByPtr(function, stream), .function = W(function)};
}

struct dim3 { uint32_t x, y, z; };

STUB_EXPORT int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, void *stream) {
  BEGIN(W(function), grid.x, grid.y, grid.z, block.x, block.y, block.z, W(arguments), shared, W(stream));
  const char *name = hipKernelNameRefByPtr(function, stream);
  if (!name) END(98); // hipErrorInvalidDeviceFunction
  do_work(&call, stream, (struct stub_work){.kind = STUB_KERNEL, .name = name, .function = W(function)});
  END(OK);
}

struct launch { const void *function; struct dim3 grid, block; void **arguments; size_t shared; void *stream; }; // hipLaunchParams

STUB_EXPORT int hipExtLaunchMultiKernelMultiDevice(struct launch *list, int count, unsigned flags) {
  BEGIN(W(list), count, flags);
  for (int i = 0; i < count; i++)
    do_work(&call, list[i].stream, host_kernel(list[i].function, list[i].stream));
  END(OK);
}

// The other launches differ from these by their names, and by arguments that follow the ones here.
#define HOST_LAUNCH(name, shared_type)                                                                                                   \
  STUB_EXPORT int name(const void *function, struct dim3 grid, struct dim3 block, void **arguments, shared_type shared, void *stream) { \
    BEGIN(W(function), grid.x, grid.y, grid.z, block.x, block.y, block.z, W(arguments), shared, W(stream));                              \
    do_work(&call, stream, host_kernel(function, stream));                                                                               \
    END(OK);                                                                                                                             \
  }
HOST_LAUNCH(hipExtLaunchKernel, size_t)
HOST_LAUNCH(hipLaunchCooperativeKernel, unsigned)
HOST_LAUNCH(hipLaunchKernel_spt, size_t)

#define MODULE_LAUNCH(name, shared_type)                                                                                                          \
  STUB_EXPORT int name(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, shared_type shared, void *stream) { \
    BEGIN(W(f), gx, gy, gz, bx, by, bz, shared, W(stream));                                                                                       \
    do_work(&call, stream, kernel(f));                                                                                                            \
    END(OK);                                                                                                                                      \
  }
MODULE_LAUNCH(hipExtModuleLaunchKernel, size_t)
MODULE_LAUNCH(hipHccModuleLaunchKernel, size_t)
MODULE_LAUNCH(hipModuleLaunchCooperativeKernel, unsigned)

STUB_EXPORT int hipLaunchByPtr(const void *function) { // on the stream of hipConfigureCall: here the NULL stream
  BEGIN(W(function));
  do_work(&call, NULL, host_kernel(function, NULL));
  END(OK);
}

struct config { struct dim3 grid, block; size_t shared; void *stream, *attributes; unsigned count; }; // hipLaunchConfig_t
STUB_EXPORT int hipLaunchKernelExC(const struct config *config, const void *function, void **arguments) {
  (void)arguments;
  BEGIN(W(config), W(function));
  do_work(&call, config->stream, host_kernel(function, config->stream));
  END(OK);
}
STUB_EXPORT int hipDrvLaunchKernelEx(const struct config *config, void *f, void **arguments, void **extra) {
  (void)arguments, (void)extra;
  BEGIN(W(config), W(f));
  do_work(&call, config->stream, kernel(f));
  END(OK);
}

STUB_EXPORT int hipLaunchCooperativeKernelMultiDevice(struct launch *list, int count, unsigned flags) {
  BEGIN(W(list), count, flags);
  for (int i = 0; i < count; i++)
    do_work(&call, list[i].stream, host_kernel(list[i].function, list[i].stream));
  END(OK);
}

struct module_launch { void *function; uint32_t sizes[7]; void *stream, **arguments; }; // hipFunctionLaunchParams
STUB_EXPORT int hipModuleLaunchCooperativeKernelMultiDevice(struct module_launch *list, unsigned count, unsigned flags) {
  BEGIN(W(list), count, flags);
  for (unsigned i = 0; i < count; i++) do_work(&call, list[i].stream, kernel(list[i].function));
  END(OK);
}

// It waits for the device, and ends what the program has made there.
STUB_EXPORT int hipDeviceReset(void) {
  hip_starts();
  return hipDeviceSynchronize();
}

STUB_EXPORT int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  BEGIN(W(to), W(from), bytes, W(kind), W(stream));
  size_t parts = stub_number("PROTON_STUB_COPY_PARTS", 1); // a large copy is several commands
  for (size_t i = 0; i < parts; i++) do_work(&call, stream, (struct stub_work){.kind = STUB_COPY, .bytes = bytes / parts, .copy_kind = kind});
  END(OK);
}
STUB_EXPORT int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream) {
  BEGIN(W(to), W(from), bytes, W(stream));
  do_work(&call, stream, (struct stub_work){.kind = STUB_COPY, .bytes = bytes, .copy_kind = 1});
  END(OK);
}
STUB_EXPORT int hipMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  BEGIN(W(to), W(value), bytes, W(stream));
  do_work(&call, stream, (struct stub_work){.kind = STUB_FILL, .bytes = bytes});
  END(OK);
}

STUB_EXPORT const char *hipGetErrorName(int error) { return error == OK ? "hipSuccess" : error == NO_DEVICE ? "hipErrorNoDevice" : "hipErrorUnknown"; }
