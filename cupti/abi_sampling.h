// Sampling of instructions (CUPTI's PC sampling).
#ifndef GOPROTON_CUPTI_ABI_SAMPLING_H
#define GOPROTON_CUPTI_ABI_SAMPLING_H

#include "abi.h"

// Each struct of parameters begins with a size, which ends behind the last field that the caller knows, and a NULL.

struct cupti_sampling_params { // Enable, Disable, Start, Stop
  size_t size;
  void *private_;
  void *context;
};
ABI_AT(cupti_sampling_params, context, 16);
ABI_SIZE(cupti_sampling_params, 24);

struct cupti_sampling_reasons_params { // GetNumStallReasons (32 bytes: the first four) and GetStallReasons
  size_t size;
  void *private_;
  void *context;
  union {
    size_t *count; // GetNumStallReasons
    size_t number; // GetStallReasons
  };
  uint32_t *indices;
  char **names; // of REASON_NAME bytes each
};
enum { REASON_NAME = 128, REASONS_NUMBER_PARAMS = 32 };
ABI_AT(cupti_sampling_reasons_params, count, 24);
ABI_AT(cupti_sampling_reasons_params, indices, 32);
ABI_AT(cupti_sampling_reasons_params, names, 40);
ABI_SIZE(cupti_sampling_reasons_params, 48);

enum cupti_sampling_attribute {
  SAMPLING_PERIOD = 1,         // u32: 2^n cycles, n from 5 to 31
  SAMPLING_REASONS = 2,        // size_t, u32 *
  SAMPLING_SCRATCH_BUFFER = 3, // size_t; 1 MB by default
  SAMPLING_HARDWARE_BUFFER = 4, // size_t; 512 MB by default
  SAMPLING_MODE = 5,           // u32: enum cupti_sampling_mode
  SAMPLING_START_STOP = 6,     // u32: whether Start and Stop are used
  SAMPLING_DATA_BUFFER = 8,    // struct cupti_sampling_data *
  SAMPLING_WORKER_SLEEP = 9,   // u32: ms; 100 by default
};

enum cupti_sampling_mode { SAMPLING_CONTINUOUS = 1, SAMPLING_SERIALIZED = 2 };

struct cupti_sampling_setting {
  uint32_t attribute; // enum cupti_sampling_attribute
  uint32_t status;    // out: a result code
  union {
    uint64_t words[3];
    uint32_t u32;
    size_t size;
    void *pointer;
    struct {
      size_t count;
      uint32_t *indices;
    } reasons;
  };
};
ABI_AT(cupti_sampling_setting, status, 4);
ABI_AT(cupti_sampling_setting, u32, 8);
ABI_AT(cupti_sampling_setting, reasons.indices, 16);
ABI_SIZE(cupti_sampling_setting, 32);

struct cupti_sampling_settings_params {
  size_t size;
  void *private_;
  void *context;
  size_t count;
  struct cupti_sampling_setting *settings;
};
ABI_AT(cupti_sampling_settings_params, count, 24);
ABI_AT(cupti_sampling_settings_params, settings, 32);
ABI_SIZE(cupti_sampling_settings_params, 40);

struct cupti_sampling_stall {
  uint32_t reason;
  uint32_t samples;
};
ABI_SIZE(cupti_sampling_stall, 8);

// An instruction. Before 12.4 correlation_id does not exist, and the elements of an array are 56 bytes apart.
struct cupti_sampling_pc {
  size_t size;
  uint64_t module; // its CRC, or the result of the function that was passed to RegisterComputeCrcCallback
  uint64_t offset; // in the function
  uint32_t function; // symbol index
  uint32_t padding;
  char *name; // of the function
  size_t stall_count;
  struct cupti_sampling_stall *stalls; // allocated by the caller
  uint32_t correlation_id; // in serialized mode
  uint32_t padding2;
};
enum { SAMPLING_PC_BEFORE_12_4 = 56 };
ABI_AT(cupti_sampling_pc, module, 8);
ABI_AT(cupti_sampling_pc, offset, 16);
ABI_AT(cupti_sampling_pc, function, 24);
ABI_AT(cupti_sampling_pc, name, 32);
ABI_AT(cupti_sampling_pc, stall_count, 40);
ABI_AT(cupti_sampling_pc, stalls, 48);
ABI_AT(cupti_sampling_pc, correlation_id, 56);
ABI_SIZE(cupti_sampling_pc, 64);

struct cupti_sampling_data {
  size_t size;
  size_t capacity; // of pcs
  uint64_t total_samples;
  uint64_t dropped_samples;
  size_t count;     // of pcs that CUPTI has filled in
  size_t remaining; // pcs that the next call returns
  uint64_t range_id;
  void *pcs; // struct cupti_sampling_pc, or its 56 byte form
  uint64_t non_user_samples;
  uint8_t hardware_buffer_full; // 12.0 and later
};
enum { SAMPLING_DATA_BEFORE_12_0 = 72 };
ABI_AT(cupti_sampling_data, capacity, 8);
ABI_AT(cupti_sampling_data, total_samples, 16);
ABI_AT(cupti_sampling_data, dropped_samples, 24);
ABI_AT(cupti_sampling_data, count, 32);
ABI_AT(cupti_sampling_data, remaining, 40);
ABI_AT(cupti_sampling_data, range_id, 48);
ABI_AT(cupti_sampling_data, pcs, 56);
ABI_AT(cupti_sampling_data, non_user_samples, 64);
ABI_AT(cupti_sampling_data, hardware_buffer_full, 72);
ABI_SIZE(cupti_sampling_data, 80);

struct cupti_sampling_data_params {
  size_t size;
  void *private_;
  void *context;
  struct cupti_sampling_data *data;
};
ABI_AT(cupti_sampling_data_params, data, 24);
ABI_SIZE(cupti_sampling_data_params, 32);

struct cupti_crc_params {
  size_t size;
  size_t image_size;
  const void *image;
  uint64_t crc; // out
};
ABI_AT(cupti_crc_params, image_size, 8);
ABI_AT(cupti_crc_params, image, 16);
ABI_AT(cupti_crc_params, crc, 24);
ABI_SIZE(cupti_crc_params, 32);

typedef void (*cupti_crc_fn)(const void *image, size_t size, uint64_t *crc);

// Looked up only when a session asks for sampling. All are required.
#define CUPTI_SAMPLING_FUNCTIONS(F) \
  F(PCSamplingEnable, (struct cupti_sampling_params *)) \
  F(PCSamplingDisable, (struct cupti_sampling_params *)) \
  F(PCSamplingStart, (struct cupti_sampling_params *)) \
  F(PCSamplingStop, (struct cupti_sampling_params *)) \
  F(PCSamplingGetNumStallReasons, (struct cupti_sampling_reasons_params *)) \
  F(PCSamplingGetStallReasons, (struct cupti_sampling_reasons_params *)) \
  F(PCSamplingSetConfigurationAttribute, (struct cupti_sampling_settings_params *)) \
  F(PCSamplingGetData, (struct cupti_sampling_data_params *)) \
  F(RegisterComputeCrcCallback, (cupti_crc_fn compute)) \
  F(GetCubinCrc, (struct cupti_crc_params *))

struct cupti_sampling_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_SAMPLING_FUNCTIONS(F)
#undef F
};

#endif
