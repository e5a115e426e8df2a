// What the files of sampling share, and no other file includes: sampling.c, sampling_config.c, sampling_read.c and
// sampling_thread.c.
#ifndef GOPROTON_CUPTI_SAMPLING_STATE_H
#define GOPROTON_CUPTI_SAMPLING_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "sampling.h"

enum {
  CONTEXTS = 32,
  WORKER_MS = 20,
  FINISH_LIMIT_MS = 2000, // for reading everything while other threads go on launching
  INDICES = 1024,         // of reasons, as CUPTI numbers them
};

enum state {
  FREE,
  GONE, // destroyed; its memory may be in use until that is over
  NEW,
  WAITING, // for the context of the same GPU that is sampled
  READY,
  RUNNING,
  REFUSED,
};

struct context {
  void *handle;
  enum state state;
  int device;
  int leaving; // is about to be destroyed
  struct claim claim; // of its GPU
  uint16_t reason_of[INDICES]; // 0: none, else 1 + 2 * its number, and one more for the part "not issued"
  struct cupti_sampling_data configured; // filled by CUPTI's worker, and by Disable
  int full, restarts;                    // the hardware's buffer was full
  int failures;                          // to read, one after another
};

// The state that the files of sampling share.
extern struct sampler {
  pthread_mutex_t lock;      // guards what follows, but never held while CUPTI is called
  pthread_cond_t wake, done; // for the thread; for those who wait for it
  pthread_t thread;
  int quit;
  struct sampling_options options;
  struct context contexts[CONTEXTS];
  int wanted;                     // whether samplers are to run
  struct request {
    uint64_t asked, answered;
  } updates, rests, unloads, leaves; // of samplers' states; to read everything; what is about to be unloaded; contexts
  int calling; // CUPTI is being called about a context, which must not go away meanwhile
  struct sampling_facts facts;
  struct sampled_batch *first, **last;
  size_t batches;
} sampler;

extern atomic_int sampler_began; // 0 before and after sessions, and in a forked child
extern atomic_int sampler_busy;  // something was launched since the last round

// ---- sampling_config.c: on the sampling thread ----

// The distance between two instructions in an array that CUPTI fills.
size_t sampler_pc_size(void);
// sampler_make_data allocates room for so many instructions and returns whether there was memory for it.
int sampler_make_data(struct cupti_sampling_data *d, size_t pcs);
void sampler_free_data(struct cupti_sampling_data *d);
// sampler_call makes one of the calls that take a context and nothing else.
uint32_t sampler_call(uint32_t (*call)(struct cupti_sampling_params *), void *context);
// The ordinal of the context's GPU, -1 if the driver does not answer.
int sampler_device_of(void *context);
// sampler_configure brings a NEW context to READY, or to REFUSED.
void sampler_configure(struct context *c);
// sampler_refused keeps the first refusal, and ignores RC_OK; lock held.
void sampler_refused(uint32_t rc, const char *doing);

// ---- sampling_read.c ----

// sampler_prepare_reading allocates what GetData fills. Call it before the thread starts.
uint32_t sampler_prepare_reading(void);
// sampler_read reads what a context has, and returns whether there was anything.
int sampler_read(struct context *c);
// sampler_take keeps the samples that CUPTI has filled in.
void sampler_take(const struct context *c, struct cupti_sampling_data *d);

// ---- sampling_thread.c ----

// The thread's function.
void *sampler_thread(void *unused);
int sampler_in_use(const struct context *c);
// Whether another context of the same GPU is sampled; lock held.
int sampler_taken(const struct context *c);
// Milliseconds of the clock that the conditions use.
uint64_t sampler_now_ms(void);
// sampler_wait_until waits for a condition until that time; lock held.
void sampler_wait_until(pthread_cond_t *cond, uint64_t ms);

#endif
