// The fake libroctx64: it reports marks and ranges to one listener, as version 4.1 does.
#include "stub.h"

#include <stdatomic.h>

enum { DOMAIN = 6, PUSH = 1, POP = 2 };
typedef int listener_fn(uint32_t domain, uint32_t operation, void *data);
static _Atomic(listener_fn *) listener;
static _Thread_local int depth;

static void report(uint32_t operation, const char *message) {
  struct { const char *message; uint64_t id; } data = {message, 0};
  listener_fn *f = atomic_load(&listener);
  if (f) f(DOMAIN, operation, &data);
}

STUB_EXPORT void roctxRegisterTracerCallback(listener_fn *f) { atomic_store(&listener, f); }
STUB_EXPORT int roctxRangePushA(const char *message) { return report(PUSH, message), depth++; }
STUB_EXPORT int roctxRangePop(void) { return report(POP, NULL), depth ? --depth : -1; }
