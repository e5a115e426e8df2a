// Calls of HIP, on the threads of the program: a launch costs a few comparisons and one call of the hot path. No lock, no
// allocation, no Go, except while a stream is being captured.
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>

const struct hp_vendor_api *room_hp;
static _Atomic uint32_t wanted;     // a bit for each enum hip_what that is reported
static _Atomic uint32_t generation; // how often wanted has changed
static _Atomic uint32_t watched;    // those of wanted that room_watch asks for

// The call that a thread is in. A call whose exit was not reported, because listening ended meanwhile, is of an older generation.
static __thread struct {
  uint64_t correlation; // 0: none
  uint64_t since;       // of a wait, in ns of CLOCK_REALTIME
  uint64_t capture;     // of the stream whose capture ends, and whether it is captured
  enum hip_capture captured;
  uint32_t generation;
  int device;           // -1: to be asked for
} self __attribute__((tls_model("initial-exec")));
__thread int room_own_call __attribute__((tls_model("initial-exec")));

static __thread uint64_t marked __attribute__((tls_model("initial-exec"))); // the correlation of the last call of our own

// Rare cases are functions of their own: the code of a launch is then short, and saves no registers for them.
#define RARE __attribute__((noinline))

static uint64_t handle(const void *p) { return (uint64_t)(uintptr_t)p; }
static uint32_t bit(enum hip_what what) { return 1u << what; }
static int says(uint32_t set, enum hip_what what) { return (set >> what) & 1; }
static int exits_matter(void) { return __builtin_expect(atomic_load_explicit(room_hp->exits_matter, memory_order_relaxed) != 0, 0); }

uint64_t room_inside(void) { return self.correlation; }
int room_listens(void) { return says(atomic_load_explicit(&wanted, memory_order_relaxed), HIP_LAUNCH); }
int room_wants(const struct hip_call *call) { return says(atomic_load_explicit(&wanted, memory_order_relaxed), (enum hip_what)call->what); }

// ---- the device and the stream of a call ----

RARE static void ask_device(void) {
  int device = 0;
  room_own_call++;
  self.device = hip.GetDevice && !hip.GetDevice(&device) && device > 0 ? device : 0;
  room_own_call--;
}

// HIP has no contexts that a program must know of: a device stands for its own.
static void seen(void) {
  if (self.device < 0) ask_device();
  room_hp->context_seen((void *)(uintptr_t)(self.device + 1));
}

// A launch on several devices has a stream for each.
RARE static void list_seen(const struct hip_call *call, const struct hip_arguments *a) {
  uint32_t count = (uint32_t)handle(a->second); // an int: what lies behind it is another argument
  const char *element = a->first;
  for (uint32_t i = 0; element && hip.GetStreamDeviceId && i < count; i++, element += HIP_LIST_ELEMENT) {
    room_own_call++;
    int device = hip.GetStreamDeviceId(*(void *const *)(element + (call->host ? HIP_LIST_HOST_STREAM : HIP_LIST_MODULE_STREAM)));
    room_own_call--;
    if (device >= 0) room_hp->context_seen((void *)(uintptr_t)(device + 1));
  }
}

// Streams have numbers in the order of their first use while a timeline is recorded. The number of a destroyed stream goes to the
// next one at its address.
enum { STREAMS = 4096 };
static struct { _Atomic(const void *) handle; _Atomic uint32_t number; } streams[STREAMS];
static _Atomic uint32_t stream_numbers;

RARE static uint32_t stream_number(const void *stream) {
  if (handle(stream) <= 1) return 0; // NULL and hipStreamLegacy
  unsigned at = (unsigned)(handle(stream) * 0x9E3779B97F4A7C15u >> 52);
  for (unsigned i = 0; i < 16; i++) {
    const void *here = atomic_load_explicit(&streams[(at + i) % STREAMS].handle, memory_order_acquire);
    if (!here && atomic_compare_exchange_strong(&streams[(at + i) % STREAMS].handle, &here, stream)) {
      uint32_t number = atomic_fetch_add(&stream_numbers, 1) + 1;
      atomic_store_explicit(&streams[(at + i) % STREAMS].number, number, memory_order_release);
      return number;
    }
    if (here == stream) return atomic_load_explicit(&streams[(at + i) % STREAMS].number, memory_order_acquire);
  }
  return 0;
}

static const void *stream_of(const struct hip_call *call, const struct hip_arguments *a) {
  if (!call->in_config || !a->stream) return a->stream;
  return *(const void *const *)((const char *)a->stream + HIP_CONFIG_STREAM);
}

static const void *function_of(const struct hip_call *call, const struct hip_arguments *a) {
  return call->what == HIP_LIST_LAUNCH && a->first ? *(const void *const *)a->first : a->first;
}

// ---- calls begin ----

RARE static void launch_in_full(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a) {
  room_hp->call(&(struct hp_call){.correlation = correlation, .function = handle(function_of(call, a)), .stream = stream_number(stream_of(call, a)), .several = call->what == HIP_LIST_LAUNCH});
}

static void launch_enters(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a) {
  seen();
  if (exits_matter()) launch_in_full(call, correlation, a);
  else room_hp->launch(correlation, handle(a->first));
}

RARE static void other_enters(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a) {
  switch (call->what) {
  case HIP_LIST_LAUNCH:
    seen(), list_seen(call, a);
    launch_in_full(call, correlation, a);
    return;
  case HIP_GRAPH_LAUNCH:
    seen();
    room_hp->call(&(struct hp_call){.correlation = correlation, .function = graph_launched(a->first, correlation), .graph = 1,
                               .stream = exits_matter() ? stream_number(a->stream) : 0});
    return;
  case HIP_COPY: case HIP_FILL: // the runtime makes several commands of a large copy, or of a fill with odd ends
    seen();
    room_hp->call(&(struct hp_call){.correlation = correlation, .work = 1, .several = 1, .stream = exits_matter() ? stream_number(a->stream) : 0});
    return;
  case HIP_WAIT:
    seen();
    room_hp->work(correlation);
    self.since = room_hp->now();
    return;
  case HIP_END_CAPTURE: self.captured = hip_capture_of(a->stream, &self.capture); return;
  case HIP_PROFILER_START: room_hp->profiler_api(1); return;
  case HIP_PROFILER_STOP: room_hp->profiler_api(0); return;
  case HIP_GRAPH_DESTROY: graph_destroyed(a->first); return; // before another graph can have the handle
  case HIP_EXEC_DESTROY: graph_exec_destroyed(a->first); return;
  }
}

void room_enter(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a) {
  if (!room_wants(call)) return;
  if (room_own_call) {
    marked = correlation;
    return;
  }
  uint32_t current = atomic_load_explicit(&generation, memory_order_relaxed);
  if (__builtin_expect(self.generation != current, 0)) self.generation = current, self.device = -1;
  else if (self.correlation) return;
  self.correlation = correlation;
  if (__builtin_expect(call->what == HIP_LAUNCH, 1)) launch_enters(call, correlation, a);
  else other_enters(call, correlation, a);
}

// ---- calls end ----

// A launch that was captured is a node of the graph that the capture is made into.
RARE static void launch_captured(const struct hip_call *call, const struct hip_arguments *a) {
  const void *stream = stream_of(call, a), *function = function_of(call, a);
  uint64_t capture;
  if (hip_capture_of(stream, &capture) != HIP_CAPTURING) return;
  const char *name = NULL;
  room_own_call++; // HIP 5.2 crashes when it is asked for the name of NULL
  if (call->host && hip.KernelNameRefByPtr && function) name = hip.KernelNameRefByPtr(function, stream);
  if (!call->host && hip.KernelNameRef && function) name = hip.KernelNameRef(function);
  room_own_call--;
  graph_captured(capture, room_kernel_name(name));
}

RARE static void capture_begins(const struct hip_arguments *a, int result) {
  uint64_t capture;
  enum hip_capture state = hip_capture_of(a->stream, &capture);
  if (state == HIP_CAPTURING) graph_began(capture);
  if (state == HIP_CAPTURING || (state == HIP_CAPTURE_UNKNOWN && result <= 0)) room_hp->capture(+1);
}

RARE static void other_exits(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a, int result) {
  switch (call->what) {
  case HIP_BEGIN_CAPTURE: capture_begins(a, result); return;
  case HIP_END_CAPTURE:
    if (self.captured != HIP_NO_CAPTURE) room_hp->capture(-1);
    if (self.capture) graph_ended(self.capture, result <= 0 && a->second ? *(const void *const *)a->second : NULL);
    return;
  case HIP_INSTANTIATE:
    if (result <= 0 && a->first) graph_instantiated(a->second, *(const void *const *)a->first);
    return;
  case HIP_SET_DEVICE: self.device = -1; return;
  case HIP_WAIT: {
    uint64_t end = room_hp->now();
    room_hp->waited(correlation, room_wait_name(call), (uint16_t)self.device, self.since, end > self.since ? end - self.since : 0);
    break;
  }
  case HIP_LAUNCH: case HIP_LIST_LAUNCH:
    if (room_hp->capturing() && result <= 0) launch_captured(call, a);
    break;
  case HIP_GRAPH_DESTROY: case HIP_EXEC_DESTROY: case HIP_PROFILER_START: case HIP_PROFILER_STOP: return;
  }
  if (exits_matter()) room_hp->launched(correlation, room_call_number(call));
}

void room_exit(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a, int result) {
  if (self.correlation != correlation) return;
  self.correlation = 0;
  if (__builtin_expect(call->what != HIP_LAUNCH, 0) || exits_matter()) other_exits(call, correlation, a, result);
}

// ---- set-up ----

uint64_t room_mark(int used) {
  static int started; // looking whether HIP has takes a while
  int version;
  marked = 0;
  if (!started && !(started = hip_find() && (used || hip_started()))) return 0;
  room_own_call++;
  if (hip.RuntimeGetVersion) hip.RuntimeGetVersion(&version);
  room_own_call--;
  return marked;
}

static void forked(void) { atomic_store(&wanted, 0); }

void room_use_hotpath(const struct hp_vendor_api *api) {
  static int once;
  room_hp = api;
  if (!once++) pthread_atfork(NULL, NULL, forked);
}

static void want(uint32_t set) {
  if (atomic_exchange(&wanted, set) != set) atomic_fetch_add(&generation, 1);
}

// Calls that are always reported: of graphs, and that of room_mark.
#define ALWAYS (bit(HIP_MARK) | bit(HIP_BEGIN_CAPTURE) | bit(HIP_END_CAPTURE) | bit(HIP_INSTANTIATE) | bit(HIP_GRAPH_DESTROY) | bit(HIP_EXEC_DESTROY))

void room_start(void) { want(ALWAYS); }

void room_listen(int launches, int copies, int waits) {
  uint32_t set = ALWAYS | atomic_load(&watched);
  if (launches) set |= bit(HIP_LAUNCH) | bit(HIP_LIST_LAUNCH) | bit(HIP_GRAPH_LAUNCH) | bit(HIP_SET_DEVICE);
  if (copies) set |= bit(HIP_COPY) | bit(HIP_FILL);
  if (waits) set |= bit(HIP_WAIT);
  if (room_listens() != !!launches) graphs_interrupted();
  if (launches) ranges_listen();
  want(set);
}

void room_watch(int ranges, int profilers) {
  uint32_t set = profilers ? bit(HIP_PROFILER_START) | bit(HIP_PROFILER_STOP) : 0;
  ranges_watch(ranges);
  uint32_t before = atomic_exchange(&watched, set);
  want((atomic_load(&wanted) & ~before) | set);
}

void room_stop(void) {
  room_watch(0, 0);
  ranges_stop();
  want(0);
  while (room_hp->capturing()) room_hp->capture(-1); // their ends are not reported any more
  graphs_forget();
}
