// Sampling of instructions (CUPTI's PC sampling): code.c knows what is loaded, sampling*.c collect. Nothing of it runs
// unless sampling was asked for when CUPTI was subscribed to.
#ifndef GOPROTON_CUPTI_SAMPLING_H
#define GOPROTON_CUPTI_SAMPLING_H

#include "abi_sampling.h"
#include "runtime.h"

extern struct cupti_sampling_table cupti_sampling;
// Fills the table from the library that cupti_load opened; NULL, or the name of a function that it lacks.
const char *cupti_sampling_load(void);

// ---- callback_sampled.c ----
void cupti_on_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);

// ---- code.c: modules, functions and their handles ----

// code_hash names an image by its content, as record.HashImage does.
uint64_t code_hash(const void *image, size_t size);
// Has CUPTI put our hashes into samples. Call before modules are loaded; those that were keep CUPTI's own.
uint32_t code_register(void);
// Callbacks, on the program's threads.
void code_module_loaded(const struct cupti_module_data *m);
void code_call_enters(void);
void code_call_exits(uint32_t cbid, const struct cupti_callback_data *d);
void code_unloading(void);
void code_launched(uint64_t function, const char *name);
// A function that was loaded before the collector listened, and its image.
void code_known(uint64_t function, const char *name, const void *image, size_t size);

// What is known of a handle: the module, 0 if only the name is. NULL name: nothing.
struct code_function {
  uint64_t module;
  const char *name; // for good
};
struct code_function code_function(uint64_t handle);
// An image that was loaded; NULL if none has this hash. It stays.
const void *code_image(uint64_t hash, size_t *size);
// The hashes of all images, in order of loading, beginning with number `from`; returns how many were put into `out`.
size_t code_modules(size_t from, uint64_t *out, size_t max);
// The hash of the image that CUPTI names by a CRC of its own, because it was loaded before code_register. 0 if there is
// none, or if several have that CRC: *images says how many have it.
uint64_t code_by_crc(uint64_t crc, uint32_t *images);
// Images beyond what is kept.
uint64_t code_not_kept(void);
// Module events so far: loads and unloads.
uint64_t code_events(void);
// A string that stays, equal to the given one.
const char *code_intern(const char *text);

// ---- claim.c ----

struct claim {
  int fd; // 0: none
  uint64_t inode;
};
// Claims a GPU for this process; 0 if another process of ours has it. Where claims are not possible there is none.
int claim_gpu(int device, struct claim *claim);
void claim_back(struct claim *claim);

// ---- sampling.c ----

struct sampling_options {
  uint32_t mode;     // enum cupti_sampling_mode
  uint32_t exponent; // 0: by the size of the GPU
  size_t hardware_buffer, scratch_buffer; // 0: ours
  uint32_t version;  // of CUPTI
};

// Begins to collect: what contexts launch is sampled as soon as sampling_run says so.
int sampling_begin(const struct sampling_options *o);
// Starts or stops the samplers of all contexts; returns when that is done.
void sampling_run(int on);
// Waits until what has been executed is collected.
void sampling_finish(void);
// Takes the samplers off all contexts and ends the collecting thread.
void sampling_end(void);

// Callbacks, on the program's threads.
void sampling_context_used(void *context);  // a launch enters
// The program asks for a context to be destroyed, or for whichever a device has if there is no handle.
void sampling_before_context_goes(void *context, int device);
void sampling_context_gone(void *context);  // is being destroyed
void sampling_before_unload(void);

enum { SAMPLING_REASONS_MAX = 64 };

// An instruction, followed by its stalls and the next one.
struct sampled {
  uint64_t module, offset;
  const char *name; // for good
  uint32_t function, correlation;
  uint32_t stall_count;
  uint32_t reserved;
  struct sampled_stall { uint32_t reason, samples, not_issued; } stalls[];
};

// Samples in memory of their own, to be freed with free.
struct sampled_batch {
  struct sampled_batch *next;
  size_t used, capacity;
  _Alignas(8) uint8_t bytes[];
};
// All batches so far, oldest first; the caller owns them. NULL when there is none.
struct sampled_batch *sampling_take(void);

struct sampling_facts {
  uint64_t total, dropped, non_user; // as CUPTI counts
  uint64_t lost;                     // samples that we had no room for
  uint64_t unseen;                   // samples in modules whose loading was not seen
  uint64_t same_crc;                 // samples in one of several modules with the same CRC, see code_by_crc
  uint32_t exponent;
  uint32_t waiting; // contexts that had no turn, as another of their GPU was sampled
  int claimed; // by another process of ours
  int buffer_full;
  uint32_t refused; // result code of the first refusal
  const char *refused_doing;
  uint32_t reason_count;
  const char *reasons[SAMPLING_REASONS_MAX]; // short names, for good
};
void sampling_facts(struct sampling_facts *out);

#endif
