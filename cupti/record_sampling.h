#ifndef GOPROTON_CUPTI_RECORD_SAMPLING_H
#define GOPROTON_CUPTI_RECORD_SAMPLING_H

#include "abi_sampling.h"

// record_wrap_sampling replaces the functions of the table that are recorded, if there is a recording. Call it once the
// table is complete.
void record_wrap_sampling(struct cupti_sampling_table *table);
// record_samples reports whether instructions are sampled or counted, so that modules are recorded; record_images has them recorded.
void record_images(void);
int record_samples(void);

#endif
