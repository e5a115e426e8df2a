// Plays CUPTI's events of a capture. replay/player plays the rest, and calls the functions that player.h declares for
// vendors.
#ifndef GOPROTON_STUB_REPLAY_H
#define GOPROTON_STUB_REPLAY_H

#include "player.h"
#include "tracer.h"

// replay_gpu.c
void play_callback(const struct capture *c, const struct cap_event *e);
void play_resource(const struct capture *c, const struct cap_event *e);
void play_nvtx(const struct capture *c, const struct cap_event *e);
void play_buffer(const struct capture *c, const struct cap_event *e);
void play_answer(const struct cap_event *e);
void play_cubin(const struct cap_event *e);
void move_gpu_times(int64_t by); // ns to add to the times of records
void forget_answers(void);
// sampling.c: samples for the next call of GetData.
void play_samples(const struct capture *c, const struct cap_event *e);

// counters.c: what was measured of the launch that ends next.
void play_counters(const struct cap_event *e);
// lines.c: what its instructions counted.
void play_lines(const struct cap_event *e);

#endif
