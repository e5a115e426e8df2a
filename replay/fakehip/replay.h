// A capture in the fake libamdhip64: what HIP answers in a replay, and what a tracing library said.
#ifndef GOPROTON_ROCTRACER_STUB_REPLAY_H
#define GOPROTON_ROCTRACER_STUB_REPLAY_H

#include "../../roctracer/capture.h"
#include "stub.h"

// What a tracing library said to the profiler when the capture was made: the fake one says it again, in its own form.
struct stub_said {
  enum { SAID_CALL, SAID_RECORD, SAID_BUFFER_ENDS, SAID_REQUEST, SAID_RANGE, SAID_CODE, SAID_KERNEL, SAID_SAMPLES, SAID_SAMPLES_END } what;
  uint64_t correlation;            // of a call, and of a request for the id of work
  unsigned call;                   // its position in hip_calls
  int exited, result;
  struct hip_arguments arguments;
  struct stub_record {
    enum capture_work work;
    uint64_t size, category, kind, operation, correlation, external, thread, begin, end, device, from, queue, bytes, kernel;
    const char *name;
  } record;
  uint64_t kind;                   // of a request; of a range the operation; of code: enum capture_code
  uint64_t drops;                  // at the end of a buffer
  uint64_t id, code, agent, load_base, load_size;
  int64_t load_delta;
  const void *image;
  uint64_t image_size;
  struct capture_sample sample;    // and how many such a GPU of that agent took
  uint64_t times;
  const char *name;                // of a range, of a kernel, of code
};

// The capture that PROTON_STUB_CAPTURE names, NULL for none.
const struct capture *replay_capture(void);

struct replay_device { const char *name, *arch, *place; uint64_t units, clock, memory_clock, bus, memory, warp; };
int replay_devices(void);
int replay_device(int ordinal, struct replay_device *out); // 0: there is none
int replay_stream(const void *stream, int *status, unsigned long long *number);
const char *replay_kernel_name(const void *function);

// For the fake librocprofiler-sdk: the recorded nodes. Returns how many.
struct stub_node { uint64_t number, gpu, domain, location, agent, uuid, simds; const char *chip; };
int stub_nodes(struct stub_node *out, int most);

// Also for that: how an agent was sampled. 0: nothing is known, and the GPU offers nothing.
struct stub_way { uint64_t agent, status, method, unit, interval; };
int stub_way_of(uint64_t agent, struct stub_way *out);

// Also for that: the n-th launch whose counters were recorded, NULL behind the last; with all its values.
struct stub_counts { uint64_t call, agent, kernel, ns; size_t count; struct { const char *name; double value; } values[]; };
const struct stub_counts *stub_counted(size_t n);

// Of hip.c, for the player.
void replay_set_device(int device);
void replay_tell(const struct stub_said *said);
void replay_start_hip(void);

#endif
