// The part of HIP's binary interface that is used in addition to the arguments of its calls (hip_calls.c), declared by hand.
#ifndef GOPROTON_ROCTRACER_ABI_HIP_H
#define GOPROTON_ROCTRACER_ABI_HIP_H

// hipDeviceProp_tR0600, as of HIP 6.0: where its members are, and room for those that later versions append.
enum { PROPERTIES = 16384, PROP_NAME = 0, PROP_MEMORY = 288, PROP_WARP = 308, PROP_CLOCK = 348, PROP_UNITS = 388, PROP_MEMORY_CLOCK = 608, PROP_BUS = 612, PROP_ARCH = 1160 };
enum { ATTRIBUTE_CLOCK = 5, ATTRIBUTE_BUS = 59, ATTRIBUTE_MEMORY_CLOCK = 60, ATTRIBUTE_UNITS = 63, ATTRIBUTE_WARP = 87 };

#endif
