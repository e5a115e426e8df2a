// The legacy provider: callbacks of libroctracer64 for calls of HIP, and its records.
#define _GNU_SOURCE
#include "legacy.h"
#include "record.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct roctracer_table roctracer;

// ---- the library ----

// RTLD_GLOBAL is not needed: roctracer finds HIP among the loaded libraries.
const char *legacy_load(const char *path, int *missing_symbol) {
  struct roctracer_table t;
  *missing_symbol = 0;
  void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return dlerror();
#define F(name, required, arguments)                 \
  *(void **)&t.name = dlsym(lib, "roctracer_" #name); \
  if (required && !t.name) {                         \
    *missing_symbol = 1;                             \
    return "roctracer_" #name;                       \
  }
  ROCTRACER_FUNCTIONS(F)
#undef F
  roctracer = t;
  if (room_recorder) record_library((uint32_t)legacy_version(), loaded_library("libroctracer64.so")), record_legacy(&roctracer);
  return NULL;
}

int legacy_version(void) { return roctracer.version_major() * 100 + roctracer.version_minor(); }

// ---- calls ----

static void legacy_on_call(uint32_t domain, uint32_t op, const void *data, void *argument) {
  (void)domain, (void)op;
  const struct hip_call *call = argument;
  const struct roctracer_call *d = data;
  struct hip_arguments a = hip_arguments(&call->legacy, data);
  if (d->phase == ROCTRACER_ENTER) room_enter(call, d->correlation, &a);
  else room_exit(call, d->correlation, &a, -1);
}

enum { CALLS = 128 };
static struct { uint32_t op; uint8_t known, on; } ops[CALLS]; // by the position in hip_calls

// A HIP that is older or newer than the table lacks some functions.
static void find_ops(void) {
  for (unsigned i = 0; i < hip_call_count && i < CALLS; i++)
    ops[i].known = !hip_calls[i].legacy.absent && !roctracer.op_code(ROCTRACER_HIP_API, hip_calls[i].name, &ops[i].op, NULL);
}

static int knows_launches(void) {
  for (unsigned i = 0; i < hip_call_count && i < CALLS; i++)
    if (ops[i].known && hip_calls[i].what == HIP_LAUNCH) return 1;
  return 0;
}

static int switch_call(unsigned i, int on) {
  if (!ops[i].known || ops[i].on == on) return ROCTRACER_OK;
  int rc = on ? roctracer.enable_op_callback(ROCTRACER_HIP_API, ops[i].op, legacy_on_call, (void *)(uintptr_t)&hip_calls[i])
              : roctracer.disable_op_callback(ROCTRACER_HIP_API, ops[i].op);
  if (!rc) ops[i].on = (uint8_t)on;
  return rc;
}

// Has the library report the calls that the room wants, and no others: a call with a callback takes a quarter of a microsecond more.
static int switch_calls(const char **refused) {
  int first = ROCTRACER_OK;
  for (unsigned i = 0; i < hip_call_count && i < CALLS; i++) {
    int rc = switch_call(i, room_wants(&hip_calls[i]));
    if (rc && !first) first = rc, *refused = hip_calls[i].name;
  }
  return first;
}

// ---- whether HIP is heard ----

static void on_probe(uint32_t domain, uint32_t op, const void *data, void *heard) {
  (void)domain, (void)op, (void)data;
  *(int *)heard = 1;
}

int legacy_is_deaf(void) {
  static int heard;
  uint32_t op;
  int version;
  if (!hip_started() || !hip.RuntimeGetVersion || roctracer.op_code(ROCTRACER_HIP_API, "hipRuntimeGetVersion", &op, NULL)) return 0;
  if (roctracer.enable_op_callback(ROCTRACER_HIP_API, op, on_probe, &heard)) return 0;
  hip.RuntimeGetVersion(&version);
  roctracer.disable_op_callback(ROCTRACER_HIP_API, op);
  return !heard;
}

// ---- records ----

static uint32_t copy_name(uint32_t kind) {
  switch (kind) {
  case ROCTRACER_DTOH: case ROCTRACER_DTOH_RECT: return room_copy_name(ROOM_DTOH);
  case ROCTRACER_HTOD: case ROCTRACER_HTOD_RECT: return room_copy_name(ROOM_HTOD);
  case ROCTRACER_DTOD: case ROCTRACER_DTOD_RECT: return room_copy_name(ROOM_DTOD);
  }
  return room_copy_name(ROOM_COPY);
}

static void record(const struct roctracer_record *r) {
  struct hp_activity a = {.correlation = r->correlation, .start = r->begin, .end = r->end, .device = nodes_ordinal(r->device)};
  if (r->domain != ROCTRACER_HIP_OPS) {
    room_drop(1);
  } else if (r->op == ROCTRACER_DISPATCH) {
    a.kind = HP_KERNEL, a.name = room_kernel_name(r->name);
    room_record(a);
  } else if (r->op == ROCTRACER_COPY) {
    a.kind = r->kind == ROCTRACER_FILL ? HP_MEMSET : HP_MEMCPY;
    a.name = r->kind == ROCTRACER_FILL ? room_fill_name() : copy_name(r->kind), a.bytes = r->bytes;
    room_record(a);
  } else if (r->op != ROCTRACER_BARRIER) {
    room_drop(1);
  }
}

// On the library's thread. Names are valid until it returns.
void legacy_records(const char *begin, const char *end, void *unused) {
  (void)unused;
  size_t size = end > begin ? (size_t)(end - begin) : 0;
  for (size_t at = 0; at + sizeof(struct roctracer_record) <= size; at += sizeof(struct roctracer_record)) {
    struct roctracer_record r;
    memcpy(&r, begin + at, sizeof r);
    record(&r);
  }
  if (size % sizeof(struct roctracer_record)) room_drop(1);
  room_flush();
}

static int switch_operation(uint32_t operation, int *is_on, int on) {
  if (*is_on == on) return ROCTRACER_OK;
  int rc = on ? roctracer.enable_op_activity(ROCTRACER_HIP_OPS, operation) : roctracer.disable_op_activity(ROCTRACER_HIP_OPS, operation);
  if (!rc) *is_on = on;
  return rc;
}

static int switch_records(int kernels, int copies) {
  static int kernels_on, copies_on;
  int rc = switch_operation(ROCTRACER_DISPATCH, &kernels_on, kernels);
  return rc ? rc : switch_operation(ROCTRACER_COPY, &copies_on, copies);
}

// ---- set-up ----

// The library hands over a buffer when it is full, or flushed: 16,384 records.
enum { BUFFER = 1 << 20 };

int legacy_attach(const char **refused) {
  struct roctracer_properties p = {.buffer_size = BUFFER, .buffer = legacy_records};
  int rc;
  *refused = "set properties of HIP's calls";
  if ((rc = roctracer.set_properties(ROCTRACER_HIP_API, NULL))) return rc;
  *refused = "open a pool of records";
  if ((rc = roctracer.open_pool(&p))) return rc;
  find_ops();
  *refused = "find hipModuleLaunchKernel and hipLaunchKernel";
  rc = knows_launches() ? ROCTRACER_OK : ROCTRACER_UNIMPLEMENTED;
  room_start();
  if (!rc) rc = switch_calls(refused);
  if (rc) legacy_detach(1);
  return rc;
}

// Calls are reported before records are made, and as long as they are: a record without a call is a lost one.
int legacy_listen(int launches, int copies, int waits, const char **refused) {
  int rc, listened = room_listens();
  *refused = "stop records";
  if (!launches && (rc = switch_records(0, 0))) return rc;
  room_listen(launches, copies, waits);
  if ((rc = switch_calls(refused)) || !launches) return rc;
  *refused = "enable records";
  if (!listened) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); // the kernel of a launch that goes on all this time has no launch
  return switch_records(1, copies);
}

int legacy_watch(int ranges, int profilers, const char **refused) {
  room_watch(ranges, profilers);
  return switch_calls(refused);
}

void legacy_flush(void) {
  static int failing; // the records that it did not deliver are said once
  int rc = roctracer.flush_activity();
  room_flush();
  if (rc && !failing) room_drop(1);
  failing = rc != 0;
}

void legacy_detach(int close) {
  const char *refused;
  switch_records(0, 0);
  room_stop();
  switch_calls(&refused);
  roctracer.flush_activity();
  if (close) roctracer.close_pool();
  room_flush();
}
