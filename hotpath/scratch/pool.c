// GPU memory by context and size. A buffer is made when none of its size is idle, on the thread that launches: that happens a few
// times in a program's life, because the sizes of its launches repeat.
#include "drain.h"
#include "driver.h"

#include "../freelist.h"

struct scratch_buffer scratch_buffers[BUFFERS];
struct scratch_context scratch_contexts[CONTEXTS];
struct scratch_totals scratch;

static _Atomic uint32_t after[BUFFERS];
static _Atomic uint64_t idle[CONTEXTS][CLASSES], spare[CONTEXTS]; // spare: numbers without memory, whose events are of the context
static _Atomic uint32_t made = 1, made_of[CONTEXTS][CLASSES], contexts_ready; // made_of: buffers of a class
static atomic_flag making_context = ATOMIC_FLAG_INIT;

// ---- contexts ----

static int known_context(void *handle) {
  uint32_t n = atomic_load_explicit(&contexts_ready, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    if (scratch_contexts[i].handle == handle) return (int)i;
  return -1;
}

static int add_context(void *handle) {
  struct scratch_context c = {.handle = handle};
  int at = -1;
  struct scratch_apart before = scratch_apart_begin();
  while (atomic_flag_test_and_set(&making_context)) {}
  uint32_t n = atomic_load(&contexts_ready);
  if ((at = known_context(handle)) < 0 && n < CONTEXTS && !cu.current_device(&c.device) && !cu.stream_create(&c.stream, 1 /* non-blocking */)) {
    scratch_contexts[n] = c;
    atomic_store_explicit(&contexts_ready, n + 1, memory_order_release);
    at = (int)n;
  }
  atomic_flag_clear(&making_context);
  scratch_apart_end(before);
  return at;
}

int scratch_context_here(void) {
  void *handle = NULL;
  if (cu.current_context(&handle)) return -1;
  // A thread without a context gets the primary one of the first device from Triton's launcher, a moment later.
  if (!handle && (cu.primary_context(&handle, 0) || cu.use_context(handle))) return -1;
  int known = known_context(handle);
  return known >= 0 ? known : add_context(handle);
}

// ---- buffers ----

enum { SMALLEST = 12 }; // 4 KiB, as a power of two

// class_of numbers the sizes of buffers, four to an octave, and rounds up to one.
static unsigned class_of(uint64_t *bytes) {
  if (*bytes < 1u << SMALLEST) *bytes = 1u << SMALLEST;
  unsigned top = 63u - (unsigned)__builtin_clzll(*bytes - 1);
  uint64_t quarter = 1ull << (top - 2);
  *bytes = (*bytes + quarter - 1) & ~(quarter - 1);
  unsigned n = (top - (SMALLEST - 1)) * 4 + (unsigned)((*bytes - (1ull << top)) / quarter) - 4;
  return n < CLASSES ? n : CLASSES - 1;
}

static uint32_t unused_number(void) {
  uint32_t b = atomic_fetch_add(&made, 1);
  if (b < BUFFERS) return b;
  atomic_store(&made, BUFFERS);
  return 0;
}

// An event is recorded only in streams of its own context. A number of another context is taken when no other is left: its events stay,
// because their context may be gone.
static uint32_t number(int context) {
  uint32_t b = hp_free_take(&spare[context], after);
  if (!b) b = unused_number();
  for (int other = 0; !b && other < CONTEXTS; other++) b = hp_free_take(&spare[other], after);
  struct scratch_buffer *s = &scratch_buffers[b];
  if (b && s->context != context) s->event = s->copied = NULL, s->context = (uint16_t)context;
  return b;
}

static void put_spare(uint32_t b) { hp_free_put(&spare[scratch_buffers[b].context], after, b); }

static int events(struct scratch_buffer *s) {
  if (!s->event && cu.event_create(&s->event, 2 /* without time */)) s->event = NULL;
  if (!s->copied && cu.event_create(&s->copied, 2)) s->copied = NULL;
  return s->event && s->copied;
}

uint32_t scratch_spare(int context) {
  uint32_t b = number(context);
  if (!b) return 0;
  scratch_buffers[b].lent = 1;
  if (events(&scratch_buffers[b])) return b;
  put_spare(b);
  return 0;
}

// reserve adds to what is allocated, unless that passes the limit.
static int reserve(uint64_t bytes) {
  uint64_t now = atomic_load(&scratch.device_bytes);
  do
    if (now + bytes > atomic_load(&scratch.limit)) return 0;
  while (!atomic_compare_exchange_weak(&scratch.device_bytes, &now, now + bytes));
  return 1;
}

static int fill_now(int context, uint64_t memory, uint64_t bytes) {
  void *stream = scratch_contexts[context].stream;
  return !cu.fill(memory, 0, bytes, stream) && !cu.stream_wait(stream);
}

// An allocation takes 0.1 ms or more of a launch, so several buffers are made at once. They are zero, so that a block which never
// starts has no header.
enum { AT_ONCE = 32 };
static const uint64_t at_once_bytes = 64ull << 20;

enum { PIECES = 4096 };
static struct piece { uint64_t memory, bytes; _Atomic uint32_t buffers; uint32_t seen; } pieces[PIECES]; // 0 is none
static _Atomic uint32_t pieces_made = 1;
static _Atomic int starved; // a launch found no memory

static uint32_t new_buffer(int context, unsigned class, uint64_t memory, uint64_t bytes, uint32_t piece) {
  uint32_t b = number(context);
  if (!b) return 0;
  struct scratch_buffer *s = &scratch_buffers[b];
  if (!events(s)) {
    put_spare(b);
    return 0;
  }
  s->memory = memory, s->capacity = bytes, s->class = (uint8_t)class, s->lent = 0, s->piece = piece;
  atomic_fetch_add(&pieces[piece].buffers, 1);
  return b;
}

static uint64_t allocate(int context, uint64_t bytes) {
  uint64_t memory = 0;
  if (!reserve(bytes)) return 0;
  if (!cu.allocate(&memory, bytes)) {
    if (fill_now(context, memory, bytes)) return memory;
    cu.release(memory);
  }
  atomic_fetch_sub(&scratch.device_bytes, bytes);
  return 0;
}

// make_several returns one buffer, and the others are idle.
static uint32_t make_several(int context, unsigned class, uint64_t bytes, unsigned count) {
  uint64_t memory = allocate(context, count * bytes);
  if (!memory) return 0;
  uint32_t piece = atomic_load(&pieces_made);
  do
    if (piece == PIECES) piece = PIECES - 1; // never freed
  while (piece < PIECES - 1 && !atomic_compare_exchange_weak(&pieces_made, &piece, piece + 1));
  pieces[piece].memory = memory, pieces[piece].bytes = count * bytes;
  uint32_t first = new_buffer(context, class, memory, bytes, piece);
  for (unsigned i = 1; first && i < count; i++) {
    uint32_t b = new_buffer(context, class, memory + i * bytes, bytes, piece);
    if (b) hp_free_put(&idle[context][class], after, b);
  }
  return first;
}

static uint32_t make(int context, unsigned class, uint64_t bytes) {
  unsigned count = bytes < at_once_bytes ? (unsigned)(at_once_bytes / bytes) : 1;
  if (count > AT_ONCE) count = AT_ONCE;
  if (count > made_of[context][class]) count = made_of[context][class] + 1; // twice as many each time
  struct scratch_apart before = scratch_apart_begin();
  uint32_t b = make_several(context, class, bytes, count);
  if (!b && count > 1) b = make_several(context, class, bytes, count = 1);
  scratch_apart_end(before);
  if (b) atomic_fetch_add(&made_of[context][class], count);
  return b;
}

uint32_t scratch_get(int context, uint64_t bytes) {
  unsigned class = class_of(&bytes);
  uint32_t b = hp_free_take(&idle[context][class], after);
  // A much larger one is left to launches of its size, unless no more may be allocated.
  for (unsigned more = 1; !b && more <= 2 && class + more < CLASSES; more++) b = hp_free_take(&idle[context][class + more], after);
  if (!b) b = make(context, class, bytes);
  for (unsigned larger = class + 3; !b && larger < CLASSES; larger++) b = hp_free_take(&idle[context][larger], after);
  if (!b) atomic_store(&starved, 1);
  if (b) atomic_fetch_add(&scratch.lent_bytes, scratch_buffers[b].capacity);
  return b;
}

void scratch_put(uint32_t b) {
  struct scratch_buffer *s = &scratch_buffers[b];
  if (!s->lent) atomic_fetch_sub(&scratch.lent_bytes, s->capacity);
  hp_free_put(s->lent ? &spare[s->context] : &idle[s->context][s->class], after, b);
}

void scratch_drop(uint32_t b) {
  struct scratch_buffer *s = &scratch_buffers[b];
  if (!s->lent) {
    atomic_fetch_sub(&scratch.device_bytes, s->capacity);
    atomic_fetch_sub(&scratch.lent_bytes, s->capacity);
  }
  s->event = s->copied = NULL; // of a context that may be gone
  put_spare(b);
}

// Launches of other sizes may have left memory idle. It is freed on the copying thread, because that waits for the GPU.
static void release_class(_Atomic uint64_t *list) {
  uint32_t taken[BUFFERS / 64], n = 0, b;
  while (n < sizeof taken / sizeof *taken && (b = hp_free_take(list, after))) taken[n++] = b;
  for (uint32_t i = 0; i < n; i++) pieces[scratch_buffers[taken[i]].piece].seen = 0;
  for (uint32_t i = 0; i < n; i++) pieces[scratch_buffers[taken[i]].piece].seen++;
  for (uint32_t i = 0; i < n; i++) {
    struct piece *p = &pieces[scratch_buffers[taken[i]].piece];
    if (p == &pieces[PIECES - 1] || p->seen != atomic_load(&p->buffers)) {
      hp_free_put(list, after, taken[i]);
      continue;
    }
    if (p->memory) {
      cu.release(p->memory);
      atomic_fetch_sub(&scratch.device_bytes, p->bytes);
      p->memory = 0;
    }
    put_spare(taken[i]);
  }
}

void scratch_release_idle(void) {
  if (!atomic_exchange(&starved, 0)) return;
  uint32_t n = atomic_load(&contexts_ready);
  for (uint32_t context = 0; context < n; context++) {
    cu.use_context(scratch_contexts[context].handle);
    for (unsigned class = 0; class < CLASSES; class++)
      if ((uint32_t)atomic_load(&idle[context][class])) release_class(&idle[context][class]), atomic_store(&made_of[context][class], 0);
  }
}

// ---- launches that are not recorded ----

static struct { _Atomic uint64_t memory, bytes; } nowhere[CONTEXTS];

// Kernels write to it at the same time, and it is not read. One that is too small stays allocated: a kernel may be using it.
uint64_t scratch_nowhere(int context, uint64_t bytes) {
  uint64_t memory = 0, have = atomic_load(&nowhere[context].bytes);
  if (have >= bytes) return atomic_load(&nowhere[context].memory);
  if (bytes < 2 * have) bytes = 2 * have;
  struct scratch_apart before = scratch_apart_begin();
  uint32_t failed = cu.allocate(&memory, bytes);
  int filled = !failed && fill_now(context, memory, bytes); // warps of a partition read their counters first
  scratch_apart_end(before);
  if (!filled) return 0;
  while (atomic_flag_test_and_set(&making_context)) {}
  if (atomic_load(&nowhere[context].bytes) < bytes) {
    atomic_store(&nowhere[context].memory, memory);
    atomic_store(&nowhere[context].bytes, bytes);
  }
  atomic_flag_clear(&making_context);
  return memory;
}
