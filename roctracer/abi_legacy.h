// The part of roctracer's binary interface that is used, declared by hand. Version 4 of the library is the last; the offsets were
// read from the headers of HIP 5.2 to 7.2, and testdata/abi/ compares them with the vendor's.
#ifndef GOPROTON_ROCTRACER_ABI_LEGACY_H
#define GOPROTON_ROCTRACER_ABI_LEGACY_H

#include <stddef.h>
#include <stdint.h>

enum roctracer_domain { ROCTRACER_HIP_OPS = 2, ROCTRACER_HIP_API = 3, ROCTRACER_ROCTX = 6 };
enum roctracer_op { ROCTRACER_DISPATCH, ROCTRACER_COPY, ROCTRACER_BARRIER }; // of HIP_OPS
enum roctracer_phase { ROCTRACER_ENTER, ROCTRACER_EXIT };
enum roctracer_status {
  ROCTRACER_OK = 0, ROCTRACER_ERROR = -1, ROCTRACER_BAD_DOMAIN = -2, ROCTRACER_BAD_ARGUMENT = -3, ROCTRACER_NO_POOL = -4,
  ROCTRACER_POOL_EXISTS = -5, ROCTRACER_NO_MEMORY = -6, ROCTRACER_BAD_EXTERNAL_ID = -7, ROCTRACER_UNIMPLEMENTED = -8,
};

// Kinds of records: the HIP runtime's commands.
enum roctracer_kind {
  ROCTRACER_KERNEL = 0x11F0, ROCTRACER_TASK = 0x11F1, // a kernel, and one of a graph
  ROCTRACER_DTOH = 0x11F3, ROCTRACER_HTOD = 0x11F4, ROCTRACER_DTOD = 0x11F5,
  ROCTRACER_DTOH_RECT = 0x1201, ROCTRACER_HTOD_RECT = 0x1202, ROCTRACER_DTOD_RECT = 0x1203, ROCTRACER_FILL = 0x1207,
};

struct roctracer_record {
  uint32_t domain, kind, op, reserved;
  uint64_t correlation, begin, end; // the clock of HSA, which is CLOCK_BOOTTIME
  int32_t device;                   // number of the node in the driver's topology
  uint32_t reserved2;
  uint64_t queue;
  union {
    uint64_t bytes;
    const char *name; // valid in the buffer callback only
  };
};
_Static_assert(sizeof(struct roctracer_record) == 64, "");
_Static_assert(offsetof(struct roctracer_record, correlation) == 16 && offsetof(struct roctracer_record, device) == 40, "");
_Static_assert(offsetof(struct roctracer_record, queue) == 48 && offsetof(struct roctracer_record, name) == 56, "");

typedef void roctracer_buffer_fn(const char *begin, const char *end, void *argument);
typedef void roctracer_call_fn(uint32_t domain, uint32_t call, const void *data, void *argument);

struct roctracer_properties {
  uint32_t mode;
  size_t buffer_size;
  void (*allocate)(char **, size_t, void *); // NULL: the library's
  void *allocate_argument;
  roctracer_buffer_fn *buffer;
  void *buffer_argument;
};
_Static_assert(sizeof(struct roctracer_properties) == 48 && offsetof(struct roctracer_properties, buffer) == 32, "");

// The beginning of what a call of HIP is reported with. Its arguments follow; hip_calls.c has their places.
struct roctracer_call {
  uint64_t correlation;
  uint32_t phase, reserved;
};
_Static_assert(sizeof(struct roctracer_call) == 16, "");

// libroctx64 reports marks and ranges to one listener: this is the beginning of what it passes.
enum roctx_operation { ROCTX_PUSH = 1, ROCTX_POP = 2 };
struct roctx_call { const char *message; };
typedef int roctx_listener(uint32_t domain, uint32_t operation, void *data);

// F(name, required, arguments)
#define ROCTRACER_FUNCTIONS(F)                                                         \
  F(version_major, 1, (void))                                                          \
  F(version_minor, 1, (void))                                                          \
  F(op_code, 1, (uint32_t domain, const char *name, uint32_t *op, uint32_t *kind))     \
  F(set_properties, 1, (uint32_t domain, void *properties))                            \
  F(enable_op_callback, 1, (uint32_t domain, uint32_t op, roctracer_call_fn *, void *)) \
  F(disable_op_callback, 1, (uint32_t domain, uint32_t op))                            \
  F(open_pool, 1, (const struct roctracer_properties *))                               \
  F(close_pool, 1, (void))                                                             \
  F(enable_op_activity, 1, (uint32_t domain, uint32_t op))                             \
  F(disable_op_activity, 1, (uint32_t domain, uint32_t op))                            \
  F(flush_activity, 1, (void))

struct roctracer_table {
#define F(name, required, arguments) int(*name) arguments;
  ROCTRACER_FUNCTIONS(F)
#undef F
};
_Static_assert(sizeof(void *) == 8, "offsets of arguments are those of 64-bit systems");

#endif
