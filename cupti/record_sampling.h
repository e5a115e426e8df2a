#ifndef GOPROTON_CUPTI_RECORD_SAMPLING_H
#define GOPROTON_CUPTI_RECORD_SAMPLING_H

#include "abi_sampling.h"

// Has the recorder, if there is one, stand between us and CUPTI's sampling. Call it once the table is complete.
void record_wrap_sampling(struct cupti_sampling_table *table);
// Whether instruction samples are recorded: what they point at is then wanted too.
int record_samples(void);

#endif
