// What the two halves of the recorder know of each other.
#ifndef GOPROTON_CUPTI_RECORD_PROGRAM_H
#define GOPROTON_CUPTI_RECORD_PROGRAM_H

// Writes the calling thread's Python call path when it has changed since the last time. Asked for at every
// event that a python context could want it for, so that one capture serves both contexts.
void record_python_path(void);

// While this is set, the calling thread is inside a CUPTI callback of ours: what the callback does with the
// hot path (an NVTX range becomes a scope) is no doing of the program and will be done again by a replay.
extern _Thread_local int record_inside_callback;

#endif
