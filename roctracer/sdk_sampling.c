// Sampling of instructions: how the GPUs are asked for it. One context has it for all of them, and each GPU has a buffer.
#include "sdk.h"

#include <stdlib.h>
#include <time.h>

enum { BUFFER = 1 << 20, WATERMARK = BUFFER / 4 * 3 }; // those of Triton's profiler: 7,500 stochastic samples
enum { CYCLES = 1 << 17, MICROSECONDS = 512 };         // usual intervals: those of Triton's profiler and of rocprof-compute

static uint64_t context;
static struct { uint64_t agent, buffer, drops; } sampled[SDK_GPUS];
static struct sdk_sampling_facts facts;
static _Atomic int started;

void sdk_sampling_allow(void) { setenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED", "1", 0); }

static int refused(const char *function, uint32_t status) {
  if (status && !facts.refused) facts.refused = function, facts.status = status;
  return status != 0;
}
#define TRY(function, ...) \
  if (refused("rocprofiler_" #function, sdk.function(__VA_ARGS__))) return 0

// ---- the way of a GPU ----

// The interval that is nearest to the wish; 0 if the GPU has none.
static uint64_t interval(const struct sdk_sampling_way *way, uint64_t wish) {
  uint64_t n = wish ? wish : way->unit == SDK_CYCLES ? CYCLES : MICROSECONDS;
  if (n < way->least) n = way->least;
  if (n > way->most) n = way->most;
  if (!(way->flags & SDK_POWERS_OF_TWO) || !n) return n;
  uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(n));
  if (power < way->least) power <<= 1;
  return power >= way->least && power <= way->most ? power : 0;
}

struct choice { const struct sdk_sampling_wish *wish; struct sdk_sampling_way way; uint64_t interval; };

static int choose(const struct sdk_sampling_way *ways, size_t count, void *data) {
  struct choice *c = data;
  for (size_t i = 0; i < count; i++) {
    struct sdk_sampling_way way = *(const struct sdk_sampling_way *)((const char *)ways + i * ways->size);
    int wanted = c->wish->method ? way.method == c->wish->method : way.method > SDK_ANY_METHOD && way.method < SDK_METHODS;
    if (ways->size < sizeof way || !wanted || !interval(&way, c->wish->interval)) continue;
    if (!c->interval || way.method < c->way.method) c->way = way, c->interval = interval(&way, c->wish->interval); // stochastic first
  }
  return SDK_OK;
}

static int configure(uint64_t agent, uint64_t thread, const struct sdk_sampling_wish *wish) {
  struct choice c = {.wish = wish};
  uint64_t *drops = &sampled[facts.sampled].drops, *buffer = &sampled[facts.sampled].buffer;
  TRY(query_pc_sampling_agent_configurations, agent, choose, &c);
  if (!c.interval) return 0; // it has none of these ways
  TRY(create_buffer, context, BUFFER, WATERMARK, SDK_LOSSLESS, sdk_take_samples, drops, buffer);
  TRY(assign_callback_thread, *buffer, thread);
  TRY(configure_pc_sampling_service, context, agent, c.way.method, c.way.unit, c.interval, *buffer, 0);
  sampled[facts.sampled].agent = agent;
  if (!facts.sampled++) facts.got = (struct sdk_sampling_wish){1, c.way.method, c.interval};
  return 1;
}

static int set_up(const struct sdk_sampling_wish *wish) {
  uint64_t agents[SDK_GPUS], thread = 0;
  facts.asked = *wish, facts.gpus = sdk_visible_gpus(agents);
  if (sdk_version() < SDK_LAYOUT_B || !sdk.query_pc_sampling_agent_configurations || !sdk.configure_pc_sampling_service)
    return refused("rocprofiler_configure_pc_sampling_service", SDK_NOT_IMPLEMENTED), 0;
  TRY(create_context, &context);
  TRY(create_callback_thread, &thread); // of its own: records of kernels are not held up by samples
  for (int i = 0; i < facts.gpus; i++) configure(agents[i], thread, wish);
  return facts.sampled > 0;
}

void sdk_sampling_set_up(const struct sdk_sampling_wish *wish) { set_up(wish); }

int sdk_sampling_on(void) { return started; }

int sdk_samples_gpu(uint64_t agent) {
  for (int i = 0; i < facts.sampled; i++)
    if (sampled[i].agent == agent) return 1;
  return 0;
}

// ---- from Go ----

void sdk_sampling_start(void) {
  if (started || !facts.sampled || refused("rocprofiler_start_context", sdk.start_context(context))) return;
  started = 1;
}

// Samples interrupt warps, so a program that goes on without a session is not sampled.
void sdk_sampling_stop(void) {
  if (started && sdk_usable() && sdk.stop_context && !sdk.stop_context(context)) started = 0;
}

void sdk_sampling_flush(int complete) {
  if (!started) return;
  for (int i = 0; i < facts.sampled; i++)
    for (int patience = 1000; patience > 0 && sdk.flush_buffer(sampled[i].buffer) == SDK_BUFFER_BUSY; patience--)
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  if (complete) sdk_samples_watch();
}

void sdk_sampling_facts(struct sdk_sampling_facts *out) {
  *out = facts;
  sdk_samples_facts(out);
}
