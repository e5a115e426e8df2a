// Hardware counters of chosen launches: counters.c decides which, counters_measure.c measures them. None of this runs unless the
// session that subscribes to CUPTI asks for counters.
#ifndef GOPROTON_CUPTI_COUNTERS_H
#define GOPROTON_CUPTI_COUNTERS_H

#include "abi_lines.h"
#include "runtime.h"

extern struct cupti_counters_table cupti_counters;
// cupti_counters_load fills the table from the library that cupti_load opened. It returns NULL, or the name of a function
// that the library lacks. libcupti looks for libnvperf_host.so, which lies next to it, in the folders of the loader: it is loaded first.
const char *cupti_counters_load(const char *host_library);
extern struct cupti_lines_table cupti_lines;
const char *cupti_lines_load(void);

// ---- decode.c ----
// What a launch asked for. The drainer asks for those of kernels whose records it has decoded.
struct cupti_shape { uint32_t correlation, registers, threads, static_shared, dynamic_shared; }; // registers of a thread; threads and bytes of a block
void cupti_keep_shapes(int keep);
const struct cupti_shape *cupti_shape_of(uint32_t correlation); // NULL: not known

// ---- callback_counted.c ----
void cupti_on_counted_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
// cupti_listen_counted enables the callbacks that only measuring needs: the ends of contexts, and with several passes calls that copy.
uint32_t cupti_listen_counted(void);
// cupti_counted_copies says whether copies are recorded, or only kept out of what is measured.
void cupti_counted_copies(int recorded);
// cupti_counted_by_line has loaded code kept, see code.c.
void cupti_counted_by_line(int yes);

// ---- counters.c: which launches ----

struct counters_request {
  uint32_t first; // launches of each kernel at each call path
  uint64_t most;  // of all
  uint32_t version; // of CUPTI
  const struct counters_way *way;
};

// Why a launch is left out. What is not listed with its kernel's name is tried again at the next launch.
enum counters_left {
  LEFT_NOT,
  LEFT_COOPERATIVE,
  LEFT_COMMUNICATES, // its blocks wait for other GPUs, which do not repeat it
  LEFT_MEMORY,       // what is allocated does not fit into what is free
  LEFT_OTHERS,       // another thread launched meanwhile
  LEFT_REFUSED,      // CUPTI did not measure it
  LEFT_REASONS,
};

// A launch that was chosen. It is in the list before the kernel runs, so before the kernel's activity record can come.
struct counted {
  struct counted *next;
  uint64_t correlation;
  _Atomic uint32_t state; // enum counted_state
  uint32_t count;
  const char *const *names; // never freed
  void *lines; // a struct sampled_batch of what was counted by instruction
  uint64_t function; // the launched one
  uint32_t device;   // where instructions are counted
  double values[];
};
enum counted_state { COUNTED_PENDING, COUNTED_DONE, COUNTED_FAILED };

// counters_begin begins to choose. Contexts are measured from their first chosen launch on.
void counters_begin(const struct hp_vendor_api *api, const struct counters_request *r);
uint32_t counters_state(struct counted *c);
uint32_t counters_version(void);
// counters_run has launches chosen, or none.
void counters_run(int on);
// counters_record_kernels has kernels recorded, or not any more; returns a result code.
uint32_t counters_record_kernels(int yes);
// counters_end ends it, and disables CUPTI's profiler in all contexts.
void counters_end(void);
// counters_take returns the launches that were chosen since its last call, oldest first. The caller frees each with free once its state
// is not COUNTED_PENDING any more.
struct counted *counters_take(void);

// At ENTER of a launch that has been recorded; returns 1 if it is measured. Then at its EXIT counters_exit returns 1.
int counters_enter(const struct cupti_callback_data *d, uint64_t function, int cooperative);
int counters_exit(const struct cupti_callback_data *d);
// The program is about to destroy a context (NULL: all of a device); CUPTI reports that it is being destroyed.
void counters_before_destroy(void *context, int device);
void counters_destroying(void *context);
// Around a call that begins the capture of a stream: none begins while a launch is measured.
void counters_capture_begins(void);
void counters_capture_began(void);
void counters_graph_launched(void);
// Whether the calling thread measures a launch.
int counters_inside(void);

struct counters_function {
  const char *name; // never freed
  uint32_t reason;
  uint64_t launches;
};
struct counters_facts {
  uint64_t chosen, measured, nanos; // nanos: from the choice to the values
  uint64_t kernels;                 // functions of which some launch was measured
  uint64_t graphs;                  // launches of graphs
  uint32_t passes, metrics;         // of the last set that was configured
  uint32_t refused;                 // result code of the first refusal
  const char *refused_doing;
  int full; // the table of kernels and call paths is full: launches of others are not chosen
};
void counters_facts(struct counters_facts *out);
// counters_left lists functions with launches that were left out, beginning with number `from`.
size_t counters_left(size_t from, struct counters_function *out, size_t max);

// ---- counters_measure.c ----

// The library's description of a set of metrics for a kind of GPU.
struct counters_set {
  void *host;
  uint8_t *config;
  size_t bytes, passes;
};
// counters_make_set returns a result code, with what was refused in doing. counters_end_set ends what was made, also of a refused one.
uint32_t counters_make_set(struct counters_set *s, uint32_t type, const char *chip, const char *const *metrics, size_t count, const char **doing);
void counters_end_set(struct counters_set *s);

// ---- how a launch is measured: called with the choice's lock held ----

struct counters_way {
  // ready configures a context at its first chosen launch, and says how many passes its set takes; 0: it cannot be measured.
  uint32_t (*ready)(void *context);
  struct counted *(*start)(void *context, uint64_t correlation);
  // stop returns 1 if the launch was measured, 0 if others were measured with it, -1 if CUPTI refused.
  int (*stop)(struct counted *c);
  void (*disable)(void *context, int device); // NULL and -1: everywhere
  void (*forget)(void *context);
  int costly; // launches that are not chosen pay too, as long as it is enabled
};
extern const struct counters_way counters_of_ranges; // counters_measure.c: the whole launch
extern const struct counters_way counters_of_lines;  // lines.c: each instruction
// lines_metric is the metric of a number in struct sampled_stall, NULL behind the last.
const char *lines_metric(uint32_t number);
void counters_refused(uint32_t rc, const char *doing);
void counters_configured(uint32_t passes, uint32_t metrics);

// ---- counters.go: the only Go on the program's threads, once for each function and once for each kind of GPU ----
// An enum counters_left for a kernel, or -1 if it is not wanted.
int goprotonCountersKernel(char *name);
// The metrics of the set for a kind of GPU; allocated with malloc and never freed.
size_t goprotonCountersMetrics(char *chip, char ***names);
// The library does not know a metric; it knows these.
void goprotonCountersUnknown(char *chip, char *metric, char **known, size_t count);

#endif
