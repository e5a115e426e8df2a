// When each event of a capture happens in its replay.
#ifndef GOPROTON_STUB_REPLAY_CLOCK_H
#define GOPROTON_STUB_REPLAY_CLOCK_H

#include "../capture.h"
#include "reader.h"

// Gives every event its time, in ns of CLOCK_REALTIME, with the first event at `begin`, and returns what has to be added
// to the times of the capture's GPU records so that they stay in their recorded relation to the events.
//
// Captures since EV_TIME say when an event happened. Of older captures only the GPU's times are known: an event then
// happens shortly before the first GPU work that it leads to, and waits of the host last as long as their records say.
int64_t set_event_times(struct capture *c, uint64_t begin);

// Where a GPU record of a kind has its start (the end follows), and its correlation id. 0: records of the kind have none.
size_t record_start(uint32_t kind);
size_t record_correlation(uint32_t kind);

#endif
