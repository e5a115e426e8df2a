// The provider that uses librocprofiler-sdk. Go loads and configures the library (sdk_load.c, sdk_setup.c), once per process. The
// library then calls on the program's threads (sdk_callback.c, sdk_code.c) and hands over records on a thread of its own
// (sdk_records.c).
#ifndef GOPROTON_ROCTRACER_SDK_H
#define GOPROTON_ROCTRACER_SDK_H

#include <stdatomic.h>

#include "abi_sdk.h"
#include "room.h"

extern struct sdk_table sdk;

// ---- sdk_load.c ----------------------------------------------------------------------------------------------------------
// Takes the copy of the library that is in the process, otherwise opens path; NULL: the loader's search finds it. Returns NULL, or
// what failed: the loader's message, or the name of a missing function.
const char *sdk_open(const char *path, int *missing_function);
const char *sdk_path(void);     // of the opened library
uint32_t sdk_version(void);     // enum sdk_version; 0: it is not open
int sdk_loaded(void);           // whether the process has a copy
const char *sdk_status_text(uint32_t status);

// ---- sdk_setup.c ---------------------------------------------------------------------------------------------------------
struct sdk_sampling_wish { int wanted; uint32_t method; uint64_t interval; }; // 0: what the GPU has, and ours
struct sdk_counting_wish { int launches, devices; }; // what is to be counted of: single launches, or whole GPUs
// Registers with the library, which must be done before HIP starts. Returns SDK_OK or what was refused, with its name in refused. What
// is refused of sampling is in its facts.
uint32_t sdk_register(int markers, struct sdk_sampling_wish sampling, struct sdk_counting_wish counting, const char **refused);
// Starts what records these, as far as it has not been started: contexts are not stopped, because a context that was stopped may
// not start again, as Triton's profiler has found. Without launches all that the library reports is ignored.
// Has marks of the program reported. They need the context that reports launches, which sdk_listening has ignored.
uint32_t sdk_watch(int ranges, int profilers, const char **what);
uint32_t sdk_listen(int launches, int copies, int waits, const char **refused);
// Has the library hand over its records. With all, it waits until those of all dispatches have arrived, or none does for a while.
// Returns whether the records of all dispatches have come that were made before, or all that ever will.
enum sdk_complete { SDK_NOT_YET, SDK_SO_FAR, SDK_TO_THE_END };
enum sdk_complete sdk_flush(int all);
int sdk_registered(void);
void sdk_leave(void);           // what the library reports from now on is ignored
int sdk_usable(void);           // the library may be called: it is registered and not finalized, and this process is not a forked child

// ---- sdk_sampling.c ------------------------------------------------------------------------------------------------------
// Before the library is opened: it samples only if a variable of the environment says so. One that the user has set stays.
void sdk_sampling_allow(void);
void sdk_sampling_set_up(const struct sdk_sampling_wish *wish); // while the library initialises us, with the GPUs known
int sdk_sampling_on(void);
int sdk_samples_gpu(uint64_t agent);
void sdk_sampling_start(void);
void sdk_sampling_stop(void);
void sdk_sampling_flush(int complete); // when the records of kernels are complete, it also looks whether samples have ceased to come

struct sdk_sampling_facts {
  uint64_t samples, invalid, dropped; // records: all, those without a place, those that the library dropped
  uint64_t lost;                      // samples that were not counted, for lack of memory
  uint64_t silent;                    // ns of kernels without a sample, if samples have ceased to come
  struct sdk_sampling_wish asked, got; // got: of the first GPU
  int gpus, sampled;                  // GPUs that HIP sees, and those of them that are sampled
  const char *refused;                // the first function that failed; NULL: none
  uint32_t status;
};
void sdk_sampling_facts(struct sdk_sampling_facts *out);

// ---- sdk_samples.c -------------------------------------------------------------------------------------------------------
void sdk_take_samples(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *drops_so_far, uint64_t drops);
// The record of a dispatch has come, whose samples belong to the call with that correlation; 0: that is one of several kernels' call.
// It ran for so many ns on a GPU that is sampled.
void sdk_dispatch_seen(uint64_t dispatch, uint64_t correlation, uint64_t nanos);

enum { SDK_REASONS = 10 }; // reasons from 0, issued; SDK_REASONS: the sampler does not say
struct sdk_count {
  uint64_t code, offset, dispatch;
  uint32_t reason, samples;
};
struct sdk_pair { uint64_t dispatch, correlation; };
// What has come since the last call, in memory that the caller frees.
struct sdk_taken {
  struct sdk_pair *dispatches;
  struct sdk_count *counts; // a table: those with 0 samples are empty
  size_t dispatch_count, size;
};
struct sdk_taken sdk_samples_take(void);
void sdk_samples_facts(struct sdk_sampling_facts *out);
sdk_on_records record_sdk_samples(sdk_on_records f); // record_samples.c: sdk_take_samples, recorded; any other unchanged
void sdk_samples_watch(void); // all that the library had was delivered

// ---- sdk_counting.c ------------------------------------------------------------------------------------------------------
// Hardware counters of chosen launches.
void sdk_counting_set_up(void); // while the library initialises us
int sdk_can_count(void);        // whether the library has the functions
// What was refused when it was set up; NULL: nothing.
const char *sdk_counting_refused(uint32_t *status);
// Lists the counters of a GPU, up to most, with their names, and returns how many there are.
struct sdk_counter { uint64_t id; const char *name; };
size_t sdk_counters_of(uint64_t agent, struct sdk_counter *out, size_t most);
uint32_t sdk_counting_config(uint64_t agent, uint64_t *ids, size_t count, uint64_t *config);

// A GPU's metrics, in groups that its hardware counts at once: each launch of a kernel counts the next one.
enum { SDK_GROUPS = 32 };
struct sdk_counted_metric { uint64_t counter; uint32_t group, simds; }; // simds: 0, or what the largest value is multiplied by
void sdk_count(const struct sdk_counted_metric *m, double value, double *sum); // adds the value of one unit
struct sdk_counted_gpu {
  uint64_t agent, configs[SDK_GROUPS];
  size_t groups, count;
  struct sdk_counted_metric metrics[];
};
static inline struct sdk_counted_metric *metric_of(struct sdk_counted_gpu *g, size_t i) { return &g->metrics[i]; } // Go cannot index such an array
void sdk_counting_begin(struct sdk_counted_gpu *const *gpus, size_t count, uint32_t first, uint64_t most); // gpus are never freed
void sdk_counting_run(int on);
void sdk_counting_wait(void);   // until the values of chosen launches have come, for a second at most

// A launch that was chosen. It is in the list before its record can come.
struct sdk_counted {
  struct sdk_counted *next;
  uint64_t correlation, nanos;
  const struct sdk_counted_gpu *gpu;
  uint32_t place, group, name; // place: of a kernel at a call path; name: of the kernel, interned
  _Atomic uint32_t done;
  double values[]; // of all metrics of the GPU; NaN: of another group
};
struct sdk_counted *sdk_counted_take(void); // those since its last call; each is the caller's once it is done
int sdk_counted_done(struct sdk_counted *c);
int sdk_counting_full(void); // there were more kernels and call paths than are kept apart
int goprotonSDKCounts(uint32_t kernel); // in Go: whether a kernel is wanted, by its interned name

// ---- sdk_callback.c ------------------------------------------------------------------------------------------------------
// Finds the library's numbers of HIP's functions; fills operations with those that are to be reported and returns how many.
size_t sdk_find_calls(int32_t *operations, size_t room);
void sdk_on_hip_a(struct sdk_callback_a record, uint64_t *user, void *data);
void sdk_on_hip_b(struct sdk_callback_b record, uint64_t *user, void *data);
void sdk_on_marker_a(struct sdk_callback_a record, uint64_t *user, void *data);
void sdk_on_marker_b(struct sdk_callback_b record, uint64_t *user, void *data);
int sdk_on_dispatch_id(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data);
int sdk_on_copy_id(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data);
void sdk_hear(int on); // calls of HIP are passed on to the room
void sdk_hip_seen(void); // on a thread of the program in which HIP has started
extern _Atomic int sdk_listening;       // launches are recorded
extern _Atomic uint64_t sdk_dispatched; // dispatches so far, on any thread
// The external id of work that was started while no session listened. Ids of calls count up from 1 and do not reach it.
#define SDK_UNHEARD ((uint64_t)1 << 63)

// ---- sdk_records.c -------------------------------------------------------------------------------------------------------
void sdk_take_records(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *drops_so_far, uint64_t drops);
extern _Atomic uint64_t sdk_arrived; // records of dispatches, and dropped ones
// Hands over what there is. With all, also records of kernels whose names have not come, as kernels without a name.
void sdk_finish_records(int all);

// ---- sdk_code.c ----------------------------------------------------------------------------------------------------------
void sdk_on_code_a(struct sdk_callback_a record, uint64_t *user, void *data);
void sdk_on_code_b(struct sdk_callback_b record, uint64_t *user, void *data);
void sdk_keep_images(int on);                // for sampling; before the first is loaded
uint32_t sdk_kernel_name(uint64_t kernel);   // interned; 0: it has not been registered

// A code object: a module as it was loaded onto one GPU. An address a in memory is a - load_delta in the ELF file.
struct sdk_code_object {
  struct sdk_code_object *next;
  uint64_t id, agent, load_base, load_size;
  int64_t load_delta;
  char *uri;
  uint8_t *image; // a copy of the ELF file; NULL: not kept
  size_t image_size;
};
enum { SDK_IMAGES = 256 << 20 }; // bytes of all images together
// Reads the bytes, up to most, that a URI such as "file:///tmp/a.so#offset=4096&size=9000" names. Returns how many; 0: none.
size_t sdk_read_file(const char *uri, size_t most, uint8_t **image);
// Copies the facts of a code object; uri and image stay valid. 0: it is not known.
int sdk_code_object(uint64_t id, struct sdk_code_object *out);

// ---- sdk_agents.c --------------------------------------------------------------------------------------------------------
uint32_t sdk_find_gpus(void);
int sdk_gpu_count(void);
enum { SDK_GPUS = 64 };
int sdk_visible_gpus(uint64_t *agents); // those that HIP sees; agents has room for SDK_GPUS
// Numbers the GPUs as HIP does, by the variables that hide some. HIP reads them when it starts: the first call of HIP calls this.
void sdk_number_gpus(void);
const char *sdk_chip(uint64_t agent); // "gfx942"; "": not known
uint32_t sdk_simds(uint64_t agent);
int sdk_is_gpu(uint64_t agent);
uint16_t sdk_ordinal(uint64_t agent); // of an unknown or hidden one 0

#endif
