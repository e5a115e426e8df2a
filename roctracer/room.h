// The C of the roctracer room: what both providers share. A provider (legacy.c for libroctracer64, sdk.c for
// librocprofiler-sdk) translates its library's callbacks and records into these calls; calls.c, graphs.c, names.c and
// records.c turn them into what the hot path takes.
#ifndef GOPROTON_ROCTRACER_ROOM_H
#define GOPROTON_ROCTRACER_ROOM_H

#include "../hotpath/vendor.h"

// ---- calls of HIP (hip_calls.c, calls.c) ---------------------------------------------------------------------------------

// What a function of HIP is to us.
enum hip_what {
  HIP_OTHER, HIP_LAUNCH, HIP_LIST_LAUNCH, HIP_GRAPH_LAUNCH, HIP_BEGIN_CAPTURE, HIP_END_CAPTURE, HIP_INSTANTIATE, HIP_GRAPH_DESTROY, HIP_EXEC_DESTROY,
  HIP_COPY, HIP_FILL, HIP_WAIT, HIP_SET_DEVICE, HIP_PROFILER_START, HIP_PROFILER_STOP, HIP_MARK, HIP_WHATS
};

// One function of HIP: how it is called by name, and where a provider's arguments of it are. Offsets are from the start of what
// the provider passes (hip_api_data_t of roctracer; the payload of rocprofiler-sdk). Numbers of functions differ between the
// providers and between versions: they are looked up by name when the library is taken.
struct hip_call {
  const char *name;
  uint8_t what;        // enum hip_what
  uint8_t host;        // the function is a host function's address, not a hipFunction_t
  uint8_t in_config;   // stream points to a launch configuration that has the stream at HIP_CONFIG_STREAM
  struct hip_offsets { uint8_t first, second, stream, absent; } legacy, sdk; // 0: the function has no such argument
  // first: the function of a launch, the executable graph of a graph launch, an instantiation (a pointer to it) or its end, the
  // graph of the end of a graph; second: the graph of an instantiation, or of the end of a capture (a pointer to it).
  // Of a launch on several devices first points to a list of launches, and second is its length.
  // absent: the provider does not have the function.
};
enum { HIP_CONFIG_STREAM = 32 };
// The elements of a list begin with the function. The stream's place depends on whether that is a host function.
enum { HIP_LIST_ELEMENT = 56, HIP_LIST_HOST_STREAM = 48, HIP_LIST_MODULE_STREAM = 40 };

extern const struct hip_call hip_calls[];
extern const unsigned hip_call_count;

// The arguments of one call.
struct hip_arguments {
  const void *first, *second, *stream;
};

// Reads the arguments of a call from what the provider passes.
static inline struct hip_arguments hip_arguments(const struct hip_offsets *at, const void *data) {
  const char *from = data;
  return (struct hip_arguments){
      at->first ? *(const void *const *)(from + at->first) : NULL,
      at->second ? *(const void *const *)(from + at->second) : NULL,
      at->stream ? *(const void *const *)(from + at->stream) : NULL,
  };
}

// A call begins and ends, on the thread that makes it. correlation is the number that the records of what it starts will carry;
// it is not 0, and counts up. result is the hipError_t, or -1 where the provider does not say. Calls that room_listen did not ask
// for are ignored.
void room_enter(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a);
void room_exit(const struct hip_call *call, uint64_t correlation, const struct hip_arguments *a, int result);
// The correlation of the call that this thread is in, 0 outside of one. Calls inside of calls belong to the outer one.
uint64_t room_inside(void);
// Whether a call is reported now. Calls that belong to graphs are reported from room_start to room_stop.
int room_wants(const struct hip_call *call);
// The number by which Go asks for the name of a call: its position in hip_calls.
static inline uint32_t room_call_number(const struct hip_call *call) { return (uint32_t)(call - hip_calls); }

// Whether launches are recorded.
int room_listens(void);
// Makes a call of HIP and returns its correlation: calls of the program that began before have lower ones, later ones greater. 0: HIP has not
// started, or the call was not reported. used: the program is known to have used HIP.
uint64_t room_mark(int used);

// ---- ranges (ranges.c) ---------------------------------------------------------------------------------------------------

// A range of the program begins or ends, on its thread. While launches are recorded, or ranges are watched, it is a scope.
void room_range_push(const char *message);
void room_range_pop(void);
// Whether ranges are to be scopes.
void ranges_want(int on);
// Has the libroctx64 that the program has loaded report ranges, if they are wanted and it does not yet; and no more.
void ranges_listen(void);
void ranges_watch(int on);
void ranges_stop(void);

// ---- records (records.c) -------------------------------------------------------------------------------------------------

// Adds an activity to the buffer that is being filled. Called on the library's own thread, or in a flush, but never inside
// a launch of the program; takes a lock. Times are those of the library (CLOCK_BOOTTIME or HSA's), which are converted to CLOCK_REALTIME here.
// A kernel of a graph launch (its correlation is one) gets the node that it is: by its name and by the order of the capture. Returns
// whether it is one.
int room_record(struct hp_activity activity);
// Hands over what is there. A provider calls it at the end of each of its library's buffers.
void room_flush(void);
// Counts a record that had to be left out, because its kind or size is not known.
void room_drop(uint64_t records);
// What makes CLOCK_REALTIME of CLOCK_BOOTTIME now.
int64_t room_to_realtime(void);
// Records that had to be left out since the last call.
uint64_t room_dropped(void);

// ---- names (names.c) -----------------------------------------------------------------------------------------------------

// The interned name of a kernel without the ".kd" of its descriptor; of "<unknown kernel>" for NULL.
uint32_t room_kernel_name(const char *name);
// The interned name of a copy by its direction, of a fill, and of a wait by the function.
enum room_copy { ROOM_COPY, ROOM_HTOH, ROOM_HTOD, ROOM_DTOH, ROOM_DTOD };
uint32_t room_copy_name(enum room_copy direction);
uint32_t room_fill_name(void);
uint32_t room_wait_name(const struct hip_call *call);

// ---- the driver (driver.c) -----------------------------------------------------------------------------------------------

// Functions of the libamdhip64 that the program has loaded; NULL: that version does not have it.
struct hip_driver {
  int (*GetDevice)(int *), (*SetDevice)(int), (*GetDeviceCount)(int *), (*DeviceSynchronize)(void);
  int (*GetStreamDeviceId)(void *); // of NULL: the current device
  int (*DriverGetVersion)(int *), (*RuntimeGetVersion)(int *);
  int (*StreamIsCapturing)(void *, int *), (*StreamGetCaptureInfo)(void *, int *, unsigned long long *);
  int (*GetDevicePropertiesR0600)(void *, int), (*DeviceGetAttribute)(int *, int, int), (*DeviceGetName)(char *, int, int), (*DeviceGetPCIBusId)(char *, int, int);
  const char *(*KernelNameRef)(const void *), *(*KernelNameRefByPtr)(const void *, const void *);
};
extern struct hip_driver hip;
// The path of a loaded library whose file name begins so, "" for none. It stays valid as long as the library is loaded (loaded.c).
const char *loaded_library(const char *name);
// 1 when the program has loaded libamdhip64 and the table is filled.
int hip_find(void);
// Whether the program has started HIP: it then has the kernel's driver open, /dev/kfd.
int hip_started(void);
const char *hip_path(void); // of that library; "" before
// Whether a stream is being captured, and the number of the capture, 0 for none.
enum hip_capture { HIP_CAPTURE_UNKNOWN = -1, HIP_NO_CAPTURE, HIP_CAPTURING, HIP_CAPTURE_INVALID };
enum hip_capture hip_capture_of(const void *stream, uint64_t *capture);
// Waits for a device on the calling thread, whose current device stays the same.
int hip_synchronize(int device);
// Set while this thread calls HIP for the profiler: the program has no part in the call.
extern __thread int room_own_call __attribute__((tls_model("initial-exec")));

struct hip_device {
  char name[256], arch[256];
  int64_t clock_khz, memory_clock_khz, bus_width, units, warp, memory; // memory in bytes
};
int hip_bus(int device, char *out, int size); // "0000:c1:00.0"; 0: not known
int hip_describe(int device, struct hip_device *out); // 0 when nothing is known

// ---- set-up (Go) -------------------------------------------------------------------------------------------------------
void room_use_hotpath(const struct hp_vendor_api *api); // before all others
extern const struct hp_vendor_api *room_hp;             // that table
void room_start(void);                                  // calls of graphs are reported from here on
void room_listen(int launches, int copies, int waits);  // which other calls are reported; all 0: none
// Marks of the program that are reported also while no launches are: ranges, and calls that start and stop profilers.
void room_watch(int ranges, int profilers);
void room_stop(void);                                   // forgets graphs; no callback may run
extern const struct hp_vendor room_vendor;

#endif
