// What sampling.c, sampling_config.c, sampling_read.c and sampling_thread.c share. No other file includes this one.
#ifndef GOPROTON_CUPTI_SAMPLING_STATE_H
#define GOPROTON_CUPTI_SAMPLING_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "sampling.h"

enum {
  CONTEXTS = 32,
  WORKER_MS = 20,
  FINISH_LIMIT_MS = 2000, // for reading all samples while other threads continue to launch
  INDICES = 1024,         // CUPTI's numbers of stall reasons are less
};

enum state {
  FREE,
  DESTROYED, // CUPTI may use `configured` until the destruction has ended: such an element is reused last
  NEW,
  WAITING, // another context of the same GPU is sampled
  READY,
  RUNNING,
  REFUSED,
};

struct context {
  void *handle;
  enum state state;
  int device;
  int destroying;     // the program is about to destroy it
  struct claim claim; // of its GPU
  uint16_t reason_of[INDICES]; // by CUPTI's number: 0: unknown, 1 + 2 * ours, one more for the part "not issued"
  struct cupti_sampling_data configured; // filled by CUPTI's worker, and by Disable
  int full;     // the hardware's buffer was full since the last restart
  int restarts; // because of that
  int started;  // at least once
  int failures; // to read, in succession
};

extern struct sampler {
  pthread_mutex_t lock;      // guards what follows; not held during a call of CUPTI's
  pthread_cond_t wake, done; // wakes the sampling thread; the program's threads that wait for it
  pthread_t thread;
  int quit;
  struct sampling_options options;
  struct context contexts[CONTEXTS];
  int wanted;                // whether contexts are to be sampled
  struct request {
    uint64_t asked, answered;
  } updates, // bring contexts to the state that is wanted
      finishes, // read all samples
      unloads,  // read the samples of code that is about to be unloaded
      destroys; // disable sampling in contexts that are about to be destroyed
  int calling; // CUPTI is being called about a context: its destruction waits
  int held;    // no such call begins, see sampling_hold
  struct sampling_facts facts;
  struct sampled_batch *first, **last;
  size_t batches;
} sampler;

extern atomic_int sampler_began; // 0 before and after sessions, and in a forked child
extern atomic_int sampler_busy;  // kernels were launched since unloads or finishes were last answered

// ---- sampling_config.c: on the sampling thread ----

// The size of an instruction in an array that CUPTI fills.
size_t sampler_pc_size(void);
// sampler_make_data allocates memory for a number of instructions and returns whether there was enough.
int sampler_make_data(struct cupti_sampling_data *d, size_t pcs);
void sampler_free_data(struct cupti_sampling_data *d);
// sampler_call calls a function whose only argument is a context.
uint32_t sampler_call(uint32_t (*call)(struct cupti_sampling_params *), void *context);
// What came of a call that is made while no thread is in one in which CUPTI samples.
struct apart {
  int alone; // 0: some thread was in such a call during all attempts
  uint32_t rc;
  uint64_t took; // ns
};
// sampler_call_apart makes such a call. If no attempt succeeds it is made nevertheless, or with only_alone not at all.
struct apart sampler_call_apart(uint32_t (*call)(struct cupti_sampling_params *), void *context, int attempts, int only_alone);
// sampler_call_apart_if_possible is that for Enable and Disable: a precaution, because they were not seen to block a launch for ever, as Start
// and Stop were. It returns the result code.
uint32_t sampler_call_apart_if_possible(uint32_t (*call)(struct cupti_sampling_params *), void *context);
// sampler_device_of returns the ordinal of the context's GPU, -1 if the driver fails.
int sampler_device_of(void *context);
// sampler_configure brings a NEW context to READY, or to REFUSED.
void sampler_configure(struct context *c);
// sampler_refused keeps the first result code that is not RC_OK; lock held.
void sampler_refused(uint32_t rc, const char *doing);

// ---- sampling_read.c ----

// sampler_prepare_reading allocates what GetData fills. Call it before the thread starts.
uint32_t sampler_prepare_reading(void);
// sampler_read reads the samples of a context, and returns whether there were any.
int sampler_read(struct context *c);
// sampler_take keeps the samples that CUPTI has filled in.
void sampler_take(const struct context *c, struct cupti_sampling_data *d);

// ---- sampling_thread.c ----

// The thread's function.
void *sampler_thread(void *unused);
// Whether sampling is enabled in the context; lock held.
int sampler_enabled(const struct context *c);
// Whether sampling is enabled in another context of the same GPU; lock held.
int sampler_gpu_taken(const struct context *c);
// Nanoseconds of a clock.
uint64_t sampler_nanos(clockid_t clock);
// Milliseconds of the clock that the conditions use.
uint64_t sampler_now_ms(void);
// sampler_wait_until waits for a condition until that time; lock held.
void sampler_wait_until(pthread_cond_t *cond, uint64_t ms);

#endif
