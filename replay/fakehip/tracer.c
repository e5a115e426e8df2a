// How HIP reports to a real libroctracer64: hipRegisterTracerCallback, in the order of HIP's own sources. It asks the function with NULL
// whether a call or an operation is wanted, passes hip_api_data_t with the room behind it in which roctracer keeps what to call at the
// start and the end, and reports what ran with the id that roctracer has drawn.
#define _GNU_SOURCE
#include "prof.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct traced {
  char data[PROF_CALL]; // hip_api_data_t of HIP 6; roctracer's members follow
  uint64_t entered, phase_data;
  void (*enter)(uint32_t op, struct traced *), (*exit)(uint32_t op, struct traced *);
};

typedef int tracer_fn(uint32_t domain, uint32_t op, void *data);
static _Atomic(tracer_fn *) tracer;
static pid_t owner; // a forked child has no GPU

static __thread struct traced current; // calls of the fake HIP do not nest
static __thread int wanted;

static uint64_t on_enter(const struct stub_call *call) {
  tracer_fn *f = atomic_load(&tracer);
  const struct prof_known *k = prof_named(call->name);
  wanted = 0;
  if (!f || !k || f(PROF_HIP_API, k->op, NULL)) return 0;
  memset(&current, 0, sizeof current);
  prof_call(current.data, k, call);
  if (f(PROF_HIP_API, k->op, &current)) return 0;
  wanted = 1;
  if (current.enter) current.enter(k->op, &current);
  uint64_t id;
  memcpy(&id, current.data, sizeof id);
  return id;
}

static void on_exit_of(const struct stub_call *call, uint64_t id) {
  (void)id;
  if (wanted && current.exit) current.exit(prof_named(call->name)->op, &current);
  wanted = 0;
}

static void on_work(const struct stub_work *work, uint64_t id) {
  tracer_fn *f = atomic_load(&tracer);
  uint32_t op = prof_operation(work);
  char record[PROF_RECORD];
  if (!f || getpid() != owner || f(PROF_HIP_OPS, op, NULL)) return;
  prof_record(record, work, work->name, id);
  f(PROF_HIP_OPS, op, record);
}

STUB_EXPORT void hipRegisterTracerCallback(tracer_fn *function) {
  static const struct stub_listener listener = {.enter = on_enter, .exit = on_exit_of, .work = on_work};
  owner = getpid();
  atomic_store(&tracer, function);
  stub_listen(&listener);
}
