// The side of Go, and what the files of this room share.
#ifndef GOPROTON_SCRATCH_DRAIN_H
#define GOPROTON_SCRATCH_DRAIN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct hp_api;

// ---- for Go ----

// A compiled kernel with scopes, by the handle of its function. It is kept for the life of the process, because launches refer to it.
struct scratch_kernel {
  uint64_t function;
  uint32_t number;   // Go's
  uint32_t slot;     // bytes of a block
  uint32_t warps;
  uint64_t units;    // bits of the warps that write; 0 = not known, for more than 64 warps
  _Atomic uint32_t gone; // the function was unloaded; its handle may be another's
  struct scratch_kernel *next;
};

// A launch whose slots lie in host memory.
struct scratch_done {
  uint32_t kernel;       // its number
  uint32_t blocks;
  uint32_t device;
  uint64_t stream, correlation;
  uint32_t set, node, pynode;
  uint8_t op, replayed;
  const uint8_t *slots;
  uint64_t bytes;
  uint32_t host;         // for scratch_recycle
};

// What was not recorded, and why.
struct scratch_losses {
  uint64_t no_room;    // launches for which the limit left no memory
  uint64_t no_room_bytes; // the largest of them
  uint64_t unknown;    // launches of kernels whose scopes are not known
  uint64_t foreign;    // launches of known kernels with memory of another allocator
  uint64_t elsewhere;  // launches with memory of another GPU
  uint64_t failed;     // launches whose copy the driver refused
  uint32_t error;      // the first such error of the driver
  uint64_t too_many;   // launches with more blocks than the compiler's code can address
  uint64_t replays;    // replays of a graph that came while the data of earlier ones were still unread
};

void scratch_use(const struct hp_api *api);
int scratch_start(uint64_t limit); // begin to record; 0 if the thread could not be started
void scratch_stop(void);                          // give memory only, record nothing
void scratch_addressable(uint64_t most);            // bytes of a launch that the compiled code can address; 0 = all
int scratch_define(uint64_t function, uint32_t number, uint32_t slot, uint32_t warps, uint64_t units);
void scratch_forget(uint64_t function);
int scratch_next(struct scratch_done *out); // the oldest launch that is ready; 0 for none
size_t scratch_ready(void);                 // how many launches are ready
void scratch_recycle(uint32_t host);
uint64_t scratch_under_way(void);           // launches that are not ready yet
void scratch_ask(void);                     // begins a question for the launches so far; one is asked at a time
uint64_t scratch_asked(void);               // how many of them are not ready yet
uint64_t scratch_copied(void);              // bytes
void scratch_lost(struct scratch_losses *out);
void scratch_forked(void);

// ---- shared ----

enum { CONTEXTS = 16, CLASSES = 128, BUFFERS = 1 << 14, HOSTS = 1 << 14 };

// Where a launch belongs.
struct scratch_place { uint64_t correlation; uint32_t set, node, pynode; uint8_t op; };

// A launch in a buffer.
struct scratch_launch { const struct scratch_kernel *kernel; uint64_t offset, bytes; struct scratch_place place; uint8_t batch; };

// A piece of GPU memory. The launches of one thread on one stream lie in it one after another, so that the copying thread makes
// few calls of the driver, which launches wait for. The owner and the copying thread agree through state.
enum { LAUNCHES = 64, SHARED_BYTES = 1 << 20 };
enum { SCRATCH_CLOSED, SCRATCH_OPEN, SCRATCH_BUSY, SCRATCH_LEFT, SCRATCH_STATES }; // busy: a launch is being made in it; left: its thread ended meanwhile
struct scratch_buffer {
  uint64_t memory, capacity;
  void *event, *copied;     // behind the last launch; behind our copies
  uint16_t context;
  uint8_t class, lent;      // lent: the memory is the caller's own and was copied on the caller's stream
  uint8_t step;             // of the copying thread
  uint32_t piece;           // the allocation that it is part of
  _Atomic uint32_t state;   // owner * SCRATCH_STATES + one of the above
  uint64_t used, stream, since; // since: when it was taken, in ms
  _Atomic uint32_t launches;
  uint32_t reading, read;   // the launches before reading are being copied, those before read have been passed on
  uint32_t host;            // where they are copied to, 0 = not yet
  uint32_t next;            // in the queue
  struct scratch_launch launch[LAUNCHES];
};
extern struct scratch_buffer scratch_buffers[BUFFERS]; // 0 is none

struct scratch_context { void *handle; int device; void *stream; };
extern struct scratch_context scratch_contexts[CONTEXTS];

extern struct scratch_totals {
  _Atomic uint64_t no_room, no_room_bytes, unknown, foreign, elsewhere, failed, too_many, replays;
  _Atomic uint32_t error;
  // Launches to read, and those that are ready or were given up. A question for the launches so far begins the other batch, so that
  // it does not wait for what threads go on to launch.
  struct scratch_batch { _Atomic uint64_t launched, finished; } batches[2];
  _Atomic uint32_t batch; // that launches are counted in now
  _Atomic uint64_t device_bytes, host_bytes, limit, most;
  _Atomic uint64_t lent_bytes;  // of GPU memory that is not idle
  _Atomic uint64_t copied_bytes; // of all launches
  _Atomic uint32_t recording;
} scratch;

static inline void scratch_count(_Atomic uint64_t *n) { atomic_fetch_add_explicit(n, 1, memory_order_relaxed); }
void scratch_driver_failed(uint32_t error); // counts a launch whose copy the driver refused

extern const struct hp_api *scratch_hp;

// control.c
uint8_t scratch_count_launch(void); // returns its batch
uint64_t scratch_launched(void);    // how many so far
uint64_t scratch_finished(void);

// pool.c
int scratch_context_here(void);                        // the number of the calling thread's context, -1 where there is none
uint32_t scratch_get(int context, uint64_t bytes);     // a buffer that is idle, or a new one; 0 for none
void scratch_put(uint32_t buffer);                     // it is idle again
void scratch_release_idle(void);                       // frees allocations without a buffer in use, if memory was missing
void scratch_drop(uint32_t buffer);                    // its memory is not to be used again
uint64_t scratch_nowhere(int context, uint64_t bytes); // memory for a launch that is not recorded, 0 for none
uint32_t scratch_spare(int context);                   // a buffer without memory, for memory of others

// host.c
uint32_t scratch_host_get(uint64_t bytes, int pinned, uint32_t readers); // readers: how often it is recycled until it is idle
uint8_t *scratch_host_memory(uint32_t host);

// kernels.c
const struct scratch_kernel *scratch_kernel_of(uint64_t function);

uint64_t scratch_host_capacity(uint32_t host);

// graph.c
uint32_t scratch_graph_take(int context, uint64_t bytes, uint64_t stream); // 0 for none
uint64_t scratch_graph_memory(uint32_t number);
void scratch_graph_launched(uint32_t number, const struct scratch_kernel *k, const struct scratch_place *place, uint64_t bytes);
void scratch_graph_collect(void); // takes back the memory of graphs that are gone

// copying.c
void scratch_enqueue(uint32_t buffer);
void scratch_lent(uint32_t buffer);    // the same for a buffer that is being copied already
void scratch_want(void);               // what was launched is wanted soon
int scratch_begin_copying(void); // starts the thread, once; 0 if that failed
void *scratch_kept(uint64_t *bytes);   // a malloc'ed copy of the last launch, while scratch_keep_last
void scratch_keep_last(int on);
// Passes a launch to Go, whose slots begin at a place in host memory.
void scratch_finish(const struct scratch_buffer *b, const struct scratch_launch *l, uint32_t host, uint64_t at, int replayed);
int scratch_keeps(void);
uint64_t scratch_now_ms(void);

#endif
