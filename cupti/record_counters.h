#ifndef GOPROTON_CUPTI_RECORD_COUNTERS_H
#define GOPROTON_CUPTI_RECORD_COUNTERS_H

#include <stdint.h>
#include "abi_lines.h"

// record_wrap_counters replaces the functions of the table that are recorded, if there is a recording. Call it before counters are measured.
void record_wrap_counters(struct cupti_counters_table *table);
void record_wrap_lines(struct cupti_lines_table *table);
// The launch whose callback is being called on this thread, at its end or its begin; returns that of the callback around it: CUPTI may call back
// while it counts.
struct record_launch { uint32_t correlation; int ends; };
struct record_launch record_counters_launch(struct record_launch now);

#endif
