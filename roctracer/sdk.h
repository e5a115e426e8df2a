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
// Registers with the library, which must be done before HIP starts. Returns SDK_OK or what was refused, with its name in refused.
uint32_t sdk_register(int markers, int images, const char **refused);
// Starts what records these, as far as it has not been started: contexts are not stopped, because a context that was stopped may
// not start again, as Triton's profiler has found. Without launches all that the library reports is ignored.
uint32_t sdk_listen(int launches, int copies, int waits, const char **refused);
// Has the library hand over its records. With all, it waits until those of all dispatches have arrived, or none does for a while.
void sdk_flush(int all);
int sdk_registered(void);
void sdk_leave(void);           // what the library reports from now on is ignored
int sdk_usable(void);           // the library may be called: it is registered and not finalized, and this process is not a forked child

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
// Copies the facts of a code object; uri and image stay valid. 0: it is not known.
int sdk_code_object(uint64_t id, struct sdk_code_object *out);

// ---- sdk_agents.c --------------------------------------------------------------------------------------------------------
uint32_t sdk_find_gpus(void);
int sdk_gpu_count(void);
// Numbers the GPUs as HIP does, by the variables that hide some. HIP reads them when it starts: the first call of HIP calls this.
void sdk_number_gpus(void);
int sdk_is_gpu(uint64_t agent);
uint16_t sdk_ordinal(uint64_t agent); // of an unknown or hidden one 0

#endif
