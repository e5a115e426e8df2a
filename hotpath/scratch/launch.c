// What happens on the program's threads: memory before a launch, an event behind it.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drain.h"
#include "driver.h"
#include "scratch.h"

#include "../hotpath.h"

const struct hp_api *scratch_hp;

// Memory that was taken and whose launch has not been reported. There can be several: a kernel's metadata are evaluated between
// the two, and may launch kernels. A launch that fails is never reported.
struct taken {
  enum { POOLED, CAPTURED, NOWHERE } kind;
  uint32_t number;        // of the buffer
  uint64_t offset, bytes, stream;
  uint64_t before;        // the correlation id of the launch before it
};
enum { OPEN = 8, CURRENTS = 4 };
static __thread struct {
  struct taken open[OPEN];
  uint32_t depth;
  int watched;            // thread_ends is called
  uint32_t owner;         // this thread's number, from 1
  struct current { uint32_t number; int context; uint64_t stream; } current[CURRENTS]; // where it makes launches, see current_of
  uint32_t turn;          // the next of them to be replaced
} here __attribute__((tls_model("initial-exec")));

static void *stream_of(uint64_t stream) { return (void *)(uintptr_t)stream; }

// ---- buffers, which several launches share ----

static uint32_t mine(uint32_t state) { return here.owner * SCRATCH_STATES + state; }

static void set_state(struct scratch_buffer *b, uint32_t state) { atomic_store_explicit(&b->state, mine(state), memory_order_release); }

// seize makes an open buffer busy. It fails if the copying thread has closed it.
static int seize(struct scratch_buffer *b) {
  uint32_t open = mine(SCRATCH_OPEN);
  return atomic_compare_exchange_strong_explicit(&b->state, &open, mine(SCRATCH_BUSY), memory_order_acquire, memory_order_relaxed);
}

// Launches of one kernel lie without gaps, because its slots are of multiples of this: they are copied as one.
static uint64_t aligned(uint64_t bytes) { return (bytes + 127) & ~127ull; }

static int has_room(const struct scratch_buffer *b, uint64_t bytes) {
  return b->used + aligned(bytes) <= b->capacity && atomic_load_explicit(&b->launches, memory_order_relaxed) < LAUNCHES;
}

// room_for is how large a buffer to take for launches like this one. The copying thread calls the driver several times for a
// buffer, and each of these calls may hold up a launch. When half of all memory is in use, no more is taken than one launch needs.
static uint64_t room_for(uint64_t bytes) {
  uint64_t limit = atomic_load_explicit(&scratch.limit, memory_order_relaxed), most = limit / 32, several = 16 * bytes;
  if (atomic_load_explicit(&scratch.lent_bytes, memory_order_relaxed) > limit / 2) most = 0;
  if (several > most) several = most;
  if (several < SHARED_BYTES) several = SHARED_BYTES;
  return several < aligned(bytes) ? aligned(bytes) : several;
}

static void forget(uint32_t n) {
  for (uint32_t i = 0; i < CURRENTS; i++)
    if (here.current[i].number == n) here.current[i].number = 0;
}

// fresh takes a buffer out of the pool. The copying thread gets it at once, and waits until it is closed.
static uint32_t fresh(int context, uint64_t bytes, uint64_t stream) {
  uint32_t n = scratch_get(context, room_for(bytes));
  if (!n) n = scratch_get(context, aligned(bytes));
  if (!n) return 0;
  forget(n); // it may have been this thread's before, for another stream
  static _Atomic uint32_t owners;
  if (!here.owner) here.owner = atomic_fetch_add(&owners, 1) % 0x3fffffff + 1;
  struct scratch_buffer *b = &scratch_buffers[n];
  b->used = 0, b->stream = stream, b->since = scratch_now_ms(), b->reading = b->read = b->host = b->step = 0;
  atomic_store_explicit(&b->launches, 0, memory_order_relaxed);
  set_state(b, SCRATCH_BUSY);
  scratch_enqueue(n);
  return n;
}

// current_of finds the buffer in which this thread makes launches on a stream; the copying thread may have closed it.
static struct current *current_of(int context, uint64_t stream) {
  for (uint32_t i = 0; i < CURRENTS; i++)
    if (here.current[i].number && here.current[i].stream == stream && here.current[i].context == context) return &here.current[i];
  return NULL;
}

static int is_current(uint32_t n) {
  for (uint32_t i = 0; i < CURRENTS; i++)
    if (here.current[i].number == n) return 1;
  return 0;
}

// replaced returns a place for one more current buffer. What was there has no more launches.
static struct current *replaced(void) {
  struct current *c = &here.current[here.turn++ % CURRENTS];
  if (c->number && seize(&scratch_buffers[c->number])) set_state(&scratch_buffers[c->number], SCRATCH_CLOSED);
  return c;
}

// pooled finds room for a launch, in a buffer that is busy from then on.
static uint32_t pooled(int context, uint64_t bytes, uint64_t stream, uint64_t *offset) {
  struct current *c = current_of(context, stream);
  uint32_t n = c ? c->number : 0;
  int within = n && atomic_load_explicit(&scratch_buffers[n].state, memory_order_relaxed) == mine(SCRATCH_BUSY); // another launch
  if (within || (n && !seize(&scratch_buffers[n]))) n = 0;
  if (n && !has_room(&scratch_buffers[n], bytes)) set_state(&scratch_buffers[n], SCRATCH_CLOSED), n = 0;
  if (!n) {
    n = fresh(context, bytes, stream);
    if (!within && n) *(c ? c : replaced()) = (struct current){n, context, stream};
    else if (!within && c) c->number = 0;
  }
  if (n) *offset = scratch_buffers[n].used, scratch_buffers[n].used += aligned(bytes);
  return n;
}

// leave ends what pooled began: the next launch may use the rest.
static void leave(uint32_t n) { set_state(&scratch_buffers[n], is_current(n) ? SCRATCH_OPEN : SCRATCH_CLOSED); }

// give_up ends it for a launch that was not reported. Work that uses the memory may be on its way all the same.
static void give_up(const struct taken *t) {
  if (t->kind != POOLED) return;
  cu.event_record(scratch_buffers[t->number].event, stream_of(t->stream)); // an error is seen by the copying thread
  leave(t->number);
}

// A thread that ends leaves the memory of launches that have failed to the copying thread. Nothing here calls the driver, whose own
// data of the thread may be gone.
static pthread_key_t at_exit_of_thread;
static int has_key;

static void thread_ends(void *unused) {
  (void)unused;
  for (; here.depth; here.depth--)
    if (here.open[here.depth - 1].kind == POOLED) set_state(&scratch_buffers[here.open[here.depth - 1].number], SCRATCH_LEFT);
}

__attribute__((constructor)) static void make_key(void) { has_key = !pthread_key_create(&at_exit_of_thread, thread_ends); }

static void report(const struct taken *t, const struct scratch_kernel *k, struct scratch_place place) {
  struct scratch_buffer *b = &scratch_buffers[t->number];
  uint32_t n = atomic_load_explicit(&b->launches, memory_order_relaxed);
  uint32_t failed = cu.event_record(b->event, stream_of(t->stream));
  if (failed) { // the buffer stays busy: when the kernel ends is not known
    scratch_driver_failed(failed);
    forget(t->number);
    return;
  }
  b->launch[n] = (struct scratch_launch){k, t->offset, t->bytes, place, scratch_count_launch()};
  atomic_store_explicit(&b->launches, n + 1, memory_order_release);
  leave(t->number);
}

// ---- before a launch ----

static uint64_t taken(struct taken t, uint64_t memory) {
  if (!memory) return 0;
  if (here.depth == OPEN) {
    give_up(&here.open[0]);
    scratch_count(&scratch.unknown);
    memmove(here.open, here.open + 1, sizeof here.open - sizeof here.open[0]);
    here.depth--;
  }
  if (has_key && !here.watched) here.watched = !pthread_setspecific(at_exit_of_thread, &here);
  t.before = scratch_hp->last_correlation();
  here.open[here.depth++] = t;
  return memory;
}

static void no_room(uint64_t bytes) {
  scratch_count(&scratch.no_room);
  uint64_t most = atomic_load(&scratch.no_room_bytes);
  while (bytes > most && !atomic_compare_exchange_weak(&scratch.no_room_bytes, &most, bytes)) {}
}

// The code of some compilers computes the place of a block in 32 bits: it may then write up to 2 GiB before and 4 GiB behind the start.
static uint64_t around(int context) {
  uint64_t memory = scratch_nowhere(context, 6ull << 30);
  return memory ? memory + (2ull << 30) : 0;
}

static uint64_t take(uint64_t bytes, uint64_t stream) {
  if (!bytes || !scratch_driver_ready()) return 0;
  int context = scratch_context_here();
  if (context < 0) return 0;
  uint64_t most = atomic_load_explicit(&scratch.most, memory_order_relaxed);
  int recording = (int)atomic_load_explicit(&scratch.recording, memory_order_relaxed), wild = most && bytes > most;
  if (!recording) return wild ? around(context) : scratch_nowhere(context, bytes);
  struct taken t = {.kind = NOWHERE, .bytes = bytes, .stream = stream};
  if (wild) {
    scratch_count(&scratch.too_many);
    return taken(t, around(context));
  }
  int capturing = 0;
  if (!cu.is_capturing(stream_of(stream), &capturing) && capturing) {
    if ((t.number = scratch_graph_take(context, bytes, stream))) return t.kind = CAPTURED, taken(t, scratch_graph_memory(t.number));
  } else if ((t.number = pooled(context, bytes, stream, &t.offset))) {
    return t.kind = POOLED, taken(t, scratch_buffers[t.number].memory + t.offset);
  }
  no_room(bytes);
  return taken(t, scratch_nowhere(context, bytes));
}

// ---- behind a launch ----

// place_of finds out where the launch that came after another belongs.
static struct scratch_place place_of(uint64_t before) {
  struct hp_record r;
  if (scratch_hp->last_launch(before, &r)) return (struct scratch_place){r.correlation, r.set, r.node, r.pynode, (r.flags & HP_F_OP) != 0};
  struct scratch_place p = {0}; // nothing reports launches: another profiler has the vendor's library
  scratch_hp->leaf(&p.node, &p.pynode, &p.set);
  return p;
}

// opened finds the memory of a launch: the newest that holds whole slots of this kernel. What was taken after it was for
// launches that have failed.
static int opened(const struct scratch_kernel *k, uint64_t stream, struct taken *out) {
  for (uint32_t i = here.depth; i-- > 0;) {
    if (here.open[i].bytes % k->slot || here.open[i].stream != stream) continue;
    while (here.depth > i + 1) give_up(&here.open[--here.depth]);
    *out = here.open[i];
    here.depth = i;
    return 1;
  }
  return 0;
}

static void launched(uint64_t function, uint64_t stream) {
  if (!here.depth && !atomic_load_explicit(&scratch.recording, memory_order_relaxed)) return;
  const struct scratch_kernel *k = scratch_kernel_of(function);
  if (!k) return; // most launches are of kernels without scopes
  struct taken t;
  if (!opened(k, stream, &t)) {
    scratch_count(&scratch.foreign);
    return;
  }
  if (t.kind == NOWHERE) return;
  struct scratch_place place = place_of(t.before);
  if (t.kind == CAPTURED) {
    scratch_graph_launched(t.number, k, &place, t.bytes);
    return;
  }
  report(&t, k, place);
}

// elsewhere reports whether memory is another GPU's than a context's. The driver may not say, of memory that is not its own.
static int elsewhere(uint64_t memory, int context) {
  int device;
  enum { ORDINAL = 9 };
  return cu.pointer_fact && !cu.pointer_fact(&device, ORDINAL, memory) && device >= 0 && device != scratch_contexts[context].device;
}

// launched_in copies on the launch's own stream: the caller may overwrite the memory with what comes next there.
static void launched_in(uint64_t function, uint64_t stream, uint64_t memory, uint64_t bytes) {
  const struct scratch_kernel *k = scratch_kernel_of(function);
  if (!k || !memory || !bytes || !k->slot || !atomic_load(&scratch.recording) || !scratch_driver_ready()) return;
  int context = scratch_context_here();
  if (context >= 0 && elsewhere(memory, context)) return scratch_count(&scratch.elsewhere);
  uint32_t buffer = context < 0 ? 0 : scratch_spare(context), host = buffer ? scratch_host_get(bytes, 1, 1) : 0;
  if (!host) {
    if (buffer) scratch_put(buffer);
    no_room(bytes);
    return;
  }
  struct scratch_buffer *b = &scratch_buffers[buffer];
  bytes -= bytes % k->slot;
  b->stream = stream, b->host = host, b->read = 0, b->reading = 1;
  b->launch[0] = (struct scratch_launch){k, 0, bytes, place_of(0), 0};
  int own = scratch_hp->own_work(1);
  uint32_t failed = cu.copy_out(scratch_host_memory(host), memory, bytes, stream_of(stream));
  scratch_hp->own_work(own);
  if (!failed) failed = cu.event_record(b->copied, stream_of(stream));
  if (failed) {
    scratch_driver_failed(failed);
    scratch_recycle(host);
    scratch_drop(buffer);
    return;
  }
  b->launch[0].batch = scratch_count_launch();
  scratch_lent(buffer);
}

// ---- the raw bytes of the last launch ----

static void *last(uint64_t *bytes) {
  struct timespec pause = {0, 200 * 1000};
  uint64_t asked = scratch_launched();
  for (int n = 0; scratch_finished() < asked && n < 50000; n++) scratch_want(), nanosleep(&pause, NULL);
  return scratch_kept(bytes);
}

static const struct scratch_api table = {sizeof table, take, launched, launched_in, scratch_keep_last, last};
const struct scratch_api *scratch_api(void) { return &table; }

void scratch_use(const struct hp_api *api) { scratch_hp = api; }
