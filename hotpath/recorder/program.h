// Recording what the program does, through a table of functions between the program and the hot path.
#ifndef GOPROTON_RECORDER_PROGRAM_H
#define GOPROTON_RECORDER_PROGRAM_H

#include "hotpath.h"

// The table to give to whatever calls the hot path on behalf of the program.
const struct hp_api *record_wrap_hotpath(const struct hp_api *real);
// A control call of the program (activate, deactivate, ...), after it has returned.
void record_control(const char *method, const char *params_json);
// What a launch of a kernel with scopes has left: the numbers are those of EV_INSIDE.
void record_inside(const char *kernel, const uint64_t numbers[7], const void *slots, size_t size);
// See struct recorder_api.
void record_python_path(void);

#endif
