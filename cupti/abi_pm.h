// Hardware counters of a whole GPU over time: CUPTI's PM sampling, which 12.6 and later have. Its host part is that of abi_counters.h.
#ifndef GOPROTON_CUPTI_ABI_PM_H
#define GOPROTON_CUPTI_ABI_PM_H

#include "abi.h"

enum {
  COUNTERS_PM_SAMPLING = 1, // of cupti_host_params.type
  PM_SYSTEM_CLOCK = 0,      // of cupti_pm_config_params.trigger: the interval is in cycles of a clock
  PM_TIME = 1,              // the interval is in ns; not on Turing and GA100
  PM_KEEP_OLDEST = 0,       // of .append: what comes while the buffer is full is lost
};

struct cupti_pm_enable_params { // PmSamplingEnable
  size_t size;
  void *private_;
  size_t device;
  void *sampling; // out
};
ABI_AT(cupti_pm_enable_params, device, 16);
ABI_AT(cupti_pm_enable_params, sampling, 24);
ABI_SIZE(cupti_pm_enable_params, 32);

struct cupti_pm_params { // PmSamplingDisable, Start and Stop
  size_t size;
  void *private_;
  void *sampling;
};
ABI_AT(cupti_pm_params, sampling, 16);
ABI_SIZE(cupti_pm_params, 24);

struct cupti_pm_config_params { // PmSamplingSetConfig
  size_t size;
  void *private_;
  void *sampling;
  size_t config_bytes;
  const uint8_t *config;
  size_t hardware_buffer;
  uint64_t interval;
  uint32_t trigger, append;
};
ABI_AT(cupti_pm_config_params, config_bytes, 24);
ABI_AT(cupti_pm_config_params, config, 32);
ABI_AT(cupti_pm_config_params, hardware_buffer, 40);
ABI_AT(cupti_pm_config_params, interval, 48);
ABI_AT(cupti_pm_config_params, trigger, 56);
ABI_AT(cupti_pm_config_params, append, 60);
ABI_SIZE(cupti_pm_config_params, 64);

struct cupti_pm_decode_params { // PmSamplingDecodeData: 45 bytes
  size_t size;
  void *private_;
  void *sampling;
  uint8_t *image;
  size_t bytes;
  uint32_t stopped; // out: PM_IMAGE_FULL, PM_END
  uint8_t overflow; // out
};
enum { PM_IMAGE_FULL = 1, PM_END = 2 };
ABI_AT(cupti_pm_decode_params, image, 24);
ABI_AT(cupti_pm_decode_params, bytes, 32);
ABI_AT(cupti_pm_decode_params, stopped, 40);
ABI_AT(cupti_pm_decode_params, overflow, 44);

struct cupti_pm_image_size_params { // PmSamplingGetCounterDataSize
  size_t size;
  void *private_;
  void *sampling;
  const char **names;
  size_t count;
  uint32_t max_samples;
  size_t bytes; // out
};
ABI_AT(cupti_pm_image_size_params, names, 24);
ABI_AT(cupti_pm_image_size_params, count, 32);
ABI_AT(cupti_pm_image_size_params, max_samples, 40);
ABI_AT(cupti_pm_image_size_params, bytes, 48);
ABI_SIZE(cupti_pm_image_size_params, 56);

struct cupti_pm_image_params { // PmSamplingCounterDataImageInitialize
  size_t size;
  void *private_;
  void *sampling;
  size_t bytes;
  uint8_t *image;
};
ABI_AT(cupti_pm_image_params, bytes, 24);
ABI_AT(cupti_pm_image_params, image, 32);
ABI_SIZE(cupti_pm_image_params, 40);

struct cupti_pm_info_params { // PmSamplingGetCounterDataInfo
  size_t size;
  void *private_;
  const uint8_t *image;
  size_t bytes;
  size_t total, populated, completed; // out
};
ABI_AT(cupti_pm_info_params, image, 16);
ABI_AT(cupti_pm_info_params, bytes, 24);
ABI_AT(cupti_pm_info_params, total, 32);
ABI_AT(cupti_pm_info_params, populated, 40);
ABI_AT(cupti_pm_info_params, completed, 48);
ABI_SIZE(cupti_pm_info_params, 56);

struct cupti_pm_sample_params { // PmSamplingCounterDataGetSampleInfo
  size_t size;
  void *private_;
  void *sampling;
  const uint8_t *image;
  size_t bytes;
  size_t index;
  uint64_t start, end; // out: ns since 1970
};
ABI_AT(cupti_pm_sample_params, image, 24);
ABI_AT(cupti_pm_sample_params, bytes, 32);
ABI_AT(cupti_pm_sample_params, index, 40);
ABI_AT(cupti_pm_sample_params, start, 48);
ABI_AT(cupti_pm_sample_params, end, 56);
ABI_SIZE(cupti_pm_sample_params, 64);

// Looked up only when a session asks for counters over time. All are required.
#define CUPTI_PM_FUNCTIONS(F) \
  F(PmSamplingEnable, (struct cupti_pm_enable_params *)) \
  F(PmSamplingDisable, (struct cupti_pm_params *)) \
  F(PmSamplingStart, (struct cupti_pm_params *)) \
  F(PmSamplingStop, (struct cupti_pm_params *)) \
  F(PmSamplingSetConfig, (struct cupti_pm_config_params *)) \
  F(PmSamplingDecodeData, (struct cupti_pm_decode_params *)) \
  F(PmSamplingGetCounterDataSize, (struct cupti_pm_image_size_params *)) \
  F(PmSamplingCounterDataImageInitialize, (struct cupti_pm_image_params *)) \
  F(PmSamplingGetCounterDataInfo, (struct cupti_pm_info_params *)) \
  F(PmSamplingCounterDataGetSampleInfo, (struct cupti_pm_sample_params *))

struct cupti_pm_table {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_PM_FUNCTIONS(F)
#undef F
};

#endif
