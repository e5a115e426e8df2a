// Captures the nodes that store tensors, and reads what they stored. tensor.h describes both.
#define _GNU_SOURCE
#include "tensor.h"
#include "tensor_ptx.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A context has one ring. The rounds take values every 10 to 50 ms; a replay of one small node takes 2 µs or more, so a ring of
// 524,288 values is not even a tenth full by then, on a few streams at once. TRITON_PROFILE_METRIC_BUFFER_SIZE sets its bytes.
enum { RINGS = 64, RING_BYTES = 16 << 20, RING_LEAST = 4096 };
static const uint64_t RING_MOST = 1ull << 34;

struct ring {
  _Atomic(void *) context; // NULL once it is destroyed: its memory stays, because values may not be taken yet
  void *function;
  uint64_t address;        // of values, for the GPU
  struct cupti_value *values;
  uint32_t mask;
  int device;
  uint64_t taken;          // the drainer's
};

static struct ring rings[RINGS];
static _Atomic int ring_count;
static _Atomic int off; // enum hp_tensor_status
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

void cupti_tensors_off(int why) { atomic_store(&off, why); }

static struct ring *ring_of(void *context) {
  int n = atomic_load_explicit(&ring_count, memory_order_acquire);
  for (int i = 0; i < n; i++)
    if (atomic_load_explicit(&rings[i].context, memory_order_relaxed) == context) return &rings[i];
  return NULL;
}

void cupti_tensors_gone(void *context) {
  struct ring *r = ring_of(context);
  if (r) atomic_store(&r->context, NULL);
}

// ---- the kernel ----

static uint32_t launch(const struct ring *r, const struct hp_tensor *tensor, uint32_t number) {
  uint64_t room = r->address, from = tensor->address;
  uint32_t mask = r->mask, count = tensor->count, element = tensor->element, as = tensor->as;
  void *parameters[] = {&room, &mask, &from, &count, &element, &as, &number};
  return cuda.cuLaunchKernel(r->function, 1, 1, 1, count < 32 ? count : 32, 1, 1, 0, tensor->stream, parameters, NULL);
}

// ---- setting up ----

static size_t wanted_values(void) {
  const char *text = getenv("TRITON_PROFILE_METRIC_BUFFER_SIZE");
  uint64_t bytes = text && *text ? strtoull(text, NULL, 10) : RING_BYTES, values = RING_LEAST / sizeof(struct cupti_value);
  if (bytes > RING_MOST) bytes = RING_MOST;
  while (values * 2 * sizeof(struct cupti_value) <= bytes) values *= 2;
  return values;
}

// The memory belongs to the process, not to the context: it can be read after the context is destroyed.
static uint32_t make_room(struct ring *r) {
  size_t values = wanted_values(), bytes = values * sizeof *r->values;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CU_OUT_OF_MEMORY;
  madvise(memory, bytes, MADV_DONTFORK); // a child would copy pages that the GPU writes to
  uint32_t rc = cuda.cuMemHostRegister_v2(memory, bytes, HOST_PORTABLE | HOST_MAPPED);
  if (!rc) rc = cuda.cuMemHostGetDevicePointer_v2(&r->address, memory, 0);
  if (rc) return munmap(memory, bytes), rc; // the driver refused to register it, or knows no address
  r->values = memory;
  r->mask = (uint32_t)(values - 1);
  return CU_OK;
}

static uint32_t load_kernel(struct ring *r) {
  void *module;
  uint32_t rc = cuda.cuModuleLoadData(&module, tensor_ptx);
  return rc ? rc : cuda.cuModuleGetFunction(&r->function, module, TENSOR_KERNEL);
}

// launch_alone runs the kernel outside of the graph, on a stream of its own: the time in its activity and the one that it stores
// relate CUPTI's clock to the GPU's. If that fails, the first replay does.
static void launch_alone(const struct ring *r) {
  struct hp_tensor any = {.address = r->address, .count = 1, .element = HP_INT64, .as = HP_INT};
  if (cuda.cuStreamCreate(&any.stream, STREAM_NON_BLOCKING)) return;
  launch(r, &any, 0);
  cuda.cuStreamDestroy_v2(any.stream); // when the kernel has run
}

// relaxed says that this thread means the calls that the driver otherwise refuses during a capture; the result ends it.
static int relaxed(void) {
  int mode = CAPTURE_RELAXED;
  cuda.cuThreadExchangeStreamCaptureMode(&mode);
  return mode;
}

void cupti_tensors_begin(void) {
  int n = atomic_load_explicit(&ring_count, memory_order_acquire), mode = n ? relaxed() : 0;
  for (int i = 0; i < n; i++) {
    void *context = atomic_load(&rings[i].context), *popped;
    if (!context || cuda.cuCtxPushCurrent_v2(context)) continue;
    launch_alone(&rings[i]);
    cuda.cuCtxPopCurrent_v2(&popped);
  }
  if (n) cuda.cuThreadExchangeStreamCaptureMode(&mode);
}

// make_ring sets up the current context.
static uint32_t make_ring(void *context, struct ring **made) {
  int n = atomic_load(&ring_count);
  if (n == RINGS) return CU_OUT_OF_MEMORY;
  struct ring *r = &rings[n];
  if (cuda.cuCtxGetDevice(&r->device)) r->device = 0;
  int mode = relaxed();
  uint32_t rc = r->values ? CU_OK : make_room(r); // room is left over where the kernel was refused
  if (!rc) rc = load_kernel(r);
  if (!rc) launch_alone(r);
  cuda.cuThreadExchangeStreamCaptureMode(&mode);
  if (rc) return rc;
  atomic_store(&r->context, context);
  atomic_store_explicit(&ring_count, n + 1, memory_order_release);
  *made = r;
  return CU_OK;
}

// The first tensor metric in a context is the only one that takes a lock, and it waits for no other thread of the program but
// one that does the same.
static uint32_t ring_for(void *context, struct ring **r) {
  if ((*r = ring_of(context))) return CU_OK;
  pthread_mutex_lock(&making);
  uint32_t rc = (*r = ring_of(context)) ? CU_OK : make_ring(context, r);
  pthread_mutex_unlock(&making);
  return rc;
}

// ---- the node ----

int cupti_read_tensor(const struct hp_tensor *tensor, uint32_t number) {
  struct ring *r;
  void *context, *popped;
  if (!cuda.cuLaunchKernel) return HP_TENSOR_UNKNOWN;
  int why = atomic_load(&off);
  if (why) return why;
  uint32_t rc = cuda.cuStreamGetCtx(tensor->stream, &context);
  if (!rc) rc = cuda.cuCtxPushCurrent_v2(context);
  if (rc) return HP_TENSOR_DRIVER + (int)rc;
  rc = ring_for(context, &r);
  if (rc) cupti_tensors_off(HP_TENSOR_DRIVER + (int)rc); // asking again at each metric would cost milliseconds
  else rc = launch(r, tensor, number);
  cuda.cuCtxPopCurrent_v2(&popped);
  return rc ? HP_TENSOR_DRIVER + (int)rc : HP_TENSOR_TAKEN;
}

// ---- reading ----

int cupti_value_rings(void) { return atomic_load_explicit(&ring_count, memory_order_acquire); }
int cupti_value_device(int ring) { return rings[ring].device; }

// complete reports whether a copy of a cell is the value of a place, and which: the one expected, or that of a later round.
static int complete(const struct ring *r, const struct cupti_value *v, uint64_t *place) {
  uint32_t shift = (uint32_t)__builtin_popcount(r->mask), rounds = v->index >> VALUE_INDEX_BITS, most = 1u << (32 - VALUE_INDEX_BITS);
  uint64_t ahead = (rounds - (uint32_t)((*place - 1) >> shift)) % most;
  if (ahead >= most / 2) return 0; // of the round before
  *place += ahead << shift;
  return v->check == cupti_value_check(*place, v);
}

static struct cupti_value copy(const struct ring *r, uint64_t place) {
  const struct cupti_value *cell = &r->values[(place - 1) & r->mask];
  struct cupti_value v;
  v.check = __atomic_load_n(&cell->check, __ATOMIC_RELAXED);
  v.number = __atomic_load_n(&cell->number, __ATOMIC_RELAXED);
  v.index = __atomic_load_n(&cell->index, __ATOMIC_RELAXED);
  v.stamp = __atomic_load_n(&cell->stamp, __ATOMIC_RELAXED);
  v.bits = __atomic_load_n(&cell->bits, __ATOMIC_RELAXED);
  return v;
}

int cupti_values_take(int ring, struct cupti_value *out, int max) {
  struct ring *r = &rings[ring];
  int n = 0;
  while (n < max) {
    uint64_t place = r->taken + 1;
    struct cupti_value v = copy(r, place);
    if (!complete(r, &v, &place)) break;
    if (place != r->taken + 1) { // the GPU has come round the ring: go on with the newer half of what is there
      r->taken = place - ((uint64_t)r->mask + 1) / 2;
      continue;
    }
    v.index &= (1u << VALUE_INDEX_BITS) - 1;
    out[n++] = v;
    r->taken++;
  }
  return n;
}
