// Sampling of instructions (CUPTI's PC sampling): code.c knows the code that is loaded, sampling*.c collect samples. None of
// this runs unless the session that subscribes to CUPTI asks for samples.
#ifndef GOPROTON_CUPTI_SAMPLING_H
#define GOPROTON_CUPTI_SAMPLING_H

#include "abi_sampling.h"
#include "runtime.h"

extern struct cupti_sampling_table cupti_sampling;
// cupti_sampling_load fills the table from the library that cupti_load opened. It returns NULL, or the name of a function
// that the library lacks.
const char *cupti_sampling_load(void);

// ---- callback_sampled.c ----
void cupti_on_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);

// ---- callback_metered.c ----
void cupti_meter_with(const struct hp_vendor_api *api); // before the others
void cupti_on_metered_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
void cupti_on_metered_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);

// ---- code.c: modules, functions and their handles ----

// code_hash hashes an image as record.HashImage does.
uint64_t code_hash(const void *image, size_t size);
// code_register has CUPTI identify the modules of samples by our hashes. Modules that are already loaded keep CUPTI's CRC.
uint32_t code_register(void);
// Callbacks, on the program's threads.
void code_module_loaded(const struct cupti_module_data *m);
void code_call_enters(void);
void code_call_exits(uint32_t cbid, const struct cupti_callback_data *d);
void code_unloading(void);
void code_launched(uint64_t function, const char *name);
// code_known adds a function that was loaded before CUPTI was subscribed to, with its image.
void code_known(uint64_t function, const char *name, const void *image, size_t size);

// What is known about a handle. The module is 0 if only the name is known; the name is NULL if nothing is.
struct code_function {
  uint64_t module;
  const char *name; // never freed
};
struct code_function code_function(uint64_t handle);
// code_image returns the image with this hash, NULL if it was not loaded or not kept. It is never freed.
const void *code_image(uint64_t hash, size_t *size);
// code_modules lists the hashes of all images in order of loading, beginning with number `from`. It returns how many it has
// written to `out`.
size_t code_modules(size_t from, uint64_t *out, size_t max);
// code_by_crc returns the hash of the image that CUPTI identifies by its CRC because it was loaded before code_register. It
// returns 0 if there is none, or if several have that CRC: *images is their number.
uint64_t code_by_crc(uint64_t crc, uint32_t *images);
// The number of images that were not kept, because they would have exceeded the limit.
uint64_t code_not_kept(void);
// The number of loads and unloads of modules so far.
uint64_t code_events(void);
// code_intern returns an equal string that is never freed.
const char *code_intern(const char *text);

// ---- sampling_gate.c: no thread is in a launch while sampling is switched ----

// gate_enter and gate_leave are around the driver's calls during which CUPTI takes its lock of sampling.
void gate_enter(void);
void gate_leave(void);
// gate_begin forgets who is inside: a session begins, after a time in which ends of calls were not reported.
void gate_begin(void);
// gate_close returns 1 when no thread is inside, and then keeps them out until gate_open; 0 if one stayed inside during all attempts, of
// 25 ms each, or if it did so the last time and still does.
int gate_close(int attempts);
void gate_open(void);

// ---- claim.c ----

struct claim {
  int fd; // 0: none
  uint64_t inode;
};
// claim_gpu claims a GPU for this process, and returns 0 if another process that GoProton profiles has claimed it. Where
// claims are not possible, it returns 1 without a claim.
int claim_gpu(int device, struct claim *claim);
void claim_release(struct claim *claim);

// ---- sampling.c ----

struct sampling_options {
  uint32_t mode;     // enum cupti_sampling_mode
  uint32_t exponent; // 0: by the size of the GPU
  size_t hardware_buffer, scratch_buffer; // 0: ours
  uint32_t version; // of CUPTI
};

// sampling_begin starts the sampling thread. Contexts are sampled from sampling_run(1) to sampling_run(0).
int sampling_begin(const struct sampling_options *o);
// sampling_run starts or stops sampling in all contexts, and returns when that is done.
void sampling_run(int on);
// sampling_hold has the sampling thread not begin a call of CUPTI's until it is called with 0, and returns when none is under way.
void sampling_hold(int on);
// sampling_finish waits until the samples of all code that has been executed are collected.
void sampling_finish(void);
// sampling_end disables sampling in all contexts and ends the sampling thread.
void sampling_end(void);

// Callbacks, on the program's threads.
void sampling_context_used(void *context); // at the start of a launch
// The program is about to destroy a context, or all contexts of the device if context is NULL.
void sampling_before_destroy(void *context, int device);
void sampling_destroying(void *context); // CUPTI reports that the context is being destroyed
void sampling_before_unload(void);

enum { SAMPLING_REASONS_MAX = 64 };

// The samples of an instruction. In a batch its stalls follow, then the next instruction.
struct sampled {
  uint64_t module, offset;
  const char *name; // of the function; never freed
  uint32_t function, correlation;
  uint32_t stall_count;
  uint32_t reserved;
  struct sampled_stall { uint64_t samples; uint32_t reason, not_issued; } stalls[]; // of a launch that is counted by line: a count of lines_metric(reason)
};

// A list of samples; each batch is freed with free.
struct sampled_batch {
  struct sampled_batch *next;
  size_t used, capacity;
  _Alignas(8) uint8_t bytes[];
};
// sampling_take returns all batches since its last call, oldest first, NULL for none. The caller owns them.
struct sampled_batch *sampling_take(void);

struct sampling_facts {
  uint64_t total, dropped, non_user; // as CUPTI counts them
  uint64_t lost;                     // samples that were dropped here, for lack of memory
  uint64_t unseen;                   // samples in modules whose loading was not seen
  uint64_t same_crc;                 // samples in one of several modules with the same CRC, see code_by_crc
  uint32_t exponent;
  uint32_t late;    // switches that were put off, because some thread was in a call of the driver for seconds
  uint32_t waiting; // contexts that are not sampled, because another context of the same GPU is
  int claimed; // 1: a GPU was not sampled, because another process that GoProton profiles has claimed it
  int buffer_full;
  uint64_t waited_ns;    // how long threads of the program have waited for the sampling thread
  uint64_t switching_ns; // how long CUPTI's calls that start and stop sampling took
  uint64_t thread_ns;    // CPU time of the sampling thread
  uint32_t refused; // result code of the first refusal
  const char *refused_doing;
  uint32_t reason_count;
  const char *reasons[SAMPLING_REASONS_MAX]; // short names, never freed
};
void sampling_facts(struct sampling_facts *out);

#endif
