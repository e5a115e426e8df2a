// The library's callbacks on threads of the program: a launch costs a look-up by its number and the room's call. No lock, no
// allocation, no Go.
#include "record.h"
#include "sdk.h"

#include <string.h>

_Atomic int sdk_listening;
_Atomic uint64_t sdk_dispatched;

static const struct hip_call *calls[SDK_OPERATIONS]; // by the library's number; NULL: it is not reported
static const struct hip_call *const silence[SDK_OPERATIONS];
static _Atomic(const struct hip_call *const *) heard = silence; // calls, or silence: this saves launches a comparison

void sdk_hear(int on) { atomic_store(&heard, on ? calls : silence); }

// A call, other than a launch, that this thread is in and that is not recorded as work. HIP may carry it out with kernels of its own,
// as copies, fills and uploads of graphs.
static __thread struct { uint64_t correlation; int reported; } other __attribute__((tls_model("initial-exec")));

size_t sdk_find_calls(int32_t *operations, size_t room) {
  size_t found = 0;
  for (int32_t op = 0; op < SDK_OPERATIONS && found < room; op++) {
    const char *name = NULL;
    uint64_t length = 0;
    calls[op] = NULL;
    if (sdk.query_callback_tracing_kind_operation_name(SDK_ON_HIP, op, &name, &length) || !name) continue;
    for (unsigned i = 0; i < hip_call_count; i++)
      if (!hip_calls[i].sdk.absent && !strcmp(hip_calls[i].name, name)) calls[op] = &hip_calls[i], operations[found++] = op;
  }
  return found;
}

// ---- calls of HIP ----

// HIP reads the variables that hide GPUs when it starts. The first call, or the first code, is seen just after that.
void sdk_hip_seen(void) {
  static _Atomic int seen;
  if (atomic_load_explicit(&seen, memory_order_acquire)) return;
  hip_find();
  ranges_listen(); // torch loads libroctx64 before it uses HIP
  if (room_recorder) record_library(sdk_version(), sdk_path()); // now with the version of HIP
  sdk_number_gpus();
  atomic_store(&seen, 1);
}

// Calls other than launches, and calls whose end matters. Not inlined: a launch then saves no registers for them.
__attribute__((noinline)) static void enters(const struct hip_call *call, uint64_t internal, const void *payload) {
  int is_work = call->what == HIP_LAUNCH || call->what == HIP_LIST_LAUNCH || call->what == HIP_GRAPH_LAUNCH || call->what == HIP_COPY || call->what == HIP_FILL;
  struct hip_arguments a = hip_arguments(&call->sdk, payload);
  sdk_hip_seen();
  if (!is_work || (call->what != HIP_LAUNCH && !room_wants(call))) other.correlation = internal, other.reported = 0;
  room_enter(call, internal, &a);
}

__attribute__((noinline)) static void exits(const struct hip_call *call, uint64_t internal, const void *payload) {
  struct hip_arguments a = hip_arguments(&call->sdk, payload);
  if (other.correlation == internal) {
    if (other.reported && atomic_load(room_hp->exits_matter)) room_hp->launched(internal, room_call_number(call));
    other.correlation = 0;
  }
  room_exit(call, internal, &a, ((const struct sdk_hip_call *)payload)->result);
}

static inline __attribute__((always_inline)) void called(uint64_t internal, int32_t operation, uint32_t phase, const void *payload) {
  static const struct hip_arguments none;
  const struct hip_call *call = atomic_load_explicit(&heard, memory_order_relaxed)[(uint32_t)operation % SDK_OPERATIONS];
  if (!call) return;
  if (__builtin_expect(call->what != HIP_LAUNCH || atomic_load_explicit(room_hp->exits_matter, memory_order_relaxed), 0)) {
    phase == SDK_ENTER ? enters(call, internal, payload) : exits(call, internal, payload);
  } else if (phase == SDK_ENTER) { // of a launch's arguments only its function is asked for
    room_enter(call, internal, &(struct hip_arguments){.first = *(const void *const *)((const char *)payload + call->sdk.first)});
  } else {
    room_exit(call, internal, &none, 0);
  }
}

void sdk_on_hip_a(struct sdk_callback_a r, uint64_t *user, void *data) { called(r.internal, r.operation, r.phase, r.payload); }
void sdk_on_hip_b(struct sdk_callback_b r, uint64_t *user, void *data) { called(r.internal, r.operation, r.phase, r.payload); }

// ---- the id that a record will carry ----

// The id of a kernel that HIP starts in a call that no launch stands for: the first such kernel makes a launch of the call.
__attribute__((noinline)) static uint64_t id_of_other(void) {
  if (!atomic_load_explicit(&sdk_listening, memory_order_relaxed)) return SDK_UNHEARD;
  if (!other.reported++) room_hp->call(&(struct hp_call){.correlation = other.correlation, .several = 1});
  return other.correlation;
}

static inline int answer(uint64_t id, uint64_t *external) {
  if (!id && !atomic_load_explicit(&sdk_listening, memory_order_relaxed)) id = SDK_UNHEARD;
  *external = id;
  return !id; // 1: no id was set
}

// The library asks on the thread that writes the packet for the GPU. That is the launching thread, unless HIP was set to dispatch
// from threads of its own: then the record's internal id is all there is.
int sdk_on_dispatch_id(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data) {
  atomic_fetch_add_explicit(&sdk_dispatched, 1, memory_order_relaxed);
  return answer(__builtin_expect(other.correlation != 0, 0) ? id_of_other() : room_inside(), external);
}

int sdk_on_copy_id(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data) {
  return answer(room_inside(), external);
}

// ---- ranges ----

static void marked(int32_t operation, uint32_t phase, const struct sdk_marker_call *call) {
  if (phase != SDK_ENTER) return;
  if (operation == SDK_RANGE_PUSH && call && call->message) room_range_push(call->message);
  if (operation == SDK_RANGE_POP) room_range_pop();
}

void sdk_on_marker_a(struct sdk_callback_a r, uint64_t *user, void *data) { marked(r.operation, r.phase, r.payload); }
void sdk_on_marker_b(struct sdk_callback_b r, uint64_t *user, void *data) { marked(r.operation, r.phase, r.payload); }
