// Counters of single instructions: CUPTI's SASS metrics, which changes the code of kernels so that it counts.
#ifndef GOPROTON_CUPTI_ABI_LINES_H
#define GOPROTON_CUPTI_ABI_LINES_H

#include "abi_counters.h"

// As with the other counters, each struct of parameters begins with a size, which ends behind the last field that the caller knows, and a
// NULL. No context (NULL) is the default one.

struct cupti_line_metric_params { // SassMetricsGetProperties
  size_t size;
  void *private_;
  const char *chip, *name;
  uint64_t id;                    // out, and the next two
  const char *same_name, *about;
};
ABI_AT(cupti_line_metric_params, chip, 16);
ABI_AT(cupti_line_metric_params, name, 24);
ABI_AT(cupti_line_metric_params, id, 32);
ABI_SIZE(cupti_line_metric_params, 56);

struct cupti_line_choice {
  uint64_t id;
  uint8_t granularity; // LINES_OF_GPU
};
ABI_AT(cupti_line_choice, granularity, 8);
ABI_SIZE(cupti_line_choice, 16);
enum { LINES_OF_GPU = 0 }; // one value for the whole GPU

struct cupti_line_config_params { // SassMetricsSetConfig: 36 bytes
  size_t size;
  void *private_;
  size_t count;
  struct cupti_line_choice *choices;
  uint32_t device;
};
ABI_AT(cupti_line_config_params, count, 16);
ABI_AT(cupti_line_config_params, choices, 24);
ABI_AT(cupti_line_config_params, device, 32);

struct cupti_line_enable_params { // SassMetricsEnable: 25 bytes
  size_t size;
  void *private_;
  void *context;
  uint8_t lazy; // a function's code is changed when it is launched, not all code at once
};
ABI_AT(cupti_line_enable_params, context, 16);
ABI_AT(cupti_line_enable_params, lazy, 24);

struct cupti_line_disable_params { // SassMetricsDisable
  size_t size;
  void *private_;
  void *context;
  size_t dropped; // out
};
ABI_AT(cupti_line_disable_params, context, 16);
ABI_AT(cupti_line_disable_params, dropped, 24);
ABI_SIZE(cupti_line_disable_params, 32);

struct cupti_line_data_params { // SassMetricsGetDataProperties
  size_t size;
  void *private_;
  void *context;
  size_t records, instances; // out
};
ABI_AT(cupti_line_data_params, context, 16);
ABI_AT(cupti_line_data_params, records, 24);
ABI_AT(cupti_line_data_params, instances, 32);
ABI_SIZE(cupti_line_data_params, 40);

struct cupti_line_value { uint64_t id, value; };
ABI_SIZE(cupti_line_value, 16);

// One metric of one instruction; a metric that says nothing about an instruction has no record there.
struct cupti_line_record {
  size_t size; // that of the struct
  void *private_;
  uint32_t crc, function; // of the cubin; index in its symbol table
  const char *name;       // of the function
  uint32_t offset;        // in the function
  struct cupti_line_value *values; // the caller's, one for each instance
};
ABI_AT(cupti_line_record, crc, 16);
ABI_AT(cupti_line_record, function, 20);
ABI_AT(cupti_line_record, name, 24);
ABI_AT(cupti_line_record, offset, 32);
ABI_AT(cupti_line_record, values, 40);
ABI_SIZE(cupti_line_record, 48);

struct cupti_line_flush_params { // SassMetricsFlushData: the header has 40 bytes, without the last field
  size_t size;
  void *private_;
  void *context;
  size_t records, instances;
  struct cupti_line_record *out;
};
ABI_AT(cupti_line_flush_params, context, 16);
ABI_AT(cupti_line_flush_params, records, 24);
ABI_AT(cupti_line_flush_params, instances, 32);
ABI_AT(cupti_line_flush_params, out, 40);
enum { LINES_FLUSH = 40 };

// Looked up only when a session asks for counters by line. All are required.
#define CUPTI_LINES_FUNCTIONS(F) \
  F(ProfilerInitialize, (struct cupti_counters_params *)) \
  F(DeviceGetChipName, (struct cupti_chip_params *)) \
  F(SassMetricsGetProperties, (struct cupti_line_metric_params *)) \
  F(SassMetricsSetConfig, (struct cupti_line_config_params *)) \
  F(SassMetricsEnable, (struct cupti_line_enable_params *)) \
  F(SassMetricsDisable, (struct cupti_line_disable_params *)) \
  F(SassMetricsGetDataProperties, (struct cupti_line_data_params *)) \
  F(SassMetricsFlushData, (struct cupti_line_flush_params *))

struct cupti_lines_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_LINES_FUNCTIONS(F)
#undef F
};

#endif
