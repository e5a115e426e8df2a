// The lengths of records by version of CUPTI. cupti/testdata/abi/ compares them with the vendor's headers.
#ifndef GOPROTON_STUB_SIZES_H
#define GOPROTON_STUB_SIZES_H

#include "../../cupti/abi.h"

static inline uint32_t kernel_record_size(uint32_t version) {
  static const struct { uint32_t since, size; } sizes[] = {
      {130400, 248}, {130200, 232}, {130100, 224}, {CUPTI_13_0, 216}, {CUPTI_12_0, 208}, {0, 200}};
  size_t i = 0;
  while (version < sizes[i].since) i++;
  return sizes[i].size;
}

static inline uint32_t graph_record_size(uint32_t version) { return version < CUPTI_12_3 ? 48 : 56; }

// A version that cupti/testdata/abi/ does not have is assumed to have the sizes of the next older one that it has.
static inline uint32_t memcpy_record_size(uint32_t version) { return version >= 130400 ? 112 : version >= CUPTI_12_8 ? 96 : 88; }
static inline uint32_t memset_record_size(uint32_t version) { return version >= 130400 ? 104 : 88; }
static inline uint32_t sync_record_size(uint32_t version) { return version >= CUPTI_12_8 ? 56 : 40; }

#endif
