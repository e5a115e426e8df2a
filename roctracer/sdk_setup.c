// Registration: contexts, buffers and services exist only if they are made while the library initialises us. What a session asks
// for later is to start contexts.
#include "overtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { BUFFER = 8 << 20, WATERMARK = BUFFER / 8 * 7 }; // 45,000 dispatches

// A context with its buffer. Records are delivered at WATERMARK and at each flush.
struct service {
  uint64_t context, buffer;
  uint64_t drops; // so far, as the library counts them
  int started, failing; // failing: its last flush was refused
};
static struct service code, work, copies;

static struct { const char *what; uint32_t status; } failed; // the first call that was refused
static int with_markers, registered;
static struct sdk_sampling_wish sampling;
static struct sdk_counting_wish counting;
static _Atomic int configured, finalized, forked, attached;

int sdk_usable(void) { return atomic_load(&configured) && !atomic_load(&finalized) && !atomic_load(&forked) && atomic_load(&attached); }

// From 0.5 on there is one more status before 13.
static uint32_t status_of(uint32_t status) { return sdk_version() < SDK_0_5 && status >= SDK_CONTEXT_NOT_ZERO ? status + 1 : status; }

// Notes the first refusal, and whether this call was one.
static int refused(const char *what, uint32_t status) {
  if (status && !failed.status) failed.what = what, failed.status = status;
  return status != 0;
}
#define TRY(function, ...) \
  if (refused("rocprofiler_" #function, status_of(sdk.function(__VA_ARGS__)))) return 0

static int layout_b(void) { return sdk_version() >= SDK_LAYOUT_B; }
#define CALLBACK(function) (layout_b() ? (void (*)(void))function##_b : (void (*)(void))function##_a)

// ---- inside the library's initialisation ----

static int make(struct service *s, uint32_t kind, uint32_t request, sdk_on_request on_request, uint64_t thread) {
  TRY(create_context, &s->context);
  if (!kind) return 1;
  // Lossless: when both halves of a buffer are full, the thread of the library that completes kernels waits until one is copied.
  TRY(create_buffer, s->context, BUFFER, WATERMARK, SDK_LOSSLESS, sdk_take_records, &s->drops, &s->buffer);
  TRY(assign_callback_thread, s->buffer, thread);
  TRY(configure_buffer_tracing_service, s->context, kind, NULL, 0, s->buffer);
  TRY(configure_external_correlation_id_request_service, s->context, &request, 1, on_request, NULL);
  return 1;
}

static int set_up(void) {
  static int32_t operations[SDK_OPERATIONS];
  static const int32_t ranges[] = {SDK_RANGE_PUSH, SDK_RANGE_POP};
  uint64_t thread = 0;
  size_t n = sdk_find_calls(operations, SDK_OPERATIONS);
  if (!n) return refused("rocprofiler_query_callback_tracing_kind_operation_name", SDK_OPERATION_NOT_FOUND), 0;
  TRY(create_callback_thread, &thread);
  // Kernels keep their names only if a context was on when their code was loaded: this one always is.
  if (!make(&code, 0, 0, NULL, 0)) return 0;
  TRY(configure_callback_tracing_service, code.context, SDK_ON_CODE, NULL, 0, CALLBACK(sdk_on_code), NULL);
  // A dispatch gets the id of the call that it belongs to only if its context has both.
  if (!make(&work, SDK_DISPATCHES, SDK_ID_OF_DISPATCH, sdk_on_dispatch_id, thread)) return 0;
  TRY(configure_callback_tracing_service, work.context, SDK_ON_HIP, operations, n, CALLBACK(sdk_on_hip), NULL);
  if (with_markers) // a library without them has all else
    sdk.configure_callback_tracing_service(work.context, SDK_ON_MARKER, ranges, sizeof ranges / sizeof *ranges, CALLBACK(sdk_on_marker), NULL);
  if (!make(&copies, SDK_COPIES, SDK_ID_OF_COPY, sdk_on_copy_id, thread)) return 0;
  return 1;
}

static int start(struct service *s) {
  if (s->started) return 1;
  TRY(start_context, s->context);
  return s->started = 1;
}

static int initialize(void (*finalize_now)(void), void *data) {
  if (!set_up() || !start(&code)) return -1;
  refused("rocprofiler_query_available_agents", status_of(sdk_find_gpus()));
  if (sampling.wanted) sdk_sampling_set_up(&sampling);
  if (counting.launches) sdk_counting_set_up();
  if (counting.devices) sdk_devices_set_up();
  atomic_store(&configured, 1);
  return 0;
}

// The library holds a lock that its functions take, so this calls none of them.
static void finalize(void *data) { atomic_store(&finalized, 1); }

static struct sdk_configuration *configure(uint32_t version, const char *runtime, uint32_t priority, void *client) {
  static struct sdk_configuration ours = {sizeof ours, initialize, finalize, NULL};
  if (version != sdk_version()) return NULL; // the layouts are chosen by it
  if (layout_b()) ((struct sdk_client_b *)client)->name = "goproton";
  else ((struct sdk_client_a *)client)->name = "goproton";
  return &ours;
}

// ---- from Go ----

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

// force_configure sets this variable to 1 for librocprofiler-register, and other programs inherit it: one in which that finds no
// librocprofiler-sdk dies of SIGABRT. The first dispatch shows that the libraries below HIP have handed out their functions too; from
// then on it is not needed. The value is written in place, because other threads may read the environment.
static char *force_load;

static void spare_other_programs(void) {
  if (force_load && *force_load == '1') *force_load = '0';
}

static void child(void) {
  atomic_store(&forked, 1);
  spare_other_programs();
}

// Before 1.3.2 the library takes no tool once HIP has started; if it was loaded after that, it does, and reports no dispatches.
static uint32_t join(void) {
  int state = 0;
  if (sdk_version() < SDK_ANY_TIME && (hip_started() || (!sdk.is_initialized(&state) && state))) return SDK_LOCKED;
  const char *const name = "ROCPROFILER_REGISTER_FORCE_LOAD";
  int wanted = getenv(name) != NULL;
  uint32_t status = status_of(sdk.force_configure(configure));
  if (!wanted) force_load = getenv(name);
  return status;
}

uint32_t sdk_register(int markers, struct sdk_sampling_wish wish, struct sdk_counting_wish counts, const char **what) {
  if (!registered) {
    failed.what = NULL, failed.status = SDK_OK;
    with_markers = markers, sampling = wish, counting = counts;
    sdk_keep_images(wish.wanted);
    if (!refused("rocprofiler_force_configure", join())) {
      registered = 1;
      pthread_atfork(NULL, NULL, child);
    }
    if (!failed.status && !atomic_load(&configured)) failed.what = "rocprofiler_force_configure", failed.status = SDK_ERROR;
  }
  sdk_hear(!failed.status);
  atomic_store(&attached, !failed.status);
  *what = failed.what;
  return failed.status;
}

int sdk_registered(void) { return registered; }

uint32_t sdk_listen(int launches, int copying, int waits, const char **what) {
  *what = "rocprofiler_start_context";
  failed.what = NULL, failed.status = SDK_OK;
  if (!sdk_usable()) return SDK_FINALIZED;
  if (launches && start(&work) && copying) start(&copies);
  room_listen(launches && work.started, copying && copies.started, waits && work.started);
  if (launches && !atomic_load(&sdk_listening)) nap(); // the kernel of a launch that goes on all this time has no launch
  atomic_store(&sdk_listening, launches && work.started);
  if (launches && work.started) sdk_sampling_start();
  sdk_counting_run(launches && work.started);
  return failed.status;
}

uint32_t sdk_watch(int ranges, int profilers, const char **what) {
  *what = "rocprofiler_start_context";
  failed.what = NULL, failed.status = SDK_OK;
  if (!sdk_usable()) return SDK_FINALIZED;
  if (ranges || profilers) start(&work);
  room_watch(ranges && work.started, profilers && work.started);
  return failed.status;
}

void sdk_leave(void) {
  atomic_store(&sdk_listening, 0);
  sdk_hear(0);
  atomic_store(&attached, 0);
}

// Naps of 1 ms without a record; of a library that has failed to deliver some before, as in the replay of a recording that was cut off.
enum { PATIENCE = 1000, LITTLE_PATIENCE = 100 };

// A buffer that is being handed over already answers that it is busy.
static void flush(struct service *s) {
  if (!s->started) return;
  uint32_t status = SDK_BUFFER_BUSY;
  for (int i = 0; i < PATIENCE && (status = status_of(sdk.flush_buffer(s->buffer))) == SDK_BUFFER_BUSY; i++) nap();
  if (status && status != SDK_BUFFER_BUSY && !s->failing) room_drop(1); // what it did not deliver is said once
  s->failing = status != SDK_OK;
}

// The GPU has finished a kernel some time before the library has its record: a single flush misses the last ones.
enum sdk_complete sdk_flush(int all) {
  static uint64_t missing; // dispatches whose records never came
  if (!sdk_usable()) return SDK_NOT_YET;
  uint64_t until = atomic_load(&sdk_dispatched), seen = 0;
  enum sdk_complete complete = all ? SDK_TO_THE_END : SDK_NOT_YET;
  if (until) spare_other_programs();
  int patience = missing ? LITTLE_PATIENCE : PATIENCE;
  for (int quiet = 0; quiet < patience; quiet++) {
    flush(&work), flush(&copies);
    uint64_t arrived = atomic_load(&sdk_arrived);
    if (arrived + missing >= until && !complete) complete = SDK_SO_FAR;
    if (!all || arrived + missing >= until) break;
    if (arrived != seen) quiet = 0, seen = arrived;
    if (quiet == patience - 1) missing = until - arrived;
    nap();
  }
  sdk_sampling_flush(complete != SDK_NOT_YET);
  sdk_finish_records(all);
  return complete;
}
