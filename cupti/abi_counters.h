// Hardware counters of single launches: CUPTI's range profiler, which 12.6 and later have, and its host part, which turns a counter
// image into values.
#ifndef GOPROTON_CUPTI_ABI_COUNTERS_H
#define GOPROTON_CUPTI_ABI_COUNTERS_H

#include "abi.h"

// As with sampling, each struct of parameters begins with a size, which ends behind the last field that the caller knows, and a NULL.

enum {
  COUNTERS_RANGE_PROFILER = 0, // of cupti_host_params.type
  COUNTERS_AUTO_RANGE = 1,     // of cupti_range_config_params.range: each kernel is a range
  COUNTERS_KERNEL_REPLAY = 2,  // of .replay: CUPTI runs a kernel once for each pass, and restores memory in between
};

struct cupti_counters_params { // ProfilerInitialize
  size_t size;
  void *private_;
};
ABI_SIZE(cupti_counters_params, 16);

struct cupti_chip_params { // DeviceGetChipName
  size_t size;
  void *private_;
  size_t device;
  const char *name; // out
};
ABI_AT(cupti_chip_params, device, 16);
ABI_AT(cupti_chip_params, name, 24);
ABI_SIZE(cupti_chip_params, 32);

struct cupti_host_params { // ProfilerHostInitialize
  size_t size; // 48: older versions have no more
  void *private_;
  uint32_t type;
  const char *chip;
  const uint8_t *available; // NULL: not known
  void *host; // out
  const char *single_pass_set; // NULL. 13.5 writes it whatever the size says, so there must be memory for it.
};
ABI_AT(cupti_host_params, type, 16);
ABI_AT(cupti_host_params, chip, 24);
ABI_AT(cupti_host_params, available, 32);
ABI_AT(cupti_host_params, host, 40);
ABI_AT(cupti_host_params, single_pass_set, 48);
enum { COUNTERS_HOST = 48 };

struct cupti_host_end_params { // ProfilerHostDeinitialize
  size_t size;
  void *private_;
  void *host;
};
ABI_AT(cupti_host_end_params, host, 16);
ABI_SIZE(cupti_host_end_params, 24);

struct cupti_base_metrics_params { // ProfilerHostGetBaseMetrics
  size_t size;
  void *private_;
  void *host;
  uint32_t type; // 0 counter, 1 ratio, 2 throughput
  const char **names; // out
  size_t count;       // out
};
ABI_AT(cupti_base_metrics_params, type, 24);
ABI_AT(cupti_base_metrics_params, names, 32);
ABI_AT(cupti_base_metrics_params, count, 40);
ABI_SIZE(cupti_base_metrics_params, 48);

struct cupti_add_metrics_params { // ProfilerHostConfigAddMetrics
  size_t size;
  void *private_;
  void *host;
  const char **names;
  size_t count;
};
ABI_AT(cupti_add_metrics_params, names, 24);
ABI_AT(cupti_add_metrics_params, count, 32);
ABI_SIZE(cupti_add_metrics_params, 40);

struct cupti_config_size_params { // ProfilerHostGetConfigImageSize
  size_t size;
  void *private_;
  void *host;
  size_t bytes; // out
};
ABI_AT(cupti_config_size_params, bytes, 24);
ABI_SIZE(cupti_config_size_params, 32);

struct cupti_config_params { // ProfilerHostGetConfigImage
  size_t size;
  void *private_;
  void *host;
  size_t bytes;
  uint8_t *config;
};
ABI_AT(cupti_config_params, bytes, 24);
ABI_AT(cupti_config_params, config, 32);
ABI_SIZE(cupti_config_params, 40);

struct cupti_passes_params { // ProfilerHostGetNumOfPasses
  size_t size;
  void *private_;
  size_t bytes;
  uint8_t *config;
  size_t passes; // out
};
ABI_AT(cupti_passes_params, bytes, 16);
ABI_AT(cupti_passes_params, config, 24);
ABI_AT(cupti_passes_params, passes, 32);
ABI_SIZE(cupti_passes_params, 40);

struct cupti_evaluate_params { // ProfilerHostEvaluateToGpuValues
  size_t size;
  void *private_;
  void *host;
  const uint8_t *image;
  size_t bytes;
  size_t range;
  const char **names;
  size_t count;
  double *values; // out
};
ABI_AT(cupti_evaluate_params, image, 24);
ABI_AT(cupti_evaluate_params, bytes, 32);
ABI_AT(cupti_evaluate_params, range, 40);
ABI_AT(cupti_evaluate_params, names, 48);
ABI_AT(cupti_evaluate_params, count, 56);
ABI_AT(cupti_evaluate_params, values, 64);
ABI_SIZE(cupti_evaluate_params, 72);

struct cupti_range_enable_params { // RangeProfilerEnable
  size_t size; // 32, or with caches 36
  void *private_;
  void *context;
  void *ranges; // out
  uint32_t caches; // 13.4 and later: whether they are reset before each pass
};
ABI_AT(cupti_range_enable_params, context, 16);
ABI_AT(cupti_range_enable_params, ranges, 24);
ABI_AT(cupti_range_enable_params, caches, 32);
enum { COUNTERS_RESET_CACHES = 1, COUNTERS_RANGES = 32 };

struct cupti_range_params { // RangeProfilerDisable and Start
  size_t size;
  void *private_;
  void *ranges;
};
ABI_AT(cupti_range_params, ranges, 16);
ABI_SIZE(cupti_range_params, 24);

struct cupti_range_stop_params { // RangeProfilerStop: 41 bytes
  size_t size;
  void *private_;
  void *ranges;
  size_t pass;    // out
  size_t nesting; // out
  uint8_t all_passes; // out
};
ABI_AT(cupti_range_stop_params, pass, 24);
ABI_AT(cupti_range_stop_params, nesting, 32);
ABI_AT(cupti_range_stop_params, all_passes, 40);

struct cupti_range_decode_params { // RangeProfilerDecodeData
  size_t size;
  void *private_;
  void *ranges;
  size_t dropped; // out
};
ABI_AT(cupti_range_decode_params, dropped, 24);
ABI_SIZE(cupti_range_decode_params, 32);

struct cupti_image_size_params { // RangeProfilerGetCounterDataSize
  size_t size;
  void *private_;
  void *ranges;
  const char **names;
  size_t count;
  size_t max_ranges;
  uint32_t max_nodes;
  size_t bytes; // out
};
ABI_AT(cupti_image_size_params, names, 24);
ABI_AT(cupti_image_size_params, count, 32);
ABI_AT(cupti_image_size_params, max_ranges, 40);
ABI_AT(cupti_image_size_params, max_nodes, 48);
ABI_AT(cupti_image_size_params, bytes, 56);
ABI_SIZE(cupti_image_size_params, 64);

struct cupti_image_params { // RangeProfilerCounterDataImageInitialize
  size_t size;
  void *private_;
  void *ranges;
  size_t bytes;
  uint8_t *image;
};
ABI_AT(cupti_image_params, bytes, 24);
ABI_AT(cupti_image_params, image, 32);
ABI_SIZE(cupti_image_params, 40);

struct cupti_image_info_params { // RangeProfilerGetCounterDataInfo
  size_t size;
  void *private_;
  const uint8_t *image;
  size_t bytes;
  size_t ranges; // out
};
ABI_AT(cupti_image_info_params, image, 16);
ABI_AT(cupti_image_info_params, bytes, 24);
ABI_AT(cupti_image_info_params, ranges, 32);
ABI_SIZE(cupti_image_info_params, 40);

struct cupti_range_config_params { // RangeProfilerSetConfig: 90 bytes
  size_t size;
  void *private_;
  void *ranges;
  size_t config_bytes;
  const uint8_t *config;
  size_t image_bytes;
  uint8_t *image;
  uint32_t range, replay;
  size_t max_ranges_per_pass;
  uint16_t nesting_levels, min_nesting;
  size_t pass;
  uint16_t target_nesting;
};
ABI_AT(cupti_range_config_params, config_bytes, 24);
ABI_AT(cupti_range_config_params, config, 32);
ABI_AT(cupti_range_config_params, image_bytes, 40);
ABI_AT(cupti_range_config_params, image, 48);
ABI_AT(cupti_range_config_params, range, 56);
ABI_AT(cupti_range_config_params, replay, 60);
ABI_AT(cupti_range_config_params, max_ranges_per_pass, 64);
ABI_AT(cupti_range_config_params, nesting_levels, 72);
ABI_AT(cupti_range_config_params, min_nesting, 74);
ABI_AT(cupti_range_config_params, pass, 80);
ABI_AT(cupti_range_config_params, target_nesting, 88);

// The size of a struct of parameters whose last field is followed by padding.
#define COUNTERS_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

// Looked up only when a session asks for counters. All are required.
#define CUPTI_COUNTERS_FUNCTIONS(F) \
  F(ProfilerInitialize, (struct cupti_counters_params *)) \
  F(DeviceGetChipName, (struct cupti_chip_params *)) \
  F(ProfilerHostInitialize, (struct cupti_host_params *)) \
  F(ProfilerHostDeinitialize, (struct cupti_host_end_params *)) \
  F(ProfilerHostGetBaseMetrics, (struct cupti_base_metrics_params *)) \
  F(ProfilerHostConfigAddMetrics, (struct cupti_add_metrics_params *)) \
  F(ProfilerHostGetConfigImageSize, (struct cupti_config_size_params *)) \
  F(ProfilerHostGetConfigImage, (struct cupti_config_params *)) \
  F(ProfilerHostGetNumOfPasses, (struct cupti_passes_params *)) \
  F(ProfilerHostEvaluateToGpuValues, (struct cupti_evaluate_params *)) \
  F(RangeProfilerEnable, (struct cupti_range_enable_params *)) \
  F(RangeProfilerDisable, (struct cupti_range_params *)) \
  F(RangeProfilerStart, (struct cupti_range_params *)) \
  F(RangeProfilerStop, (struct cupti_range_stop_params *)) \
  F(RangeProfilerDecodeData, (struct cupti_range_decode_params *)) \
  F(RangeProfilerGetCounterDataSize, (struct cupti_image_size_params *)) \
  F(RangeProfilerCounterDataImageInitialize, (struct cupti_image_params *)) \
  F(RangeProfilerGetCounterDataInfo, (struct cupti_image_info_params *)) \
  F(RangeProfilerSetConfig, (struct cupti_range_config_params *))

struct cupti_counters_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_COUNTERS_FUNCTIONS(F)
#undef F
};

#endif
