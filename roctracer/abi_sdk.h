// The binary interface of librocprofiler-sdk, declared by hand: numbers, offsets and the order of arguments are the vendor's, names
// are ours, so that testdata/abi/ can include both. Only what is used is declared.
//
// There are two layouts. A is that of 0.4 to 0.6 (ROCm 6.2 to 6.4), B that of 0.7 and all of 1.x. They differ in the record of a
// callback and in the client's id. The library's version tells them apart. Records that end before a field that is read here are
// not read: each begins with its size.
#ifndef GOPROTON_ROCTRACER_ABI_SDK_H
#define GOPROTON_ROCTRACER_ABI_SDK_H

#include <stddef.h>
#include <stdint.h>

#define SDK_AT(type, field, offset) \
  _Static_assert(offsetof(struct type, field) == (offset), #type "." #field " is not at " #offset)
#define SDK_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " is not " #size " bytes")

// Versions are 10000 * major + 100 * minor + patch.
enum sdk_version {
  SDK_OLDEST = 400,
  SDK_0_5 = 500,       // status codes from 13 on are those below; 0.4 has each one lower
  SDK_LAYOUT_B = 700,
  SDK_ANY_TIME = 10302, // rocprofiler_force_configure may be called after HIP has started
  SDK_NEXT = 20000,    // not known
};

enum sdk_status {
  SDK_OK = 0, SDK_ERROR = 1, SDK_OPERATION_NOT_FOUND = 5, SDK_CONTEXT_NOT_ZERO = 13, SDK_BUFFER_BUSY = 14, SDK_LOCKED = 16,
  SDK_NOT_IMPLEMENTED = 17, SDK_INCOMPATIBLE = 18, SDK_INVALID_ARGUMENT = 19, SDK_FINALIZED = 21, SDK_NOT_LOADED = 22,
};

// Kinds of callbacks, of records in buffers, and of requests for an external id.
enum sdk_callback_kind { SDK_ON_HIP = 5, SDK_ON_MARKER = 7, SDK_ON_CODE = 10 };
enum sdk_buffer_kind { SDK_COPIES = 10, SDK_DISPATCHES = 11 };
enum sdk_request_kind { SDK_ID_OF_COPY = 10, SDK_ID_OF_DISPATCH = 11 };

enum { SDK_OPERATIONS = 1024 }; // more than HIP has functions: 500 in 7.2

enum sdk_phase { SDK_ENTER = 1, SDK_EXIT = 2 }; // of code: loaded, unloaded
enum sdk_code { SDK_CODE_LOAD = 1, SDK_CODE_KERNEL = 2 };
enum sdk_copy { SDK_HTOH = 1, SDK_HTOD, SDK_DTOH, SDK_DTOD };
enum sdk_category { SDK_TRACING = 1, SDK_SAMPLES = 2 };
enum sdk_policy { SDK_DISCARD = 1, SDK_LOSSLESS = 2 };
enum sdk_agent_type { SDK_GPU = 2 };
enum sdk_marker { SDK_RANGE_PUSH = 1, SDK_RANGE_POP = 2 };
enum sdk_storage { SDK_IN_FILE = 1, SDK_IN_MEMORY = 2 };

// ---- registration ------------------------------------------------------------------------------------------------------

struct sdk_client_a { const char *name; uint32_t handle; };
SDK_AT(sdk_client_a, handle, 8);
SDK_SIZE(sdk_client_a, 16);

struct sdk_client_b { size_t size; const char *name; uint32_t handle; };
SDK_AT(sdk_client_b, name, 8);
SDK_AT(sdk_client_b, handle, 16);
SDK_SIZE(sdk_client_b, 24);

struct sdk_configuration {
  size_t size;
  int (*initialize)(void (*finalize_now)(void), void *data); // the function's argument is not used
  void (*finalize)(void *data);
  void *data;
};
SDK_AT(sdk_configuration, finalize, 16);
SDK_SIZE(sdk_configuration, 32);

typedef struct sdk_configuration *(*sdk_configure)(uint32_t version, const char *runtime, uint32_t priority, void *client);

// ---- callbacks on threads of the program: passed by value ---------------------------------------------------------------

struct sdk_callback_a {
  uint64_t context, thread, internal, external;
  uint32_t kind;
  int32_t operation;
  uint32_t phase;
  void *payload;
};
SDK_AT(sdk_callback_a, internal, 16);
SDK_AT(sdk_callback_a, kind, 32);
SDK_AT(sdk_callback_a, payload, 48);
SDK_SIZE(sdk_callback_a, 56);

struct sdk_callback_b {
  uint64_t context, thread, internal, external, ancestor;
  uint32_t kind;
  int32_t operation;
  uint32_t phase;
  void *payload;
};
SDK_AT(sdk_callback_b, internal, 16);
SDK_AT(sdk_callback_b, kind, 40);
SDK_AT(sdk_callback_b, payload, 56);
SDK_SIZE(sdk_callback_b, 64);

// The payload of a call of HIP: the arguments in the function's own order, and at EXIT its result. hip_calls.c has the places of
// the arguments, counted from the start of the payload.
struct sdk_hip_call {
  uint64_t size;
  uint8_t arguments[88];
  int32_t result;
  uint8_t rest[20];
};
SDK_AT(sdk_hip_call, arguments, 8);
SDK_AT(sdk_hip_call, result, 96);
SDK_SIZE(sdk_hip_call, 120);

struct sdk_marker_call { uint64_t size; const char *message; };
SDK_AT(sdk_marker_call, message, 8);

struct sdk_code_load {
  uint64_t size, id, agent, hsa_agent;
  const char *uri;
  uint64_t load_base, load_size;
  int64_t load_delta;
  uint32_t storage; // enum sdk_storage
  union { int file; uint64_t memory; };
  uint64_t memory_size;
};
SDK_AT(sdk_code_load, uri, 32);
SDK_AT(sdk_code_load, load_base, 40);
SDK_AT(sdk_code_load, load_delta, 56);
SDK_AT(sdk_code_load, storage, 64);
SDK_AT(sdk_code_load, file, 72);
SDK_AT(sdk_code_load, memory, 72);
SDK_AT(sdk_code_load, memory_size, 80);
SDK_SIZE(sdk_code_load, 88);

struct sdk_code_kernel { uint64_t size, kernel, code; const char *name; }; // the beginning of it
SDK_AT(sdk_code_kernel, kernel, 8);
SDK_AT(sdk_code_kernel, name, 24);

// ---- records in buffers: equal in A and B as far as they are declared -----------------------------------------------------

struct sdk_header { uint32_t category, kind; const void *payload; };
SDK_AT(sdk_header, kind, 4);
SDK_SIZE(sdk_header, 16);

// The record of a dispatch, without what follows the dispatch's number.
struct sdk_dispatch {
  uint64_t size;
  uint32_t kind;
  int32_t operation;
  uint64_t internal, external, thread, start, end;
  struct { uint64_t size, agent, queue, kernel, number; } info;
};
SDK_AT(sdk_dispatch, internal, 16);
SDK_AT(sdk_dispatch, external, 24);
SDK_AT(sdk_dispatch, start, 40);
SDK_AT(sdk_dispatch, end, 48);
SDK_AT(sdk_dispatch, info.agent, 64);
SDK_AT(sdk_dispatch, info.kernel, 80);
SDK_AT(sdk_dispatch, info.number, 88);
SDK_SIZE(sdk_dispatch, 96);

// The record of a copy, as layout A has it.
struct sdk_copied {
  uint64_t size;
  uint32_t kind;
  int32_t operation; // enum sdk_copy
  uint64_t internal, external, thread, start, end, to_agent, from_agent, bytes;
};
SDK_AT(sdk_copied, operation, 12);
SDK_AT(sdk_copied, external, 24);
SDK_AT(sdk_copied, start, 40);
SDK_AT(sdk_copied, to_agent, 56);
SDK_AT(sdk_copied, bytes, 72);
SDK_SIZE(sdk_copied, 80);

// ---- samples of instructions, from 0.7 on -----------------------------------------------------------------------------------
// As in pc_sampling.h of 1.0 and in its development until 2026. Later members follow the last one here.

enum sdk_sampling_method { SDK_ANY_METHOD, SDK_STOCHASTIC, SDK_HOST_TRAP, SDK_METHODS };
enum sdk_sampling_unit { SDK_CYCLES = 2, SDK_MICROSECONDS = 3 };
enum sdk_sample_kind { SDK_INVALID_SAMPLE = 1, SDK_TRAPPED = 2, SDK_SAMPLED = 3 };
enum { SDK_POWERS_OF_TWO = 1 }; // a flag of a configuration

// A way in which a GPU can take samples.
struct sdk_sampling_way {
  uint64_t size;
  uint32_t method, unit;
  uint64_t least, most; // interval
  uint64_t flags;
};
SDK_AT(sdk_sampling_way, unit, 12);
SDK_AT(sdk_sampling_way, least, 16);
SDK_AT(sdk_sampling_way, flags, 32);
SDK_SIZE(sdk_sampling_way, 40);

// A sample by the host trap.
struct sdk_trapped {
  uint64_t size, place;
  uint64_t code, offset; // from the load base of the code object; code 0: offset is an address
  uint64_t lanes, time, dispatch, internal, external;
  uint32_t workgroup[3], wave;
};
SDK_AT(sdk_trapped, code, 16);
SDK_AT(sdk_trapped, offset, 24);
SDK_AT(sdk_trapped, dispatch, 48);
SDK_AT(sdk_trapped, internal, 56);
SDK_AT(sdk_trapped, workgroup, 72);
SDK_AT(sdk_trapped, wave, 84);
SDK_SIZE(sdk_trapped, 88);

// A stochastic sample.
struct sdk_sampled {
  uint64_t size;
  uint8_t flags, wave, issue, unused_11[5]; // issue: its lowest bit is set where the instruction was issued
  uint64_t place, code, offset, lanes;
  uint32_t workgroup[3], waves;
  uint64_t time, dispatch, internal, external;
  uint32_t snapshot, counters; // snapshot: its lowest four bits are the reason why the instruction was not issued
};
enum { SDK_ISSUED = 1, SDK_REASON = 15 };
SDK_AT(sdk_sampled, issue, 10);
SDK_AT(sdk_sampled, code, 24);
SDK_AT(sdk_sampled, offset, 32);
SDK_AT(sdk_sampled, workgroup, 48);
SDK_AT(sdk_sampled, time, 64);
SDK_AT(sdk_sampled, dispatch, 72);
SDK_AT(sdk_sampled, internal, 80);
SDK_AT(sdk_sampled, snapshot, 96);
SDK_SIZE(sdk_sampled, 104);

// ---- agents --------------------------------------------------------------------------------------------------------------

// The first version of it, which later libraries hand out too; SDK_AGENT_SIZE is what 0.4 knows.
struct sdk_agent {
  uint64_t size, id;
  uint32_t type;
  uint32_t cores, simds;
  uint8_t unused_28[220];
  const char *name; // "gfx942"
  uint8_t unused_256[24];
  uint32_t node;
  int32_t logical_node, number; // among those of its type
  uint32_t visibility;
  uint64_t uuid; // only where size says so
};
enum { SDK_AGENT_SIZE = 296, SDK_AGENT_INFO = 1 };
SDK_AT(sdk_agent, type, 16);
SDK_AT(sdk_agent, simds, 24);
SDK_AT(sdk_agent, name, 248);
SDK_AT(sdk_agent, node, 280);
SDK_AT(sdk_agent, number, 288);
SDK_AT(sdk_agent, uuid, SDK_AGENT_SIZE);

// ---- hardware counters, from 1.0 on -----------------------------------------------------------------------------------------
// As in counters.h, counter_config.h, dispatch_counting_service.h and device_counting_service.h of 1.0.

enum { SDK_COUNTER_INFO = 1 };

struct sdk_counter_info { uint64_t counter; const char *name, *about, *block, *expression; uint8_t kind; }; // the first version of it
SDK_AT(sdk_counter_info, name, 8);
SDK_SIZE(sdk_counter_info, 48);

// A value of a counter: of one of the units that have it.
struct sdk_counter_value { uint64_t instance; double value; uint64_t dispatch, data, agent; };
SDK_AT(sdk_counter_value, value, 8);
SDK_AT(sdk_counter_value, agent, 32);
SDK_SIZE(sdk_counter_value, 40);

// What the library says of a dispatch when it is enqueued, and with its values: passed by value.
struct sdk_counted_dispatch {
  uint64_t size, internal, external, start, end;
  struct { uint64_t size, agent, queue, kernel, number; uint8_t rest[88]; } info;
};
SDK_AT(sdk_counted_dispatch, start, 24);
SDK_AT(sdk_counted_dispatch, info, 40);
SDK_SIZE(sdk_counted_dispatch, 168);

// ---- functions -------------------------------------------------------------------------------------------------------------
// Handles are structs of one uint64_t, which are passed like it. Each function returns an enum sdk_status.

typedef void (*sdk_on_records)(uint64_t context, uint64_t buffer, const struct sdk_header **records, size_t count, void *data, uint64_t drops);
typedef int (*sdk_on_request)(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation, uint64_t internal, uint64_t *external, void *data);
typedef int (*sdk_on_agents)(uint32_t version, const struct sdk_agent **agents, size_t count, void *data);

typedef int (*sdk_on_counters)(uint64_t agent, uint64_t *counters, size_t count, void *data);
typedef void (*sdk_on_enqueue)(struct sdk_counted_dispatch d, uint64_t *config, uint64_t *user, void *data);
typedef void (*sdk_on_values)(struct sdk_counted_dispatch d, struct sdk_counter_value *values, size_t count, uint64_t user, void *data);
typedef int (*sdk_set_config)(uint64_t context, uint64_t config);
typedef void (*sdk_on_device_start)(uint64_t context, uint64_t agent, sdk_set_config set, void *data);
typedef int (*sdk_on_ways)(const struct sdk_sampling_way *ways, size_t count, void *data);

// F(name without rocprofiler_, arguments)
#define SDK_FUNCTIONS(F)                                                                                                   \
  F(get_version, (uint32_t *, uint32_t *, uint32_t *))                                                                     \
  F(force_configure, (sdk_configure))                                                                                      \
  F(is_initialized, (int *))                                                                                               \
  F(create_context, (uint64_t *))                                                                                          \
  F(start_context, (uint64_t))                                                                                             \
  F(create_buffer, (uint64_t, size_t, size_t, uint32_t, sdk_on_records, void *, uint64_t *))                               \
  F(flush_buffer, (uint64_t))                                                                                              \
  F(create_callback_thread, (uint64_t *))                                                                                  \
  F(assign_callback_thread, (uint64_t, uint64_t))                                                                          \
  F(configure_callback_tracing_service, (uint64_t, uint32_t, const int32_t *, size_t, void (*)(void), void *))             \
  F(configure_buffer_tracing_service, (uint64_t, uint32_t, const int32_t *, size_t, uint64_t))                             \
  F(configure_external_correlation_id_request_service, (uint64_t, const uint32_t *, size_t, sdk_on_request, void *))       \
  F(query_callback_tracing_kind_operation_name, (uint32_t, int32_t, const char **, uint64_t *))                            \
  F(query_available_agents, (uint32_t, sdk_on_agents, size_t, void *))

// Those of hardware counters, which older libraries lack.
#define SDK_COUNTING(F)                                                                                                    \
  F(iterate_agent_supported_counters, (uint64_t, sdk_on_counters, void *))                                                 \
  F(query_counter_info, (uint64_t, uint32_t, void *))                                                                      \
  F(query_record_counter_id, (uint64_t, uint64_t *))                                                                       \
  F(create_counter_config, (uint64_t, uint64_t *, size_t, uint64_t *))                                                     \
  F(configure_callback_dispatch_counting_service, (uint64_t, sdk_on_enqueue, void *, sdk_on_values, void *))               \
  F(configure_device_counting_service, (uint64_t, uint64_t, uint64_t, sdk_on_device_start, void *))                        \
  F(sample_device_counting_service, (uint64_t, uint64_t, uint32_t, struct sdk_counter_value *, size_t *))

struct sdk_table {
#define F(name, arguments) uint32_t (*name) arguments;
  SDK_FUNCTIONS(F)
  SDK_COUNTING(F) // NULL in a library without them
#undef F
  const char *(*get_status_string)(uint32_t);
  // NULL in a library without them
  uint32_t (*query_pc_sampling_agent_configurations)(uint64_t agent, sdk_on_ways, void *data);
  uint32_t (*configure_pc_sampling_service)(uint64_t context, uint64_t agent, uint32_t method, uint32_t unit, uint64_t interval, uint64_t buffer, int flags);
  uint32_t (*stop_context)(uint64_t);
};

#endif
