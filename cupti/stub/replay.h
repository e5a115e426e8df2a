// What plays a capture: the sequencer and the two kinds of event.
#ifndef GOPROTON_STUB_REPLAY_H
#define GOPROTON_STUB_REPLAY_H

#include "tracer.h"

// replay_gpu.c: what CUPTI said.
void play_callback(const struct capture *c, const struct cap_event *e);
void play_resource(const struct capture *c, const struct cap_event *e);
void play_nvtx(const struct capture *c, const struct cap_event *e);
void play_buffer(const struct capture *c, const struct cap_event *e);
void play_answer(const struct cap_event *e);
void play_cubin(const struct cap_event *e);
void move_gpu_times(int64_t by); // what is added to the times of records
void forget_answers(void);
// sampling.c: samples, for whoever asks next.
void play_samples(const struct capture *c, const struct cap_event *e);

// replay_program.c: what the program did.
void program_begin(const struct capture *c, const struct hp_api *api, void (*control)(const char *method, const char *params));
void play_program(const struct capture *c, const struct cap_event *e);
void program_end(void);
void program_clock(uint64_t time); // what timelines are stamped with

#endif
