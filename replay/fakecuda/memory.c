// The fake driver's memory and events. Memory of the GPU is memory of the host, so that a test can write what a kernel would have
// left. Copies and fills of it happen at once.
#include "cuda_api.h"
#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// ---- memory ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block { struct block *next; uint64_t bytes; max_align_t memory[]; } *blocks; // guarded by lock
static _Atomic uint64_t allocated;

static uint64_t address(const struct block *b) { return (uint64_t)(uintptr_t)b->memory; }

// A block of the GPU's memory begins at a multiple of 256, as with the real driver; the list has it at its own.
STUB_EXPORT uint32_t cuMemGetInfo_v2(size_t *unused, size_t *all) {
  *all = (size_t)80 << 30;
  *unused = *all - stub_number("PROTON_STUB_ALLOCATED", 0);
  return stub_result("cuMemGetInfo_v2");
}

STUB_EXPORT uint32_t cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  uint32_t result = stub_result("cuMemAlloc_v2");
  if (result) return result;
  struct block *b = malloc(sizeof *b + bytes);
  if (!b) return 2;
  memset(b->memory, 0xa5, bytes);
  b->bytes = bytes;
  pthread_mutex_lock(&lock);
  b->next = blocks;
  blocks = b;
  pthread_mutex_unlock(&lock);
  atomic_fetch_add(&allocated, bytes);
  *memory = address(b);
  return CU_OK;
}

STUB_EXPORT uint32_t cuMemFree_v2(uint64_t memory) {
  uint32_t result = 1;
  pthread_mutex_lock(&lock);
  for (struct block **at = &blocks; *at; at = &(*at)->next)
    if (address(*at) == memory) {
      struct block *b = *at;
      *at = b->next;
      atomic_fetch_sub(&allocated, b->bytes);
      free(b);
      result = CU_OK;
      break;
    }
  pthread_mutex_unlock(&lock);
  return result;
}

// How many bytes are allocated, for tests.
STUB_EXPORT uint64_t stub_cuda_allocated(void) { return atomic_load(&allocated); }

int stub_cuda_memory(uint64_t memory, uint64_t bytes) {
  int ours = 0;
  pthread_mutex_lock(&lock);
  for (struct block *b = blocks; b && !ours; b = b->next) ours = memory >= address(b) && memory + bytes <= address(b) + b->bytes;
  pthread_mutex_unlock(&lock);
  return ours;
}

STUB_EXPORT uint32_t cuMemFreeHost(void *memory) { return free(memory), CU_OK; }

STUB_EXPORT uint32_t cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  return (*memory = malloc(bytes)) ? CU_OK : 2;
}

// The driver's description of a copy of rows: from and to with type, host and GPU addresses.
struct rows {
  size_t from_x, from_y;
  uint32_t from_type;
  const char *from_host;
  uint64_t from;
  void *from_array;
  size_t from_pitch, to_x, to_y;
  uint32_t to_type;
  char *to_host;
  uint64_t to;
  void *to_array;
  size_t to_pitch, width, height;
};

// Only from the GPU to the host.
STUB_EXPORT uint32_t cuMemcpy2DAsync_v2(const struct rows *r, void *stream) {
  (void)stream;
  uint32_t result = stub_result("cuMemcpy2DAsync_v2");
  if (result) return result;
  if (r->from_type != 2 || r->to_type != 1 || !stub_cuda_memory(r->from, (r->height - 1) * r->from_pitch + r->width)) return 1;
  for (size_t i = 0; i < r->height; i++) memcpy(r->to_host + i * r->to_pitch, (const char *)(uintptr_t)r->from + i * r->from_pitch, r->width);
  return CU_OK;
}

STUB_EXPORT uint32_t cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t words, size_t rows, void *stream) {
  (void)stream;
  uint32_t result = stub_result("cuMemsetD2D32Async");
  if (result) return result;
  if (!stub_cuda_memory(to, (rows - 1) * pitch + words * sizeof value)) return 1;
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < words; i++) memcpy((char *)(uintptr_t)to + row * pitch + i * sizeof value, &value, sizeof value);
  return CU_OK;
}

STUB_EXPORT uint32_t cuPointerGetAttribute(void *value, int attribute, uint64_t memory) {
  uint32_t result = stub_result("cuPointerGetAttribute");
  if (attribute != 9 || !memory) return 1;
  *(int *)value = result ? 1 : 0; // a test says that the memory is another GPU's
  return CU_OK;
}

// ---- events: work ends when it is given, unless a test holds the GPU ----

struct event { const struct context *context; };
static _Atomic uint32_t held;

STUB_EXPORT void stub_cuda_hold(int on) { atomic_store(&held, (uint32_t)on); }

STUB_EXPORT uint32_t cuEventCreate(void **event, unsigned flags) {
  (void)flags;
  struct event *e = object_new(sizeof *e, 0);
  e->context = current_context();
  *event = e;
  return CU_OK;
}

STUB_EXPORT uint32_t cuEventRecord(void *event, void *stream) {
  const struct event *e = event;
  const struct stream *s = stream;
  uint32_t result = stub_result("cuEventRecord");
  if (result) return result;
  return e->context == (s ? s->context : current_context()) ? CU_OK : 400; // an event and a stream of two contexts do not go together
}

STUB_EXPORT uint32_t cuEventQuery(void *event) {
  (void)event;
  uint32_t result = stub_result("cuEventQuery");
  return result ? result : atomic_load(&held) ? 600 : CU_OK;
}

// ---- the rest of what a profiler of scopes inside kernels calls ----

STUB_EXPORT uint32_t cuDevicePrimaryCtxGetState(int device, uint32_t *flags, int *active) { return (void)device, *flags = 0, *active = 1, RC_OK; }

STUB_EXPORT uint32_t cuDevicePrimaryCtxRetain(void **context, int device) { return cuCtxCreate_v2(context, 0, device); }

STUB_EXPORT uint32_t cuThreadExchangeStreamCaptureMode(int *mode) {
  static _Thread_local int now;
  int before = now;
  now = *mode;
  *mode = before;
  return CU_OK;
}

STUB_EXPORT uint32_t cuStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id) {
  struct stream *s = stream;
  *status = s && s->capture;
  *id = *status ? s->capture->id : 0;
  return CU_OK;
}

STUB_EXPORT uint32_t cuLaunchHostFunc(void *stream, void (*call)(void *), void *data) {
  struct stream *s = stream;
  if (!s || !s->capture) return call(data), CU_OK;
  for (int i = 0; i < HOST_CALLS; i++)
    if (!s->capture->calls[i].call) return s->capture->calls[i] = (struct host_call){call, data}, CU_OK;
  return 2;
}
