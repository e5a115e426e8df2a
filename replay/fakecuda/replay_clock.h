// When each event of a capture happens in its replay.
#ifndef GOPROTON_STUB_REPLAY_CLOCK_H
#define GOPROTON_STUB_REPLAY_CLOCK_H

#include "reader.h"

// set_event_times gives every event its time, in ns of CLOCK_REALTIME, the first that of `begin`. It returns the difference to
// add to the times of the capture's GPU records, so that they keep their distance from the events.
//
// A capture with EV_TIME has the times of its events. An older one has only those of the GPU: an event then happens shortly
// before the first GPU work that it leads to, and waits of the host last as long as in their records.
int64_t set_event_times(struct capture *c, uint64_t begin);

#endif
